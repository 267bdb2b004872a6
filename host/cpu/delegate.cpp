#include "cpu/delegate.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/cancellation.hpp"
#include "base/memory_budget.hpp"
#include "cpu/fusion.hpp"
#include "cpu/kernel.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {

KernelResult MakeKernel(const KernelSpec& spec) {
  using Maker = KernelResult (*)(const KernelSpec&);
  static constexpr Maker kMakers[] = {
      nullptr,
#define DEPUTY_OPERATOR_BEGIN(name, ...) Make##name,
#include "schema/operators.inc"
  };
  const Maker maker = kMakers[static_cast<size_t>(spec.node.kind())];
  if (maker == nullptr) return Error(StatusCode::kNotSupported, "the CPU has no kernel for this operator");
  return maker(spec);
}

namespace {

deputy_tensor Describe(const Tensor& tensor) {
  deputy_tensor described{};
  described.struct_size = sizeof described;
  described.dtype = static_cast<deputy_dtype>(tensor.dtype());
  described.rank = static_cast<uint32_t>(tensor.shape().size());
  described.dims = tensor.shape().data();
  described.data = const_cast<void*>(tensor.data());
  described.byte_size = tensor.byte_size();
  return described;
}

// Types and values of the inputs in this run; `known` receives a tensor per input that borrows its bytes.
Status DescribeInputs(std::span<const deputy_tensor* const> inputs, std::vector<ValueType>& types,
                      std::vector<Tensor>& known) {
  for (const deputy_tensor* input : inputs) {
    types.emplace_back();
    known.emplace_back();
    if (input == nullptr) continue;
    Shape dims(input->dims, input->dims + input->rank);
    types.back() = {static_cast<DType>(input->dtype), true, dims};
    DEPUTY_ASSIGN_OR_RETURN(
        known.back(), Tensor::Wrap(static_cast<DType>(input->dtype), std::move(dims), input->data, input->byte_size));
  }
  return {};
}

// Where values are in a list, which may be as long as a model likes.
class Positions {
 public:
  explicit Positions(const std::vector<ValueId>& ids) : ids_(ids) {
    constexpr size_t kShort = 32;
    if (ids.size() > kShort)
      for (size_t i = 0; i < ids.size(); ++i) first_.try_emplace(ids[i], static_cast<int32_t>(i));
  }
  // The first one; -1 where it is not in the list.
  int32_t Of(ValueId id) const {
    if (!first_.empty()) {
      const auto found = first_.find(id);
      return found == first_.end() ? -1 : found->second;
    }
    const auto found = std::find(ids_.begin(), ids_.end(), id);
    return found == ids_.end() ? -1 : static_cast<int32_t>(found - ids_.begin());
  }

 private:
  const std::vector<ValueId>& ids_;
  std::unordered_map<ValueId, int32_t> first_;  // of a long list
};

// One node, ready to run. An input of the node is an input of the partition or a constant. A long model has as many of
// these as nodes: what few of them need is apart.
class CpuExecutable final : public Executable {
 public:
  // The inputs and outputs that are bound, in this order, are some of the node's.
  CpuExecutable(const Node& node, const Graph& graph, const std::vector<ValueId>& inputs,
                const std::vector<ValueId>& outputs, std::unique_ptr<CpuKernel> kernel,
                std::shared_ptr<ThreadPool> pool, size_t weight_bytes)
      : kernel_(std::move(kernel)), pool_(std::move(pool)), weight_bytes_(weight_bytes) {
    auto binding = std::make_unique<Binding>();
    binding->sources.reserve(node.inputs.size());
    binding->targets.reserve(node.outputs.size());
    const Positions bound_inputs(inputs), bound_outputs(outputs);
    for (const ValueId id : node.inputs) {
      const int32_t bound = id == kNone ? -1 : bound_inputs.Of(id);
      if (id != kNone && bound < 0) binding->constants.push_back(graph.values[id].constant);
      binding->sources.push_back(id == kNone  ? kLeftOut
                                 : bound >= 0 ? bound
                                              : -2 - static_cast<int32_t>(binding->constants.size() - 1));
    }
    binding->described.reserve(binding->constants.size());
    for (const Tensor& constant : binding->constants) binding->described.push_back(Describe(constant));
    for (const ValueId id : node.outputs) {
      const int32_t bound = id == kNone ? -1 : bound_outputs.Of(id);
      binding->targets.push_back(bound < 0 ? kLeftOut : bound);
      if (binding->targets.back() != kLeftOut && !graph.values[id].type.is_static() && unplanned_ == nullptr)
        unplanned_ = std::make_unique<const Node>(node);
    }
    input_count_ = node.inputs.size();
    const auto in_order = [](const std::vector<int32_t>& places, size_t count) {
      for (size_t i = 0; i < places.size(); ++i)
        if (places[i] != static_cast<int32_t>(i)) return false;
      return places.size() == count;
    };
    if (!in_order(binding->sources, inputs.size()) || !in_order(binding->targets, outputs.size()))
      binding_ = std::move(binding);
  }

  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override;
  size_t weight_bytes() const override { return weight_bytes_; }

