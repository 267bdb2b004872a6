#include "graph/loop_form.hpp"

namespace deputy::host {
namespace {

ScanDirection Direction(const Node& node, const char* axes, const char* directions, size_t i) {
  const std::span<const int64_t> axis = node.primitive.GetInts(axes), reverse = node.primitive.GetInts(directions);
  return {i < axis.size() ? axis[i] : 0, i < reverse.size() && reverse[i] != 0};
}

// One for each of `count` sequences, or none.
Status CheckLists(const Node& node, const char* axes, const char* directions, size_t count) {
  for (const char* list : {axes, directions})
    if (const size_t given = node.primitive.GetInts(list).size(); given != 0 && given != count)
      return Error(StatusCode::kModel, "attribute '{}' has {} elements, expected {}", list, given, count);
  for (const int64_t direction : node.primitive.GetInts(directions))
    if (direction != 0 && direction != 1)
      return Error(StatusCode::kModel, "attribute '{}' must be of zeros and ones, got {}", directions, direction);
  return {};
}

}  // namespace

Result<LoopForm> LoopFormOf(const Node& node, const Graph& body) {
  LoopForm form;
  form.is_loop = node.kind() == OpKind::kLoop;
  const size_t inputs = node.inputs.size(), before = form.before_inputs();
  if (!form.is_loop) {
    const int64_t scanned = node.primitive.GetInt("num_scan_inputs", 0);
    if (scanned < 1 || static_cast<uint64_t>(scanned) > inputs)
      return Error(StatusCode::kModel, "num_scan_inputs ({}) must be between 1 and the number of inputs ({})", scanned,
                   inputs);
    form.scanned_inputs = static_cast<size_t>(scanned);
  }
  if (inputs < before) return Error(StatusCode::kModel, "the inputs M and cond are required, but may be empty");
  form.states = inputs - before - form.scanned_inputs;
  const size_t made = form.before_outputs() + form.states;
  if (body.inputs.size() != inputs || body.outputs.size() < made)
    return Error(StatusCode::kModel,
                 "the body has {} inputs and {} outputs, which does not match {} inputs of the node",
                 body.inputs.size(), body.outputs.size(), inputs);
  form.scanned_outputs = body.outputs.size() - made;
  if (node.outputs.size() > form.states + form.scanned_outputs)
    return Error(StatusCode::kModel, "the body has {} outputs, too few for {} outputs of the node", body.outputs.size(),
                 node.outputs.size());
  if (!form.is_loop) {
    DEPUTY_RETURN_IF_ERROR(CheckLists(node, "scan_input_axes", "scan_input_directions", form.scanned_inputs));
    DEPUTY_RETURN_IF_ERROR(CheckLists(node, "scan_output_axes", "scan_output_directions", form.scanned_outputs));
  }
  for (size_t i = before; i < inputs; ++i)
    if (node.inputs[i] == kNone) return Error(StatusCode::kModel, "input {} is missing", i);
  return form;
}

ScanDirection InputDirection(const Node& node, size_t i) {
  return Direction(node, "scan_input_axes", "scan_input_directions", i);
}

ScanDirection OutputDirection(const Node& node, size_t i) {
  return Direction(node, "scan_output_axes", "scan_output_directions", i);
}

}  // namespace deputy::host
