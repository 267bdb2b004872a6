// The delegate of the simulated NPU: options, support, compilation, and the state of its clock.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "deputy/sdk/sdk.hpp"
#include "operators.hpp"
#include "program.hpp"

namespace {

using namespace deputy::sdk;

class SimNpu final : public PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SIMULATED;

  static constexpr uint32_t kExtensions =
      kBlobs | kCompileOnly | kResizes | kProfiles | kDeviceClock | kMemory | kImports | kAsync | kQueues;

  static constexpr bool kReadsPrecision = true;

  static OptionSchema Options() {
    return OptionSchema()
        .Frequency("frequency", sim_npu::kDefaultLevel,
                   "clock of the device; an explicit one is lowered to a multiple of 150 MHz", sim_npu::kLowestHz,
                   sim_npu::kHighestHz)
        .Settable()
        .Int("memory", 0, 0, 4096, "memory for weights and tensors, 0 for the device's own size", "MiB")
        .Bool("realtime", false, "whether a run takes at least the device's time, waiting for the rest of it")
        .String("faults", "", "faults to try out, by run: 'device_lost:3, late:5, queue_full:2'");
  }

  static std::vector<Capability> Capabilities() { return sim_npu::ListCapabilities(); }

  static Result<std::vector<DeviceDescription>> Devices(const Host&) {
    std::vector<DeviceDescription> devices;
    for (const sim_npu::Hardware& hardware : sim_npu::Machine())
      devices.push_back({SerialNumber(devices.size()), std::string(hardware.name()), DeviceKind::kNpu,
                         hardware.memory()->budget(), "simulated, model of README.md", hardware.frequency_hz()});
    return devices;
  }

  static OwnOperators Operators() { return sim_npu::OwnOperatorsOfTheDevice(); }

  // Programs of an older firmware still run; the format must be identical.
  static Status CheckBlob(const Host&, std::string_view compatibility) {
    int format = 0, firmware = 0;
    if (std::sscanf(std::string(compatibility).c_str(), "sim_npu format %d, firmware %d", &format, &firmware) == 2 &&
        format == kFormat && firmware <= kFirmware)
      return {};
    return Status(Code::kIncompatible,
                  "made for '" + std::string(compatibility) + "', but this is '" + CompatibilityText() + "'");
  }
  std::string BlobCompatibility() const override { return CompatibilityText(); }

  Status Init() override {
    if (compile_only()) return {};
    auto& machine = sim_npu::Machine();
    size_t index = 0;
    while (index < machine.size() && !device_id().empty() && SerialNumber(index) != device_id()) ++index;
    if (index == machine.size()) return Status(Code::kNotFound, "there is no device '" + device_id() + "'");
    device_ = std::make_shared<sim_npu::Device>(machine[index], options().Frequency("frequency"),
                                                static_cast<size_t>(options().Int("memory")) << 20,
                                                options().Bool("realtime"));
    return sim_npu::Faults::Parse(options().Text("faults"), &device_->faults);
  }

  // Calls of execute would wait for each other.
  Concurrency concurrency() const override { return {/*contexts=*/false, /*executables=*/false, /*instances=*/true}; }

  // The next run is in the queue before the one that the device computes has ended.
  QueueLimits queue_limits() const override { return {/*queues=*/1, /*runs_in_flight=*/2}; }

  Status Groups(const GraphView& graph, const GroupSink& sink) override { return sim_npu::NameGroups(graph, sink); }

  Result<PartitionEstimate> Estimate(const PartitionView& partition) override {
    if (compile_only()) return PartitionEstimate();
    return sim_npu::Program::Estimate(partition, host(), device_);
  }

  Verdict Supports(const NodeView& node) override { return sim_npu::Check(node); }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    for (const NodeView& node : partition.nodes()) {
      const DType asked = partition.PrecisionOf(node.id());
      const bool has_factors = node.Is("Conv") || node.Is("Gemm") || node.Is("MatMul");
      if (asked == DType::kBFloat16 || (asked == DType::kFloat32 && has_factors))
        return Status(Code::kNotSupported, "the matrix unit has factors of float16", node.id());
    }
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, sim_npu::Program::Make(partition, host(), device_));
    return program;
  }

  Result<std::unique_ptr<Executable>> Restore(const PartitionView& partition, Blob blob) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, sim_npu::Program::Restore(partition, blob, host(), device_));
    return program;
  }

  Result<uint64_t> AllocateBuffer(const BufferRequest& request) override {
    return device_->memory->Allocate(static_cast<size_t>(request.byte_size), static_cast<size_t>(request.alignment));
  }
  Result<uint64_t> ImportBuffer(const SharedMemory& memory) override { return device_->memory->Import(memory); }
  void ReleaseBuffer(uint64_t handle) override { device_->memory->Release(handle); }
  Status CopyBytes(const CopySide& from, const CopySide& to, uint64_t bytes) override {
    return device_->Copy(from, to, bytes);
  }

  Result<DeviceState> device_state() const override {
    if (device_ == nullptr) return Status(Code::kFailedPrecondition, "opened without a device");
    return device_->clock.State();
  }
  Result<ClockPair> CorrelateClocks() const override {
    if (device_ == nullptr) return Status(Code::kFailedPrecondition, "opened without a device");
    return ClockPair{device_->clock.busy_ns(), host().clock_ns()};
  }

  Status SetOption(const std::string& name, const OptionValues& values) override {
    if (device_ == nullptr) return Status(Code::kFailedPrecondition, "opened without a device");
    device_->clock.Request(values.Frequency(name));
    return {};
  }

  std::string OptionInForce(const std::string& name) const override {
    if (name != "frequency" || device_ == nullptr) return PartitionDelegate::OptionInForce(name);
    return std::to_string(device_->clock.hz() / sim_npu::kMegahertz) + "MHz";
  }

 private:
  static std::string SerialNumber(size_t index) { return "sim-" + std::to_string(index); }
  static constexpr int kFormat = 2, kFirmware = 1;
  static std::string CompatibilityText() {
    return "sim_npu format " + std::to_string(kFormat) + ", firmware " + std::to_string(kFirmware);
  }

  std::shared_ptr<sim_npu::Device> device_;  // null when opened to compile only
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(SimNpu, "sim_npu", "a simulated NPU: fp16 products, static shapes, its own memory and clock")
