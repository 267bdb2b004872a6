// The delegate my_npu: Relu in float32. A partition is as many Relus as the model connects; each of its outputs is the
// Relu of the input that its chain begins with.
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace {

namespace sdk = deputy::sdk;

// One session's state for an executable. Buffers of a run would live here; this delegate needs none.
class MyNpuContext final : public sdk::ExecutionContext {
 public:
  MyNpuContext(std::vector<size_t> source_of, sdk::Host host, int64_t grain)
      : source_of_(std::move(source_of)), host_(host), grain_(grain) {}

  sdk::Status Execute(const sdk::RunArgs& run) override {
    for (size_t i = 0; i < run.output_count(); ++i) {
      const float* const in = run.input(source_of_[i]).values<float>().data();
      const sdk::Span<float> out = run.output(i).values<float>();
      host_.ParallelFor(static_cast<int64_t>(out.size()), grain_, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) out.data()[at] = in[at] < 0 ? 0 : in[at];  // NaN stays NaN
      });
    }
    return {};
  }

 private:
  std::vector<size_t> source_of_;  // for each output of the partition, the input that it is computed from
  sdk::Host host_;
  int64_t grain_;
};

// A compiled partition, shared by all sessions. Weights in the device's format would live here.
class MyNpuExecutable final : public sdk::Executable {
 public:
  MyNpuExecutable(std::vector<size_t> source_of, sdk::Host host, int64_t grain)
      : source_of_(std::move(source_of)), host_(host), grain_(grain) {}

  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
    return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<MyNpuContext>(source_of_, host_, grain_));
  }

 private:
  std::vector<size_t> source_of_;
  sdk::Host host_;
  int64_t grain_;
};

class MyNpu final : public sdk::PartitionDelegate {
 public:
  static sdk::OptionSchema Options() {
    return sdk::OptionSchema().Int("grain", 4096, 1, 1 << 24, "elements that are worth a thread");
  }

  // The device would be opened here. A failure's message is shown to the user.
  sdk::Status Init() override { return {}; }

  // Called for every offered node; a "no" has a reason.
  sdk::Verdict Supports(const sdk::NodeView& node) override {
    if (!node.Is("Relu")) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown, "only Relu is known");
    if (node.input(0).dtype() != sdk::DType::kFloat32) return sdk::Verdict::No(sdk::Reason::kDType, "float32 only");
    if (!node.input(0).shape_known()) return sdk::Verdict::No(sdk::Reason::kShapeDynamic, "extents must be known");
    if (node.input(0).is_constant()) return sdk::Verdict::No(sdk::Reason::kOther, "a constant needs no device");
    return sdk::Verdict::Yes();
  }

  // All nodes were accepted by Supports. After kNotSupported they go to the next delegate.
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    std::map<deputy_value_id, size_t> source;  // value -> input of the partition
    for (size_t i = 0; i < partition.inputs().size(); ++i) source[partition.inputs()[i].id()] = i;
    for (const sdk::NodeView& node : partition.nodes()) source[node.output(0).id()] = source.at(node.input(0).id());
    std::vector<size_t> source_of;
    for (const sdk::ValueView& output : partition.outputs()) source_of.push_back(source.at(output.id()));
    return std::unique_ptr<sdk::Executable>(
        std::make_unique<MyNpuExecutable>(std::move(source_of), host(), options().Int("grain")));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(MyNpu, "my_npu", "Relu in float32")
