#include "runtime/tensor_binding.hpp"

#include <algorithm>

#include "base/cancellation.hpp"
#include "base/memory_budget.hpp"
#include "base/printable.hpp"
#include "graph/graph.hpp"
#include "tensor/held_value.hpp"

namespace deputy::host {
namespace {

bool Overlap(const Tensor& a, const Tensor& b) {
  const auto* x = static_cast<const uint8_t*>(a.data());
  const auto* y = static_cast<const uint8_t*>(b.data());
  return a.byte_size() != 0 && b.byte_size() != 0 && x < y + b.byte_size() && y < x + a.byte_size();
}

bool OverlapsAny(const Tensor& tensor, std::span<const ValueView> inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const ValueView& input) { return Overlap(tensor, *input.tensor); });
}

std::string NameOfOutput(const Plan& plan, size_t i) {
  return Printable(plan.graph->values[plan.graph->outputs[i]].name);
}

Status SharedOutputs(const Plan& plan, size_t first, size_t second) {
  return Error(StatusCode::kInvalidArgument, "outputs '{}' and '{}' share memory", NameOfOutput(plan, first),
               NameOfOutput(plan, second));
}

// The first bound output that overlaps an input or another output, only for the message.
Status DescribeOverlap(const Plan& plan, std::span<const size_t> bound, std::span<const ValueView> inputs,
                       std::span<const Tensor> outputs) {
  for (size_t at = 0; at < bound.size(); ++at) {
    const size_t i = bound[at];
    if (OverlapsAny(outputs[i], inputs))
      return Error(StatusCode::kInvalidArgument, "output '{}' shares memory with an input", NameOfOutput(plan, i));
    for (const size_t j : bound.first(at))
      if (Overlap(outputs[i], outputs[j])) return SharedOutputs(plan, j, i);
  }
  return Error(StatusCode::kInternal, "tensors overlap, but no overlapping pair was found");
}

}  // namespace

bool Misaligned(const Tensor& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.data());
  if (address % 16 == 0) return false;  // no element is larger
  return address % std::max<size_t>(1, SizeOf(tensor.dtype())) != 0;
}

namespace {

Status OutputExceeds(const Plan& plan, size_t output, size_t bytes, const MemoryBudget& budget) {
  const Graph& graph = *plan.graph;
  const ValueId id = graph.outputs[output];
  Status status = budget.Exceeded(bytes, "output '" + NameOfOutput(plan, output) + "'");
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    if (const std::vector<ValueId>& made = graph.nodes[node].outputs;
        std::find(made.begin(), made.end(), id) != made.end())
      return std::move(status).At(Describe(graph, node));
  return status;
}

}  // namespace

Status TakeOutputs(const Plan& plan, MemoryBudget* budget) {
  if (budget == nullptr) return {};
  const Graph& graph = *plan.graph;
  std::vector<bool> taken(graph.values.size(), false);
  for (const ValueId id : graph.inputs) taken[id] = true;
  for (size_t i = 0; i < graph.caller_outputs().size(); ++i) {
    const ValueId id = graph.outputs[i];
    const Slot& slot = plan.slots[id];
    if (slot.storage != StorageClass::kBound || taken[id]) continue;
    taken[id] = true;
    DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, ByteSize(slot.dtype, slot.dims));
    if (!budget->Take(bytes)) return OutputExceeds(plan, i, bytes, *budget);
  }
  return {};
}