  std::vector<Alias> aliases() const override {
    const OutputMemory memory = kernel_->output_memory();
    const int32_t target = binding_ == nullptr ? 0 : binding_->targets.front();
    if (memory == OutputMemory::kPlanned || memory == OutputMemory::kOwn || target == kLeftOut) return {};
    std::vector<Alias> aliases;
    for (size_t i = 0; i < input_count_; ++i) {
      const bool view = memory == OutputMemory::kView;
      const int32_t source = binding_ == nullptr ? static_cast<int32_t>(i) : binding_->sources[i];
      if (source >= 0 && (i == 0 || !view))
        aliases.push_back({static_cast<uint32_t>(target), static_cast<uint32_t>(source), view});
    }
    return aliases;
  }

 private:
  friend class CpuContext;
  static constexpr int32_t kLeftOut = -1;  // constants have smaller numbers

  struct Binding {
    std::vector<Tensor> constants;
    std::vector<deputy_tensor> described;
    std::vector<int32_t> sources, targets;  // of the node's inputs and outputs
  };

  std::unique_ptr<CpuKernel> kernel_;
  std::shared_ptr<ThreadPool> pool_;
  const size_t weight_bytes_;
  size_t input_count_ = 0;                  // of the node
  std::unique_ptr<const Binding> binding_;  // null: the node's inputs and outputs are those that are bound, in order
  std::unique_ptr<const Node>
      unplanned_;  // where an output has no planned memory: the node, to infer its extents in a run
};

// Whether there is nothing to compute. Beside an extent of 0 the others may be so large that a loop over them has no
// end.
bool IsEmpty(const CpuKernel& kernel, std::span<deputy_tensor* const> outputs) {
  for (const deputy_tensor* output : outputs)
    if (output != nullptr && (output->byte_size != 0 || IsHeld(*output))) return false;
  return !kernel.allocates_outputs();
}

class CpuContext final : public ExecutionContext {
 public:
  explicit CpuContext(const CpuExecutable& executable) : executable_(executable) {
    if (executable.binding_ == nullptr) return;
    bound_ = std::make_unique<Bound>();
    bound_->inputs.resize(executable.binding_->sources.size());
    bound_->outputs.resize(executable.binding_->targets.size());
  }

  Status Execute(const RunArgs& args) override {
    if (bound_ == nullptr) return Run(args.inputs, args.outputs, args);
    const CpuExecutable::Binding& binding = *executable_.binding_;
    std::vector<const deputy_tensor*>& inputs = bound_->inputs;
    std::vector<deputy_tensor*>& outputs = bound_->outputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t source = binding.sources[i];
      inputs[i] = source >= 0                         ? args.inputs[static_cast<size_t>(source)]
                  : source == CpuExecutable::kLeftOut ? nullptr
                                                      : &binding.described[static_cast<size_t>(-2 - source)];
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int32_t target = binding.targets[i];
      outputs[i] = target < 0 ? nullptr : args.outputs[static_cast<size_t>(target)];
    }
    return Run(inputs, outputs, args);
  }

 private:
  using Inputs = std::span<const deputy_tensor* const>;
  using Outputs = std::span<deputy_tensor* const>;

