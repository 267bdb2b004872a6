// The delegate of the simulated NPU: options, answers, compilation, and what its clock says.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "deputy/sdk/sdk.hpp"
#include "groups.hpp"
#include "operators.hpp"
#include "program.hpp"

namespace {

using namespace deputy::sdk;

class SimNpu final : public PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SIMULATED;

  static OptionSchema Options() {
    return OptionSchema()
        .Frequency("frequency", sim_npu::kDefaultLevel,
                   "clock of the device; an explicit one is lowered to a multiple of 150 MHz", sim_npu::kLowestHz,
                   sim_npu::kHighestHz)
        .Int("memory", 0, 0, 4096, "memory for weights and tensors, 0 for what the device has", "MiB");
  }

  static std::vector<Capability> Capabilities() { return sim_npu::ListCapabilities(); }

  static Result<std::vector<DeviceDescription>> Devices(const Host&) {
    std::vector<DeviceDescription> devices;
    for (const sim_npu::Hardware& hardware : sim_npu::Machine())
      devices.push_back({std::string(hardware.name()), DeviceKind::kNpu, hardware.memory()->budget(),
                         "simulated, model of README.md", hardware.frequency_hz()});
    return devices;
  }

  Status Init() override {
    auto& machine = sim_npu::Machine();
    if (device_index() >= machine.size())
      return Status(Code::kNotFound, "there is no device " + std::to_string(device_index()));
    device_ = std::make_shared<sim_npu::Device>(machine[device_index()], options().Frequency("frequency"),
                                                static_cast<size_t>(options().Int("memory")) << 20);
    return {};
  }

  // One queue per device: a second run would wait inside it, so the host need not send it.
  Concurrency concurrency() const override { return {/*contexts=*/false, /*executables=*/false, /*instances=*/true}; }

  Status Groups(const GraphView& graph, const GroupSink& sink) override { return sim_npu::NameGroups(graph, sink); }

  Result<PartitionEstimate> Estimate(const PartitionView& partition) override {
    return sim_npu::Program::Estimate(partition, host(), device_);
  }

  Verdict Supports(const NodeView& node) override { return sim_npu::Check(node); }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, sim_npu::Program::Make(partition, host(), device_));
    return program;
  }

  Result<DeviceState> device_state() const override { return device_->clock.State(); }

  std::string OptionInForce(const std::string& name) const override {
    if (name != "frequency") return PartitionDelegate::OptionInForce(name);
    return std::to_string(device_->clock.hz() / sim_npu::kMegahertz) + "MHz";
  }

 private:
  std::shared_ptr<sim_npu::Device> device_;
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(SimNpu, "sim_npu", "a simulated NPU: fp16, static shapes, its own memory and clock")
