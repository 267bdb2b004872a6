#include "import/onnx/text_labels.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "base/printable.hpp"

namespace deputy::host::onnx_import {
namespace {

using Labels = std::vector<std::string_view>;
// The labels whose numbers a value has, by value.
using LabelsOf = std::unordered_map<ValueId, Labels>;

Labels TextLabels(const Node& node) {
  switch (node.kind()) {
    case OpKind::kMl_LinearClassifier:
    case OpKind::kMl_SVMClassifier:
    case OpKind::kMl_TreeEnsembleClassifier: return node.primitive.GetStrings("classlabels_strings");
    default: return {};
  }
}

Status Refuse(const Graph& graph, NodeId node, ValueId read) {
  return Error(StatusCode::kNotSupported,
               "reads '{}', the labels of a classifier, which are texts: strings are no values of a run",
               Printable(graph.values[read].name))
      .At(Describe(graph, node))
      .Advise("make the labels an output of the model, which has their numbers");
}

// Nodes are in topological order.
Result<LabelsOf> FindTextLabels(const Graph& graph) {
  LabelsOf found;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (const ValueId read : node.inputs) {
      const auto labels = found.find(read);
      if (labels == found.end()) continue;
      if (node.kind() != OpKind::kIdentity || node.outputs.empty()) return Refuse(graph, id, read);
      const Labels repeated = labels->second;
      found[node.outputs[0]] = repeated;
    }
    for (const Region& region : node.regions) {
      for (const ValueId read : region.captures)
        if (found.count(read) != 0) return Refuse(graph, id, read);
      Result<LabelsOf> inner = FindTextLabels(*region.body);
      if (!inner.ok()) return std::move(inner).status().At(Describe(graph, id));
      for (size_t i = 0; i < region.body->outputs.size(); ++i) {
        const auto labels = inner->find(region.body->outputs[i]);
        if (labels == inner->end()) continue;
        if (node.kind() != OpKind::kIf || i >= node.outputs.size()) return Refuse(*region.body, 0, labels->first);
        found[node.outputs[i]] = labels->second;
      }
    }
    if (Labels labels = TextLabels(node); !labels.empty() && !node.outputs.empty() && node.outputs[0] != kNone)
      found[node.outputs[0]] = std::move(labels);
  }
  return found;
}

}  // namespace

std::string Numbered(const std::vector<std::string>& texts) {
  constexpr size_t kMost = 20;
  std::string list;
  for (size_t i = 0; i < texts.size() && i < kMost; ++i)
    list += fmt::format("{}{}: {}", i == 0 ? "" : ", ", i, texts[i]);
  if (texts.size() > kMost) list += fmt::format(" and {} more", texts.size() - kMost);
  return list;
}

std::string QuotedLabel(std::string_view label) { return "'" + Printable(std::string(label), 40) + "'"; }

Status NoteTextLabels(const Graph& graph, std::vector<std::string>& notes) {
  DEPUTY_ASSIGN_OR_RETURN(const LabelsOf found, FindTextLabels(graph));
  for (const ValueId output : graph.outputs) {
    const auto labels = found.find(output);
    if (labels == found.end()) continue;
    std::vector<std::string> texts;
    for (const std::string_view label : labels->second) texts.push_back(QuotedLabel(label));
    notes.push_back(fmt::format("output '{}' has the numbers of the labels instead of their texts: {}",
                                Printable(graph.values[output].name, 100), Numbered(texts)));
  }
  return {};
}

}  // namespace deputy::host::onnx_import
