// Custom-operator kernels of a plugin, as a delegate of the host: one node each, on the CPU, after all delegates that
// may support the node.

#include <algorithm>
#include <utility>

#include "plugin/checks/unwritten.hpp"
#include "plugin/proxy/delegate_proxy.hpp"
#include "plugin/proxy/executable_proxy.hpp"

namespace deputy::host {
namespace {

// Its state is the node alone: contexts have none.
class OwnKernel final : public Executable, public std::enable_shared_from_this<OwnKernel> {
 public:
  OwnKernel(std::shared_ptr<const OwnOperatorTable> table, const Graph& graph, const Node& node,
            const PartitionSpec& partition)
      : table_(std::move(table)), lone_(graph, node), place_(PlaceOf(graph, partition)) {
    // A kernel sees the inputs and outputs of its node; a partition has only those that are not constant or left out.
    const auto position = [](const std::vector<ValueId>& values, ValueId id) {
      const auto found = std::find(values.begin(), values.end(), id);
      // An output that is never read counts as left out.
      return found == values.end() ? kAbsent : static_cast<size_t>(found - values.begin());
    };
    for (const ValueId id : node.inputs) {
      const bool constant = id != kNone && graph.values[id].is_constant();
      inputs_.push_back({id == kNone || constant ? kAbsent : position(partition.inputs, id)});
      constants_.push_back(constant ? graph.values[id].constant : Tensor());
    }
    for (const ValueId id : node.outputs) outputs_.push_back({id == kNone ? kAbsent : position(partition.outputs, id)});
    for (const ValueId id : partition.outputs) output_names_.push_back(Printable(graph.values[id].name));
  }

  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<Context>(shared_from_this()));
  }

 private:
  static constexpr size_t kAbsent = static_cast<size_t>(-1);

  class Context final : public ExecutionContext {
   public:
    explicit Context(std::shared_ptr<const OwnKernel> kernel)
        : kernel_(std::move(kernel)),
          constants_(kernel_->inputs_.size()),
          inputs_(kernel_->inputs_.size()),
          outputs_(kernel_->outputs_.size()) {
      for (size_t i = 0; i < constants_.size(); ++i) {
        const Tensor& constant = kernel_->constants_[i];
        if (constant.empty()) continue;
        deputy_tensor& tensor = constants_[i];
        tensor.struct_size = sizeof tensor;
        tensor.dtype = static_cast<deputy_dtype>(constant.dtype());
        tensor.rank = static_cast<uint32_t>(constant.shape().size());
        tensor.dims = constant.shape().data();
        tensor.data = const_cast<void*>(constant.data());
        tensor.byte_size = constant.byte_size();
        inputs_[i] = &tensor;
      }
    }

    Status Execute(const RunArgs& args) override {
      for (size_t i = 0; i < inputs_.size(); ++i)
        if (kernel_->inputs_[i] != kAbsent) inputs_[i] = args.inputs[kernel_->inputs_[i]];
      for (size_t i = 0; i < outputs_.size(); ++i)
        if (kernel_->outputs_[i] != kAbsent) outputs_[i] = args.outputs[kernel_->outputs_[i]];
      deputy_run_args form{};
      form.struct_size = sizeof form;
      form.input_count = static_cast<uint32_t>(inputs_.size());
      form.output_count = static_cast<uint32_t>(outputs_.size());
      form.inputs = inputs_.data();
      form.outputs = outputs_.data();
      form.deadline_ns = args.deadline_ns();
      const OpenedDelegate& opened = kernel_->table_->opened();
      const bool checked = opened.handle_tracker() != nullptr;
      const Watch watch = is_first_ || checked ? Watch::kFloatAndSignals : Watch::kFloat;
      const auto run = [&](const RunArgs&) {
        return opened.Call("compute", kernel_->lone_.shown(),
                           [&] {
                             return kernel_->table_->functions().compute(&opened.table(), opened.host(),
                                                                         kernel_->lone_.shown(), 0, &form);
                           },
                           {kernel_->place_, watch});
      };
      if (watch == Watch::kFloat) return run(args);
      DEPUTY_ASSIGN_OR_RETURN(const std::optional<Unwritten> found, RunOnPattern(args, checked, run));
      if (found) return opened.Fault("compute", Describe(*found, kernel_->output_names_[found->output]));
      is_first_ = false;
      return {};
    }

   private:
    std::shared_ptr<const OwnKernel> kernel_;
    std::vector<deputy_tensor> constants_;
    std::vector<const deputy_tensor*> inputs_, outputs_;
    bool is_first_ = true;
  };

  std::shared_ptr<const OwnOperatorTable> table_;
  LoneNode lone_;
  std::string place_;                      // "node 'x' (Op)"
  std::vector<size_t> inputs_, outputs_;   // position in the partition
  std::vector<Tensor> constants_;          // per input; empty where it is not constant
  std::vector<std::string> output_names_;  // of the partition
};

// "<name> kernels". The table has kernels.
class OwnKernels final : public Delegate {
 public:
  explicit OwnKernels(std::shared_ptr<const OwnOperatorTable> table)
      : table_(std::move(table)),
        name_(table_->opened().name() + " kernels"),
        id_(table_->opened().table().id.data, table_->opened().table().id.size) {}

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  DelegateTraits traits() const override { return {.one_node_partitions = true, .runs_custom_operators_only = true}; }

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override {
    verdicts.assign(view.graph->nodes.size(), Verdict());
    for (const NodeId id : view.order) {
      if (!view.offered[id]) continue;
      const OwnOperator* known = table_->Find(view.graph->nodes[id].primitive);
      verdicts[id] = known == nullptr     ? Verdict{Reason::kOperatorUnknown, ""}
                     : !known->has_kernel ? Verdict{Reason::kOther, "the operator has no kernel"}
                                          : Verdict{Reason::kSupported, ""};
    }
    return {};
  }

  Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) override {
    return std::shared_ptr<const Executable>(
        std::make_shared<const OwnKernel>(table_, *view.graph, view.graph->nodes[partition.nodes.front()], partition));
  }

 private:
  std::shared_ptr<const OwnOperatorTable> table_;
  std::string name_, id_;
};

}  // namespace

Status DelegateProxy::InferOwn(InferenceContext& context) const { return own_operators_->Infer(context); }

std::shared_ptr<Delegate> DelegateProxy::custom_kernels() const {
  return own_operators_->has_kernels() ? std::make_shared<OwnKernels>(own_operators_) : nullptr;
}

}  // namespace deputy::host
