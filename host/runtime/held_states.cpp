#include "runtime/held_states.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/printable.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

Status HeldStates::Begin(const Graph& graph) {
  held_.resize(graph.initial_states.size());
  for (size_t i = 0; i < held_.size(); ++i) {
    const Tensor& initial = graph.initial_states[i];
    for (Tensor* tensor : {&held_[i].now, &held_[i].next})
      if (tensor->empty()) {
        DEPUTY_ASSIGN_OR_RETURN(*tensor, Tensor::Allocate(initial.dtype(), initial.shape()));
      }
    if (initial.byte_size() != 0) std::memcpy(held_[i].now.mutable_data(), initial.data(), initial.byte_size());
  }
  return {};
}

Status HeldStates::Attach(const Plan& plan) {
  const Graph& graph = *plan.graph;
  const size_t first = graph.caller_outputs().size();
  std::vector<bool> in_place(held_.size());
  for (size_t i = 0; i < held_.size(); ++i) {
    const auto output = graph.outputs.begin() + static_cast<ptrdiff_t>(first + i);
    const Slot& slot = plan.slots[*output];
    const bool alone = std::find(graph.inputs.begin(), graph.inputs.end(), *output) == graph.inputs.end() &&
                       std::find(graph.outputs.begin(), output, *output) == output;
    in_place[i] = slot.storage == StorageClass::kBound && alone;
    const Tensor& now = held_[i].now;
    if (slot.storage != StorageClass::kDynamic && (slot.dtype != now.dtype() || slot.dims != now.shape()))
      return Error(StatusCode::kModel, "'{}' is {} {}, but the state is {} {}", Printable(graph.values[*output].name),
                   NameOf(slot.dtype), ShapeToString(slot.dims), NameOf(now.dtype()), ShapeToString(now.shape()));
  }
  for (size_t i = 0; i < held_.size(); ++i) held_[i].in_place = in_place[i];
  return {};
}

void HeldStates::Bind(Execution& execution) {
  const Graph& graph = *execution.plan().graph;
  const size_t inputs = graph.caller_inputs().size(), outputs = graph.caller_outputs().size();
  for (size_t i = 0; i < held_.size(); ++i) {
    execution.Bind(graph.inputs[inputs + i], held_[i].now.mutable_data());
    if (held_[i].in_place) execution.Bind(graph.outputs[outputs + i], held_[i].next.mutable_data());
  }
}

Status HeldStates::Keep(const Execution& execution) {
  const Graph& graph = *execution.plan().graph;
  const size_t first = graph.caller_outputs().size();
  // A new state may be an alias of another old one: all are copied before any is overwritten.
  for (size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].in_place) continue;
    const deputy_tensor& made = execution.tensor(graph.outputs[first + i]);
    Tensor& next = held_[i].next;
    if (made.byte_size != next.byte_size() || static_cast<DType>(made.dtype) != next.dtype() ||
        !std::equal(made.dims, made.dims + made.rank, next.shape().begin(), next.shape().end()))
      return Error(StatusCode::kModel, "'{}' is {}, but the state is {}",
                   Printable(graph.values[graph.outputs[first + i]].name), ShapeToString({made.dims, made.rank}),
                   ShapeToString(next.shape()));
    if (made.byte_size != 0) std::memcpy(next.mutable_data(), made.data, made.byte_size);
  }
  for (Held& held : held_) std::swap(held.now, held.next);
  return {};
}

}  // namespace deputy::host