  Status Run(Inputs inputs, Outputs outputs, const RunArgs& args) {
    if (executable_.unplanned_ != nullptr && !executable_.kernel_->allocates_outputs())
      DEPUTY_RETURN_IF_ERROR(AllocateOutputs(inputs, outputs, *args.allocator));
    if (IsEmpty(*executable_.kernel_, outputs)) return {};
    return executable_.kernel_->Run({inputs, outputs, *executable_.pool_, *args.scratch, args.allocator});
  }

  Status AllocateOutputs(Inputs inputs, Outputs outputs, OutputAllocator& allocator) {
    std::vector<ValueType> types;
    std::vector<Tensor> known;
    DEPUTY_RETURN_IF_ERROR(DescribeInputs(inputs, types, known));
    InferenceContext context(*executable_.unplanned_, types, known, {}, InferenceTime::kRun);
    DEPUTY_RETURN_IF_ERROR(InferNode(context));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      const ValueType& type = context.outputs()[i];
      if (!type.is_static())
        return Error(StatusCode::kInvalidArgument, "the shape of output {} cannot be inferred from the inputs", i);
      outputs[i]->dtype = static_cast<deputy_dtype>(type.dtype);
      DEPUTY_RETURN_IF_ERROR(allocator.Allocate(outputs[i], type.dims));
    }
    return {};
  }

  struct Bound {
    std::vector<const deputy_tensor*> inputs;
    std::vector<deputy_tensor*> outputs;
  };

  const CpuExecutable& executable_;
  std::unique_ptr<Bound> bound_;  // null where those of the run are the node's
};

Result<std::unique_ptr<ExecutionContext>> CpuExecutable::CreateContext() const {
  return std::unique_ptr<ExecutionContext>(std::make_unique<CpuContext>(*this));
}

class CpuDelegate final : public Delegate, private NodeFuser {
 public:
  explicit CpuDelegate(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return name_; }
  DelegateTraits traits() const override { return {.takes_dynamic_shapes = true, .one_node_partitions = true}; }
  NodeFuser* fuser() override { return this; }

  // Only compilation tells whether a kernel for these types exists.
  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override {
    for (NodeId id = 0; id < view.graph->nodes.size(); ++id) {
      if (!view.offered[id]) continue;
      const Node& node = view.graph->nodes[id];
      if (node.kind() != OpKind::kOther) {
        verdicts[id] = {Reason::kSupported, ""};
        continue;
      }
      const std::string_view nearest = NearestOperator(node.primitive.op_type());
      std::string detail =
          fmt::format("{}{}{} version {}", node.primitive.domain(), node.primitive.domain().empty() ? "" : ".",
                      node.primitive.op_type(), node.primitive.since_version());
      const int32_t known = NewestOpset(node.primitive.domain());
      if (known != 0 && node.primitive.since_version() > known)
        detail += fmt::format("; the operators of its domain are known up to {}", known);
      if (!nearest.empty()) detail += fmt::format("; the nearest known operator is {}", nearest);
      verdicts[id] = {Reason::kOperatorUnknown, std::move(detail)};
    }
    return {};
  }

  Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) override {
    const Node& node = view.graph->nodes[partition.nodes.front()];
    const size_t before = WeightMemoryScope::Taken();
    Result<std::unique_ptr<CpuKernel>> kernel = MakeKernel({node, *view.graph});
    DEPUTY_RETURN_IF_ERROR(WeightMemoryScope::Check());  // also where a kernel could do without
    if (!kernel.ok()) return std::move(kernel).status();
    return std::shared_ptr<const Executable>(
        std::make_shared<CpuExecutable>(node, *view.graph, partition.inputs, partition.outputs,
                                        std::move(kernel).value(), pool_, WeightMemoryScope::Taken() - before));
  }

 private:
  std::vector<FusedNode> Fuse(const GraphView& view) override {
    std::vector<FusedNode> fused;
    size_t before = WeightMemoryScope::Taken();
    FuseQuantized(view, [&](QuantizedGroup&& made, const Graph& graph) {
      const size_t weight_bytes = WeightMemoryScope::Taken() - std::exchange(before, WeightMemoryScope::Taken());
      auto executable = std::make_shared<CpuExecutable>(made.node, graph, made.inputs, made.node.outputs,
                                                        std::move(made.kernel), pool_, weight_bytes);
      fused.push_back({made.place, std::move(made.inputs), std::move(made.node.outputs), std::move(executable)});
    });
    return fused;
  }

  const std::string name_ = "cpu";
  std::shared_ptr<ThreadPool> pool_;
};

