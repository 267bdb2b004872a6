// The delegate of the simulated NPU: options, answers, compilation, and what its clock says.
#include <memory>
#include <string>
#include <utility>

#include "clock.hpp"
#include "deputy/sdk/sdk.hpp"
#include "operators.hpp"
#include "program.hpp"

namespace {

using namespace deputy::sdk;

class SimNpu final : public PartitionDelegate {
 public:
  // One queue: a second run would wait inside the device, so the host need not send it.
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SIMULATED | DEPUTY_DELEGATE_SERIAL;

  static OptionSchema Options() {
    return OptionSchema()
        .Frequency("frequency", sim_npu::kDefaultLevel,
                   "clock of the device; an explicit one is lowered to a multiple of 150 MHz", sim_npu::kLowestHz,
                   sim_npu::kHighestHz)
        .Int("memory", 64, 1, 4096, "memory of the device for weights and tensors", "MiB");
  }

  Status Init() override {
    device_ = std::make_shared<sim_npu::Device>(options().Frequency("frequency"),
                                                static_cast<size_t>(options().Int("memory")) << 20);
    return {};
  }

  Verdict Supports(const NodeView& node) override { return sim_npu::Check(node); }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, sim_npu::Program::Make(partition, host(), device_));
    return program;
  }

  Result<DeviceState> device_state() const override { return device_->clock.State(); }

  std::string OptionInForce(const std::string& name) const override {
    if (name != "frequency") return PartitionDelegate::OptionInForce(name);
    return std::to_string(device_->clock.granted_hz() / sim_npu::kMegahertz) + "MHz";
  }

 private:
  std::shared_ptr<sim_npu::Device> device_;
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(SimNpu, "sim_npu", "a simulated NPU: fp16, static shapes, its own memory and clock")
