// The delegate `openvino`: partitions on the devices of Intel's OpenVINO, by its C++ API.
#include <memory>
#include <openvino/op/parameter.hpp>
#include <openvino/op/relu.hpp>
#include <string>
#include <utility>
#include <vector>

#include "executable.hpp"
#include "properties.hpp"
#include "support.hpp"

namespace openvino {

class Delegate final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_DYNAMIC_SHAPES;
  static constexpr uint32_t kExtensions = sdk::kBlobs | sdk::kResizes | sdk::kProfiles | sdk::kAsync | sdk::kQueues;
  static constexpr bool kReadsPrecision = true;

  static sdk::OptionSchema Options() { return MakeOptions(); }

  static sdk::Status Probe(const sdk::Host&) {
    try {
      SharedCore()->get_property("CPU", ov::device::full_name);
      return {};
    } catch (const std::exception& error) {
      return sdk::Status(sdk::Code::kNotSupported, MessageOf(error));
    }
  }

  static sdk::Result<std::vector<sdk::DeviceDescription>> Devices(const sdk::Host&) {
    std::vector<sdk::DeviceDescription> descriptions;
    try {
      for (Device& device : FindDevices()) descriptions.push_back(std::move(device.description));
    } catch (const std::exception& error) {
      return sdk::Status(sdk::Code::kNotSupported, MessageOf(error));
    }
    return descriptions;
  }

  sdk::Status Init() override {
    try {
      target_.core = SharedCore();
      for (Device& device : FindDevices())
        if (device_.name.empty() && (device_id().empty() || device.description.id == device_id()))
          device_ = std::move(device);
      if (device_.name.empty()) return sdk::Status(sdk::Code::kNotFound, "there is no device '" + device_id() + "'");
      DEPUTY_SDK_ASSIGN_OR_RETURN(target_.properties, PropertiesOf(options(), device_.name, host().thread_count()));
      target_.device = device_.name;
      target_.host = host();
      return ReadOptionsBack();
    } catch (const std::exception& error) {
      return sdk::Status(sdk::Code::kNotSupported, MessageOf(error));
    }
  }

  std::string OptionInForce(const std::string& name) const override {
    const auto found = in_force_.find(name);
    return found == in_force_.end() ? PartitionDelegate::OptionInForce(name) : found->second;
  }

  sdk::QueueLimits queue_limits() const override { return {/*queues=*/1, /*runs_in_flight=*/requests_}; }

  std::string BlobCompatibility() const override {
    return "OpenVINO " + VersionOfOpenVino() + ", " + device_.name + ": " + device_.description.name;
  }

  void Look(const sdk::GraphView& graph) override {
    support_.reset();  // with its model, before the next one is made
    support_ = std::make_unique<Support>(graph, device_.name, target_.properties,
                                         options().Bool("query") || device_.name != "CPU");
  }

  sdk::Verdict Supports(const sdk::NodeView& node) override { return support_->Of(node.id()); }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(Target target, TargetOf(partition));
    std::optional<Conversion> ready;
    if (support_ != nullptr) ready = support_->Take(partition);
    if (!ready) {
      DEPUTY_SDK_ASSIGN_OR_RETURN(ready, Convert(partition));
    }
    const bool is_usual = PrecisionIn(target) == PrecisionIn(target_);
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, Program::Compile(partition, std::move(*ready), std::move(target)));
    if (is_usual && in_force_.empty()) in_force_ = ReadBack(program->model(), options());
    return program;
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Restore(const sdk::PartitionView& partition, sdk::Blob blob) override {
    DEPUTY_SDK_ASSIGN_OR_RETURN(Target target, TargetOf(partition));
    DEPUTY_SDK_ASSIGN_OR_RETURN(auto program, Program::Restore(partition, std::move(blob), std::move(target)));
    return program;
  }

 private:
  // OpenVINO says of a compiled model what is in force. That of one operator tells it before there is another one; with
  // the defaults there is nothing to be told.
  sdk::Status ReadOptionsBack() {
    const bool is_default = options().Enum("precision") == "f32" && options().Text("performance_hint") == "LATENCY" &&
                            options().Text("num_streams") == "0";
    if (is_default && device_.name == "CPU") return {};
    const auto x = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::Shape{1});
    const auto y = std::make_shared<ov::op::v0::Relu>(x);
    const auto network = std::make_shared<ov::Model>(ov::OutputVector{y}, ov::ParameterVector{x});
    const ov::CompiledModel model = SharedCore()->compile_model(network, device_.name, target_.properties);
    in_force_ = ReadBack(model, options());
    const std::string asked = options().Enum("precision"), granted = in_force_["precision"];
    if (granted != asked)
      return sdk::Status(sdk::Code::kNotSupported, "option 'precision': the device " + device_.name + " computes in " +
                                                       granted + " where " + asked + " is asked for");
    requests_ = std::max<uint32_t>(1, model.get_property(ov::optimal_number_of_infer_requests));
    target_.waits_for_others = device_.name != "CPU" || requests_ > 1;
    return {};
  }

  static std::string PrecisionIn(const Target& target) {
    return target.properties.at(ov::hint::inference_precision.name()).as<std::string>();
  }

  // What the configuration asks of single nodes stands above the option.
  sdk::Result<Target> TargetOf(const sdk::PartitionView& partition) const {
    Target target = target_;
    sdk::DType asked = sdk::DType::kUndefined;
    for (const sdk::NodeView& node : partition.nodes()) {
      const sdk::DType wish = partition.PrecisionOf(node.id());
      if (wish == sdk::DType::kUndefined) continue;
      if (HintOf(wish).empty() || (asked != sdk::DType::kUndefined && asked != wish))
        return sdk::Status(sdk::Code::kNotSupported,
                           "a partition is computed in one precision: float32, float16 or bfloat16", node.id());
      asked = wish;
    }
    if (asked != sdk::DType::kUndefined) target.properties[ov::hint::inference_precision.name()] = HintOf(asked);
    return target;
  }

  Device device_;
  Target target_;
  std::map<std::string, std::string> in_force_;
  uint32_t requests_ = 1;
  std::unique_ptr<Support> support_;
};

}  // namespace openvino

DEPUTY_EXPORT_DELEGATE(openvino::Delegate, "openvino", "Intel's OpenVINO: CPUs, GPUs and NPUs")