// Memory for the outputs of one evaluated node.
class TensorAllocator final : public OutputAllocator {
 public:
  explicit TensorAllocator(size_t count) : tensors_(count), described_(count) {}

  deputy_tensor* at(size_t i) { return &described_[i]; }
  Tensor& tensor(size_t i) { return tensors_[i]; }
  Status Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) override {
    const size_t i = static_cast<size_t>(tensor - described_.data());
    DEPUTY_ASSIGN_OR_RETURN(tensors_[i],
                            Tensor::Allocate(static_cast<DType>(tensor->dtype), Shape(dims.begin(), dims.end())));
    *tensor = Describe(tensors_[i]);
    return {};
  }

 private:
  std::vector<Tensor> tensors_;
  std::vector<deputy_tensor> described_;
};

// Working memory and time of one node; a node that needs more is computed in each run, within the limits of that.
constexpr size_t kMostFoldingBytes = size_t{256} << 20;
constexpr uint64_t kMostFoldingNs = 2'000'000'000;

Result<std::vector<Tensor>> Evaluate(const Node& node, std::span<const Tensor> inputs, ThreadPool& pool) {
  // A graph of this node only: makers read types and constants from it.
  Graph graph;
  Node alone = node;
  std::vector<ValueType> types;
  std::vector<deputy_tensor> described;
  std::vector<const deputy_tensor*> bound;
  described.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.emplace_back();
    bound.push_back(nullptr);
    if (node.inputs[i] == kNone) continue;
    types.back() = {inputs[i].dtype(), true, inputs[i].shape()};
    alone.inputs[i] = graph.AddConstant("", inputs[i]);
    described.push_back(Describe(inputs[i]));
    bound.back() = &described.back();
  }
  InferenceContext context(node, types, inputs);
  DEPUTY_RETURN_IF_ERROR(InferNode(context));
  for (size_t i = 0; i < alone.outputs.size(); ++i)
    if (alone.outputs[i] != kNone) alone.outputs[i] = graph.AddValue("", context.outputs()[i]);
  // Packing of constants by the kernel is part of the node's time.
  const CancellationToken stop{NowNs() + kMostFoldingNs};
  const CancellationScope scope(&stop);
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<CpuKernel> kernel, MakeKernel({alone, graph}));
  TensorAllocator allocator(node.outputs.size());
  std::vector<deputy_tensor*> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    outputs.push_back(node.outputs[i] == kNone ? nullptr : allocator.at(i));
    if (outputs.back() == nullptr) continue;
    const ValueType& type = context.outputs()[i];
    outputs.back()->struct_size = sizeof(deputy_tensor);
    outputs.back()->dtype = static_cast<deputy_dtype>(type.dtype);
    if (kernel->allocates_outputs()) continue;
    if (!type.is_static()) return Error(StatusCode::kNotSupported, "the shape of output {} cannot be inferred", i);
    DEPUTY_RETURN_IF_ERROR(allocator.Allocate(outputs.back(), type.dims));
  }
  if (!IsEmpty(*kernel, outputs)) {
    MemoryBudget memory(kMostFoldingBytes);
    Scratch scratch(&memory);
    Status status = kernel->Run({bound, outputs, pool, scratch, &allocator});
    // A kernel that was stopped has left out work: its status has no meaning.
    if (scope.stopped()) return Error(StatusCode::kDeadlineExceeded, "the node takes too long to fold");
    DEPUTY_RETURN_IF_ERROR(std::move(status));
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < node.outputs.size(); ++i) results.push_back(std::move(allocator.tensor(i)));
  return results;
}

}  // namespace

std::shared_ptr<Delegate> MakeCpuDelegate(std::shared_ptr<ThreadPool> pool) {
  return std::make_shared<CpuDelegate>(std::move(pool));
}

Evaluator MakeCpuEvaluator() {
  const auto pool = std::make_shared<ThreadPool>(1);
  return [pool](const Node& node, std::span<const Tensor> inputs) { return Evaluate(node, inputs, *pool); };
}

}  // namespace deputy::host
