#include "import/onnx/adopted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/printable.hpp"
#include "import/onnx/text_labels.hpp"

namespace deputy::host::onnx_import {
namespace {

constexpr std::string_view kClassical = "ai.onnx.ml";

const pb::AttributeProto* Find(const pb::NodeProto& node, std::string_view name) {
  const auto found = std::find_if(node.attribute().begin(), node.attribute().end(),
                                  [&](const pb::AttributeProto& it) { return it.name() == name; });
  return found == node.attribute().end() ? nullptr : &*found;
}

// "0: 'setosa', 1: 'virginica'"
std::string Listed(const pb::NodeProto& node) {
  std::vector<std::string> labels;
  if (const pb::AttributeProto* strings = Find(node, "classlabels_strings"))
    for (const std::string& label : strings->strings()) labels.push_back(QuotedLabel(label));
  if (const pb::AttributeProto* numbers = Find(node, "classlabels_int64s"); labels.empty() && numbers != nullptr)
    for (const int64_t label : numbers->ints()) labels.push_back(std::to_string(label));
  return Numbered(labels);
}

// How many columns a value has, or kUnknownDim: those of its type, or the labels of a classifier that is the last node.
// Those of other scores are known when types are inferred.
int64_t ColumnsOf(const Graph& graph, ValueId id) {
  const ValueType& type = graph.values[id].type;
  if (type.ranked && !type.dims.empty()) return type.dims.back();
  if (graph.nodes.empty()) return kUnknownDim;
  const Node& last = graph.nodes.back();
  const bool is_linear = last.kind() == OpKind::kMl_LinearClassifier;
  if (!is_linear && last.kind() != OpKind::kMl_TreeEnsembleClassifier) return kUnknownDim;
  if (last.outputs.size() != 2 || last.outputs[1] != id) return kUnknownDim;
  const size_t strings = last.primitive.GetStrings("classlabels_strings").size(),
               ints = last.primitive.GetInts(is_linear ? "classlabels_ints" : "classlabels_int64s").size();
  return strings == 0 && ints == 0 ? kUnknownDim : static_cast<int64_t>(std::max(strings, ints));
}

}  // namespace

std::optional<Adopted> AdoptedAs(std::string_view domain, std::string_view op_type, int32_t opset) {
  if (domain == kClassical && op_type == "ZipMap") return Adopted{OpKind::kIdentity, 1, true};
  if (!domain.empty()) return std::nullopt;
  if (op_type == "DynamicSlice") return Adopted{OpKind::kSlice, 10, true};
  if (op_type == "MemcpyFromHost" || op_type == "MemcpyToHost") return Adopted{OpKind::kIdentity, 1, false};
  if (op_type == "ThresholdedRelu" && opset < 10) return Adopted{OpKind::kThresholdedRelu, 10, true};
  if (IsFormerMeanVariance(domain, op_type, opset)) return Adopted{OpKind::kMeanVarianceNormalization, 9, false};
  return std::nullopt;
}

bool IsFormerMeanVariance(std::string_view domain, std::string_view op_type, int32_t opset) {
  return domain.empty() && op_type == "MeanVarianceNormalization" && opset < 9;
}

Status AddMeanVariance(Graph& graph, Node node, const pb::NodeProto& proto) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || node.inputs[0] == kNone || node.outputs[0] == kNone)
    return Error(StatusCode::kModel, "must have one input and one output");
  const auto says = [&](std::string_view name, bool otherwise) {
    const pb::AttributeProto* const attribute = Find(proto, name);
    return attribute == nullptr ? otherwise : attribute->i() != 0;
  };
  std::vector<int64_t> axes{0, 2, 3};
  if (says("across_channels", false)) axes = {0, 1, 2, 3};
  if (says("normalize_variance", true)) {
    node.primitive = PrimitiveBuilder("", "MeanVarianceNormalization", 9).Set("axes", axes).Finish();
    graph.nodes.push_back(std::move(node));
    return {};
  }
  Node mean = node;
  if (!mean.name.empty()) mean.name += "/mean";
  mean.primitive = PrimitiveBuilder("", "ReduceMean", 1).Set("axes", axes).Set("keepdims", int64_t{1}).Finish();
  mean.outputs = {graph.AddValue(graph.values[node.outputs[0]].name + "/mean")};
  node.primitive = PrimitiveBuilder("", "Sub", 7).Finish();
  node.inputs.push_back(mean.outputs[0]);
  graph.nodes.push_back(std::move(mean));
  graph.nodes.push_back(std::move(node));
  return {};
}

bool IsZipMap(const pb::NodeProto& node) { return node.domain() == kClassical && node.op_type() == "ZipMap"; }

Status AddZipMap(Graph& graph, Node node, int32_t opset) {
  if (node.inputs.size() != 1 || node.outputs.size() != 1 || node.inputs[0] == kNone || node.outputs[0] == kNone)
    return Error(StatusCode::kModel, "must have one input and one output");
  const size_t strings = node.primitive.GetStrings("classlabels_strings").size(),
               ints = node.primitive.GetInts("classlabels_int64s").size();
  if (strings != 0 && ints != 0)
    return Error(StatusCode::kModel,
                 "attributes 'classlabels_strings' and 'classlabels_int64s' are both given, expected one of them");
  if (strings == 0 && ints == 0)
    return Error(StatusCode::kModel,
                 "attributes 'classlabels_strings' and 'classlabels_int64s' are empty, expected the labels of the "
                 "columns");
  const auto labels = static_cast<int64_t>(std::max(strings, ints));
  if (const int64_t columns = ColumnsOf(graph, node.inputs[0]); columns >= 0 && columns != labels)
    return Error(StatusCode::kModel, "the scores have {} columns, expected {}, one for each of the labels", columns,
                 labels);
  // In the form of the model's operators: of two forms in one graph an export could name the version of one only.
  if (opset < 13) {
    node.primitive =
        PrimitiveBuilder("", "Split", 11).Set("axis", int64_t{-1}).Set("split", std::vector<int64_t>{labels}).Finish();
  } else {
    DEPUTY_ASSIGN_OR_RETURN(Tensor sizes, Tensor::FromValues<int64_t>(DType::kInt64, {1}, {&labels, 1}));
    node.inputs.push_back(graph.AddConstant(graph.values[node.outputs[0]].name + "/sizes", std::move(sizes)));
    node.primitive = PrimitiveBuilder("", "Split", 13).Set("axis", int64_t{-1}).Finish();
  }
  graph.nodes.push_back(std::move(node));
  return {};
}

std::optional<std::string> NoteOn(const pb::NodeProto& node) {
  if (!IsZipMap(node) || node.output_size() == 0 || node.output(0).empty()) return std::nullopt;
  return fmt::format("output '{}' is the tensor of scores of which ZipMap makes maps; its columns are {}",
                     Printable(node.output(0), 100), Listed(node));
}

}  // namespace deputy::host::onnx_import
