// Rules for Scan and SequenceMap.
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {
namespace {

Primitive Newest(OpKind kind) {
  const OperatorInfo* info = InfoOf(kind);
  return PrimitiveBuilder("", info->name, info->newest()).Finish();
}

Node MakeNode(std::string name, OpKind kind, std::vector<ValueId> inputs, ValueId output) {
  Node node;
  node.name = std::move(name);
  node.primitive = Newest(kind);
  node.inputs = std::move(inputs);
  node.outputs = {output};
  return node;
}

Status CheckForm(const Node& node) {
  if (node.regions.size() != 1) return Error(StatusCode::kModel, "expected one body, got {}", node.regions.size());
  const Graph& body = *node.regions[0].body;
  if (body.inputs.size() != node.inputs.size() || body.outputs.size() < node.outputs.size())
    return Error(StatusCode::kModel, "the body has {} inputs and {} outputs, the node has {} inputs and {} outputs",
                 body.inputs.size(), body.outputs.size(), node.inputs.size(), node.outputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] == kNone) return Error(StatusCode::kModel, "input {} is missing", i);
  return {};
}

// Whether the rounds iterate over input `i`; otherwise every round reads all of it.
Result<bool> IsWalked(const NodeRewrite& rewrite, size_t i) {
  const ValueType type = rewrite.input_type(i);
  if (i == 0 || HoldsSequence(type.kind)) return true;
  if (type.dtype == DType::kUndefined)
    return Error(StatusCode::kNotSupported, "it is unknown whether input {} is a sequence or a tensor", i);
  return false;
}

}  // namespace

Status ExpandSequenceMap(NodeRewrite& rewrite) {
  Node& node = rewrite.node();
  DEPUTY_RETURN_IF_ERROR(CheckForm(node));
  Region& region = node.regions[0];
  auto body = std::make_shared<Graph>(*region.body);
  const std::string prefix = (node.name.empty() ? "SequenceMap" : node.name) + ".";
  const std::vector<ValueId> elements = body->inputs, results = body->outputs;
  const ValueId round = body->AddValue(prefix + "round", {DType::kInt64, true, {}});
  const ValueId condition = body->AddValue(prefix + "condition", {DType::kBool, true, {}});
  body->inputs = {round, condition};
  body->outputs = {condition};

  std::vector<Node> nodes;
  for (size_t i = 0; i < elements.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const bool walked, IsWalked(rewrite, i));
    region.captures.push_back(node.inputs[i]);
    body->captured.push_back(walked ? body->AddValue(prefix + "sequence_" + std::to_string(i), rewrite.input_type(i))
                                    : elements[i]);
    if (walked)
      nodes.push_back(MakeNode(prefix + "at_" + std::to_string(i), OpKind::kSequenceAt, {body->captured.back(), round},
                               elements[i]));
  }
  nodes.insert(nodes.end(), body->nodes.begin(), body->nodes.end());
  std::vector<ValueId> inputs = {
      rewrite.AddBefore("length", PrimitiveBuilder(Newest(OpKind::kSequenceLength)), {node.inputs[0]}), kNone};
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string number = std::to_string(i);
    const DType dtype = body->values[results[i]].type.dtype;
    if (dtype == DType::kUndefined)
      return Error(StatusCode::kNotSupported, "the element type of output {} is unknown", i);
    PrimitiveBuilder empty(Newest(OpKind::kSequenceEmpty));
    inputs.push_back(rewrite.AddBefore("empty_" + number, empty.Set("dtype", static_cast<int64_t>(dtype)), {}));
    const ValueType sequence{dtype, false, {}, ValueKind::kSequence};
    body->inputs.push_back(body->AddValue(prefix + "so_far_" + number, sequence));
    body->outputs.push_back(body->AddValue(prefix + "and_now_" + number, sequence));
    nodes.push_back(MakeNode(prefix + "insert_" + number, OpKind::kSequenceInsert, {body->inputs.back(), results[i]},
                             body->outputs.back()));
  }
  body->nodes = std::move(nodes);
  region.name = "body";
  region.body = std::move(body);
  node.inputs = std::move(inputs);
  node.primitive = Newest(OpKind::kLoop);
  return {};
}

// Scan-8 iterates over the sequences of a batch, Scan-9 over one sequence. Both can express a batch of one.
Status UpgradeScan(NodeRewrite& node) {
  if (node.has_input(0))
    return Error(StatusCode::kNotSupported,
                 "Scan version 8 with sequence_lens, which version 9 removed, is not supported");
  const size_t count = node.node().inputs.size();
  for (size_t i = 1; i < count; ++i) {
    const ValueType type = node.input_type(i);
    if (!type.ranked || type.dims.empty() || type.dims[0] != 1)
      return Error(
          StatusCode::kNotSupported,
          "Scan version 8 with a batch, which version 9 removed, is not supported unless its size is 1: input {}", i);
  }
  DEPUTY_ASSIGN_OR_RETURN(Tensor axis, Tensor::FromValues<int64_t>(DType::kInt64, {1}, std::vector<int64_t>{0}));
  const ValueId axes = node.AddConstant("batch_axis", std::move(axis));
  std::vector<ValueId> inputs;
  for (size_t i = 1; i < count; ++i)
    inputs.push_back(node.AddBefore("sequence", PrimitiveBuilder("", "Squeeze", 13), {node.input(i), axes}));
  node.node().inputs = std::move(inputs);
  PrimitiveBuilder builder(node.primitive());
  if (node.primitive().Has("directions")) {
    const std::span<const int64_t> directions = node.primitive().GetInts("directions");
    builder.Set("scan_input_directions", std::vector<int64_t>(directions.begin(), directions.end()));
  }
  node.SetPrimitive(builder.Remove("directions").SetVersion(9));
  for (size_t i = 0; i < node.node().outputs.size(); ++i)
    if (node.node().outputs[i] != kNone) node.AddAfter("batch", PrimitiveBuilder("", "Unsqueeze", 13), {axes}, i);
  return {};
}

}  // namespace deputy::host
