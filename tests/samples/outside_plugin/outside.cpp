// A delegate as a vendor would write it, outside the tree: Relu in float32.
#include <string>

#include "deputy/sdk/sdk.hpp"

namespace {

namespace sdk = deputy::sdk;

// max(x, 0) over as many nodes as follow each other: the result does not change.
class ReluContext final : public sdk::ExecutionContext {
 public:
  sdk::Status Execute(const sdk::RunArgs& args) override {
    for (size_t output = 0; output < args.output_count(); ++output) {
      const sdk::Span<float> in = args.input(0).values<float>(), out = args.output(output).values<float>();
      for (size_t i = 0; i < in.size(); ++i) out[i] = in[i] > 0 ? in[i] : 0;
    }
    return {};
  }
};

class ReluExecutable final : public sdk::Executable {
 public:
  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
    return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<ReluContext>());
  }
};

class Outside final : public sdk::PartitionDelegate {
 public:
  static sdk::OptionSchema Options() { return sdk::OptionSchema().Bool("shy", false, "take nothing"); }
  sdk::Verdict Supports(const sdk::NodeView& node) override {
    if (options().Bool("shy")) return sdk::Verdict::No(sdk::Reason::kOther, "shy");
    if (!node.Is("Relu")) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    if (node.input(0).dtype() != sdk::DType::kFloat32) return sdk::Verdict::No(sdk::Reason::kDType, "float32 only");
    return sdk::Verdict::Yes();
  }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    if (partition.inputs().size() != 1) return sdk::Status(sdk::Code::kNotSupported, "one input");
    return std::unique_ptr<sdk::Executable>(std::make_unique<ReluExecutable>());
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(Outside, "outside", "Relu in float32")
