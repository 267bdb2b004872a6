// The delegate `onednn`: float32 on the CPU through Intel's oneAPI Deep Neural Network Library.
#include <string>
#include <unordered_map>

#include "lowering.hpp"

namespace onednn {

class Delegate final : public sdk::PartitionDelegate {
 public:
  static sdk::OptionSchema Options() {
    return sdk::OptionSchema().Int("threads", 0, 0, 1024, "threads of oneDNN's own pool, 0 for one per CPU");
  }

  sdk::Status Init() override {
    engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
    for (const auto& family : {ConvolutionOperators(), ElementwiseOperators(), MatmulOperators(),
                               NormalizationOperators(), PoolingOperators()})
      for (const Operator& op : family) operators_.emplace(op.type, &op);
    return {};
  }

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    const Operator* op = Find(node);
    if (op == nullptr) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
      const sdk::ValueView value = i < node.input_count() ? node.input(i) : node.output(i - node.input_count());
      if (!value.exists()) continue;
      if (value.dtype() != sdk::DType::kFloat32) return sdk::Verdict::No(sdk::Reason::kDType, "float32 only");
      if (!value.shape_known()) return sdk::Verdict::No(sdk::Reason::kShapeDynamic);
      if (value.element_count() == 0) return sdk::Verdict::No(sdk::Reason::kShape, "a tensor without elements");
    }
    return op->supports(node);
  }

  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView& partition) override {
    ProgramBuilder builder(partition, engine_, static_cast<int>(options().Int("threads")));
    for (const sdk::NodeView& node : partition.nodes()) {
      try {
        Find(node)->lower(node, builder);
      } catch (const dnnl::error& error) {
        const bool lacking = error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments;
        return sdk::Status(lacking ? sdk::Code::kNotSupported : sdk::Code::kInternal,
                           "oneDNN: " + std::string(error.what()), node.id());
      }
    }
    return std::unique_ptr<sdk::Executable>(builder.Finish());
  }

 private:
  const Operator* Find(const sdk::NodeView& node) const {
    const auto found = operators_.find(node.op_type());
    return !node.domain().empty() || found == operators_.end() ? nullptr : found->second;
  }

  dnnl::engine engine_;
  std::unordered_map<std::string_view, const Operator*> operators_;
};

}  // namespace onednn

DEPUTY_EXPORT_DELEGATE(onednn::Delegate, "onednn", "float32 on x86-64 and aarch64 CPUs through oneDNN")
