#include "plugin/custom_kernels.hpp"

#include <algorithm>
#include <utility>

#include "plugin/delegate_proxy.hpp"
#include "plugin/executable_proxy.hpp"
#include "plugin/unwritten.hpp"

namespace deputy::host {
namespace {

// Its state is the node alone: contexts have none.
class OwnKernel final : public Executable {
 public:
  OwnKernel(std::shared_ptr<const OwnOperatorTable> table, const Graph& graph, const Node& node,
            const PartitionSpec& partition)
      : state_(std::make_shared<State>(std::move(table), graph, node)) {
    // A kernel sees the inputs and outputs of its node; a partition has only those that are not constant or left out.
    const auto position = [](const std::vector<ValueId>& values, ValueId id) {
      const auto found = std::find(values.begin(), values.end(), id);
      // An output that is never read counts as left out.
      return found == values.end() ? kAbsent : static_cast<size_t>(found - values.begin());
    };
    for (const ValueId id : node.inputs) {
      const bool constant = id != kNone && graph.values[id].is_constant();
      state_->inputs.push_back({id == kNone || constant ? kAbsent : position(partition.inputs, id)});
      state_->constants.push_back(constant ? graph.values[id].constant : Tensor());
    }
    for (const ValueId id : node.outputs)
      state_->outputs.push_back({id == kNone ? kAbsent : position(partition.outputs, id)});
    state_->place = PlaceOf(graph, partition);
    for (const ValueId id : partition.outputs) state_->output_names.push_back(Printable(graph.values[id].name));
  }

  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<Context>(state_));
  }

 private:
  static constexpr size_t kAbsent = static_cast<size_t>(-1);

  struct State {
    State(std::shared_ptr<const OwnOperatorTable> given, const Graph& graph, const Node& node)
        : table(std::move(given)), lone(graph, node) {}
    std::shared_ptr<const OwnOperatorTable> table;
    LoneNode lone;
    std::vector<size_t> inputs, outputs;    // position in the partition
    std::vector<Tensor> constants;          // per input; empty where it is not constant
    std::string place;                      // "node 'x' (Op)"
    std::vector<std::string> output_names;  // of the partition
  };

  class Context final : public ExecutionContext {
   public:
    explicit Context(std::shared_ptr<const State> state)
        : state_(std::move(state)),
          constants_(state_->inputs.size()),
          inputs_(state_->inputs.size()),
          outputs_(state_->outputs.size()) {
      for (size_t i = 0; i < constants_.size(); ++i) {
        const Tensor& constant = state_->constants[i];
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
        if (state_->inputs[i] != kAbsent) inputs_[i] = args.inputs[state_->inputs[i]];
      for (size_t i = 0; i < outputs_.size(); ++i)
        if (state_->outputs[i] != kAbsent) outputs_[i] = args.outputs[state_->outputs[i]];
      deputy_run_args form{};
      form.struct_size = sizeof form;
      form.input_count = static_cast<uint32_t>(inputs_.size());
      form.output_count = static_cast<uint32_t>(outputs_.size());
      form.inputs = inputs_.data();
      form.outputs = outputs_.data();
      form.deadline_ns = args.deadline_ns;
      const OpenedDelegate& opened = state_->table->opened();
      const bool checked = opened.handle_tracker() != nullptr;
      const Watch watch = is_first_ || checked ? Watch::kFloatAndSignals : Watch::kFloat;
      const auto run = [&] {
        return opened.Call("compute", state_->lone.shown(),
                           [&] {
                             return state_->table->functions().compute(&opened.table(), opened.host(),
                                                                       state_->lone.shown(), 0, &form);
                           },
                           {state_->place, watch});
      };
      if (watch == Watch::kFloat) return run();
      DEPUTY_ASSIGN_OR_RETURN(const std::optional<Unwritten> found, RunOnPattern(args, checked, run));
      if (found) return opened.Fault("compute", Describe(*found, state_->output_names[found->output]));
      is_first_ = false;
      return {};
    }

   private:
    std::shared_ptr<const State> state_;
    std::vector<deputy_tensor> constants_;
    std::vector<const deputy_tensor*> inputs_, outputs_;
    bool is_first_ = true;
  };

  std::shared_ptr<State> state_;
};

class OwnKernels final : public Delegate {
 public:
  explicit OwnKernels(std::shared_ptr<const OwnOperatorTable> table)
      : table_(std::move(table)),
        name_(table_->opened().name() + " kernels"),
        id_(table_->opened().table().id.data, table_->opened().table().id.size) {}

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  bool takes_dynamic_shapes() const override { return false; }
  bool runs_custom_operators_only() const override { return true; }
  bool one_node_partitions() const override { return true; }

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

std::shared_ptr<Delegate> MakeOwnKernels(std::shared_ptr<const OwnOperatorTable> table) {
  return std::make_shared<OwnKernels>(std::move(table));
}

Status DelegateProxy::InferOwn(InferenceContext& context) const { return own_operators_->Infer(context); }

std::shared_ptr<Delegate> DelegateProxy::custom_kernels() const {
  return own_operators_->has_kernels() ? MakeOwnKernels(own_operators_) : nullptr;
}

}  // namespace deputy::host
