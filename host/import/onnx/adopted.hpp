// Operators that are read as others: experimental ones of old files, those that ONNX Runtime's optimizer leaves behind,
// and ZipMap, whose maps are no values of a graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "import/onnx/proto.hpp"

namespace deputy::host::onnx_import {

struct Adopted {
  OpKind kind;
  int32_t since;
  bool keeps_attributes;
};

// Nothing for an operator that is read as itself.
std::optional<Adopted> AdoptedAs(std::string_view domain, std::string_view op_type, int32_t opset);

// MeanVarianceNormalization before opset 9, whose attributes are `across_channels` and `normalize_variance` instead of
// axes. AddMeanVariance adds the nodes that compute what `node`, which has the operands of `proto`, does.
bool IsFormerMeanVariance(std::string_view domain, std::string_view op_type, int32_t opset);
Status AddMeanVariance(Graph& graph, Node node, const pb::NodeProto& proto);

// A ZipMap is read as a Split into one part: its tensor of scores, if that has a column for each label. AddZipMap fails
// unless `node`, which has the attributes of ZipMap, has labels of one kind, as many as columns where these are known.
// `opset`: of the domain ""; 0: it is not imported.
bool IsZipMap(const pb::NodeProto& node);
Status AddZipMap(Graph& graph, Node node, int32_t opset);

// A metadata entry that says which output of a ZipMap is not what the model declares; nothing for other nodes.
std::optional<std::string> NoteOn(const pb::NodeProto& node);

}  // namespace deputy::host::onnx_import