bool SameDims(std::span<const int64_t> a, std::span<const int64_t> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

Status CheckInput(const Graph& graph, size_t i, const Tensor& tensor) {
  const Value& input = graph.values[graph.inputs[i]];
  if (tensor.empty()) return Error(StatusCode::kInvalidArgument, "input '{}' is empty", Printable(input.name));
  if (tensor.dtype() == input.type.dtype) return {};
  return Error(StatusCode::kInvalidArgument, "input '{}' is {}, the model takes {}", Printable(input.name),
               NameOf(tensor.dtype()), NameOf(input.type.dtype));
}

Status MakeFit(Tensor& tensor, DType dtype, std::span<const int64_t> dims) {
  if (!tensor.empty() && tensor.dtype() == dtype && SameDims(tensor.shape(), dims) && !Misaligned(tensor)) return {};
  DEPUTY_ASSIGN_OR_RETURN(tensor, Tensor::Allocate(dtype, Shape(dims.begin(), dims.end())));
  return {};
}

namespace {

// MakeFit for an output of the caller. Memory that the caller only lends cannot be replaced: its owner would read what
// was never written.
Status FitOutput(const Plan& plan, size_t i, Tensor& output, DType dtype, std::span<const int64_t> dims) {
  const bool is_lent = !output.empty() && output.owner() == nullptr;
  if (is_lent && (output.dtype() != dtype || !SameDims(output.shape(), dims)))
    return Error(StatusCode::kInvalidArgument, "output '{}' is {} {}, the bound tensor is {} {}", NameOfOutput(plan, i),
                 NameOf(dtype), ShapeToString(dims), NameOf(output.dtype()), ShapeToString(output.shape()))
        .Advise("bind a tensor of this type and shape, or leave it empty");
  if (is_lent && Misaligned(output))
    return Error(StatusCode::kInvalidArgument, "output '{}': the bound memory is not aligned to its elements",
                 NameOfOutput(plan, i));
  Status status = MakeFit(output, dtype, dims);
  return status.ok() ? status : std::move(status).At("output '" + NameOfOutput(plan, i) + "'");
}

}  // namespace

void DisjointBuffers::Add(const Tensor& tensor, bool written) {
  if (tensor.byte_size() == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data());
  const Range range{begin, begin + tensor.byte_size(), written};
  if (same_ != kOthers) {
    if (same_ < disjoint_.size() && disjoint_[same_] == range) {
      ++same_;
      return;
    }
    ranges_.assign(disjoint_.begin(), disjoint_.begin() + static_cast<ptrdiff_t>(same_));
    same_ = kOthers;
  }
  ranges_.push_back(range);
}

bool DisjointBuffers::Disjoint() {
  if (same_ != kOthers) return true;  // all of them, or some of those
  sorted_ = ranges_;
  std::sort(sorted_.begin(), sorted_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  // Ranges that are only read may overlap each other.
  uintptr_t end_of_all = 0, end_of_written = 0;
  for (const Range& range : sorted_) {
    if (range.begin < (range.written ? end_of_all : end_of_written)) return false;
    end_of_all = std::max(end_of_all, range.end);
    if (range.written) end_of_written = std::max(end_of_written, range.end);
  }
  disjoint_.swap(ranges_);
  return true;
}

void OutputBinding::Prepare(const Plan& plan) {
  const Graph& graph = *plan.graph;
  std::vector<bool> taken(graph.values.size(), false);
  for (const ValueId id : graph.inputs) taken[id] = true;
  bound_.clear();
  copied_.clear();
  for (size_t i = 0; i < graph.caller_outputs().size(); ++i) {
    const ValueId id = graph.outputs[i];
    const bool is_bound = plan.slots[id].storage == StorageClass::kBound && !taken[id];
    if (is_bound)
      bound_.push_back({i, id, plan.slots[id].dtype, plan.slots[id].dims});
    else
      copied_.push_back(i);
    taken[id] = true;
  }
}

Status OutputBinding::Bind(std::span<const ValueView> inputs, std::vector<Tensor>& outputs, Execution& execution) {
  const Plan& plan = execution.plan();
  outputs.resize(plan.graph->caller_outputs().size());
  before_.Clear();
  for (const Bound& bound : bound_) {
    Tensor& output = outputs[bound.output];
    DEPUTY_RETURN_IF_ERROR(FitOutput(plan, bound.output, output, bound.dtype, bound.dims));
    before_.AddWritten(output);
  }
  for (const ValueView& input : inputs) before_.AddRead(*input.tensor);
  if (!before_.Disjoint()) {
    std::vector<size_t> positions;
    for (const Bound& bound : bound_) positions.push_back(bound.output);
    return DescribeOverlap(plan, positions, inputs, outputs);
  }
  for (const Bound& bound : bound_) execution.Bind(bound.value, outputs[bound.output].mutable_data());
  return {};
}

Status OutputBinding::CheckCopies(const Execution& execution, MemoryBudget* budget) const {
  if (budget == nullptr) return {};
  const Plan& plan = execution.plan();
  size_t taken = 0;
  Status status;
  for (const size_t i : copied_) {
    const deputy_tensor& from = execution.tensor(plan.graph->outputs[i]);
    if (IsHeld(from)) continue;
    const size_t bytes = static_cast<size_t>(from.byte_size);
    if (!budget->Take(bytes)) {
      status = OutputExceeds(plan, i, bytes, *budget);
      break;
    }
    taken += bytes;
  }
  budget->Give(taken);  // the copies are the caller's
  return status;
}

Status OutputBinding::Copy(std::span<const ValueView> inputs, std::vector<Tensor>& outputs,
                           const Execution& execution) {
  if (copied_.empty()) return {};
  const Plan& plan = execution.plan();
  const Graph& graph = *plan.graph;
  const auto result = [&](size_t i) -> const deputy_tensor& { return execution.tensor(graph.outputs[i]); };
  after_.Clear();
  for (const size_t i : copied_) {
    if (IsHeld(result(i))) continue;
    DEPUTY_RETURN_IF_ERROR(
        FitOutput(plan, i, outputs[i], static_cast<DType>(result(i).dtype), {result(i).dims, result(i).rank}));
    after_.AddWritten(outputs[i]);
  }
  for (const Bound& bound : bound_) after_.AddWritten(outputs[bound.output]);
  for (const ValueView& input : inputs) after_.AddRead(*input.tensor);
  const bool disjoint = after_.Disjoint();
  for (const size_t i : copied_) {
    const deputy_tensor& from = result(i);
    if (IsHeld(from)) continue;
    if (!disjoint) {
      // An output that is also an input may have been bound to the caller's tensor.
      if (OverlapsAny(outputs[i], inputs)) {
        DEPUTY_ASSIGN_OR_RETURN(outputs[i], Tensor::Allocate(outputs[i].dtype(), outputs[i].shape()));
      }
      for (size_t j = 0; j < outputs.size(); ++j)
        if (j != i && Overlap(outputs[i], outputs[j])) return SharedOutputs(plan, std::min(i, j), std::max(i, j));
    }
    CopyInParts(outputs[i].mutable_data(), from.data, from.byte_size);
  }
  return {};
}

}  // namespace deputy::host
