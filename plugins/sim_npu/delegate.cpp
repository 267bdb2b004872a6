// The delegate of the simulated NPU: options, answers, compilation, and what its clock says.
#include <cstdio>
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

  static constexpr uint32_t kAbilities = kBlobs | kCompileOnly | kResizes | kProfiles | kDeviceClock;

  static OptionSchema Options() {
    return OptionSchema()
        .Frequency("frequency", sim_npu::kDefaultLevel,
                   "clock of the device; an explicit one is lowered to a multiple of 150 MHz", sim_npu::kLowestHz,
                   sim_npu::kHighestHz)
        .Int("memory", 64, 1, 4096, "memory of the device for weights and tensors", "MiB");
  }

  static OwnOperators Operators() { return sim_npu::OwnOperatorsOfTheDevice(); }

  // Programs of an older firmware still run; the format has to be the very same.
  static Status CheckBlob(const Host&, std::string_view compatibility) {
    int format = 0, firmware = 0;
    if (std::sscanf(std::string(compatibility).c_str(), "sim_npu format %d, firmware %d", &format, &firmware) == 2 &&
        format == kFormat && firmware <= kFirmware)
      return {};
    return Status(Code::kIncompatible,
                  "made for '" + std::string(compatibility) + "', and this is '" + CompatibilityText() + "'");
  }
  std::string BlobCompatibility() const override { return CompatibilityText(); }

  Status Init() override {
    if (compile_only()) return {};
    device_ = std::make_shared<sim_npu::Device>(options().Frequency("frequency"),
                                                static_cast<size_t>(options().Int("memory")) << 20);
    return {};
  }

  Verdict Supports(const NodeView& node) override { return sim_npu::Check(node); }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    // For other shapes than those that it was asked about, the host does not ask again.
    for (const NodeView& node : partition.nodes())
      if (const Verdict verdict = sim_npu::Check(node); !verdict.supported())
        return Status(Code::kNotSupported, verdict.detail, node.id());
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, sim_npu::Program::Make(partition, host(), device_));
    return program;
  }

  Result<std::unique_ptr<Executable>> Restore(const PartitionView& partition, Blob blob) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, sim_npu::Program::Restore(partition, blob, host(), device_));
    return program;
  }

  Result<DeviceState> device_state() const override {
    if (device_ == nullptr) return Status(Code::kFailedPrecondition, "opened without the device");
    return device_->clock.State();
  }
  Result<ClockPair> CorrelateClocks() const override {
    return ClockPair{device_->clock.Nanoseconds(device_->clock.cycles()), host().clock_ns()};
  }

  std::string OptionInForce(const std::string& name) const override {
    if (name != "frequency" || device_ == nullptr) return PartitionDelegate::OptionInForce(name);
    return std::to_string(device_->clock.granted_hz() / sim_npu::kMegahertz) + "MHz";
  }

 private:
  static constexpr int kFormat = 1, kFirmware = 1;
  static std::string CompatibilityText() {
    return "sim_npu format " + std::to_string(kFormat) + ", firmware " + std::to_string(kFirmware);
  }

  std::shared_ptr<sim_npu::Device> device_;  // null when opened to compile only
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(SimNpu, "sim_npu", "a simulated NPU: fp16, static shapes, its own memory and clock")
