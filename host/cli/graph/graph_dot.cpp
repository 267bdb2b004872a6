#include "cli/graph/graph_dot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/graph/delegate_colour.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

constexpr size_t kNameBytes = 60;

// A quoted string of DOT, in which only quotes and backslashes have a meaning.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Lines of a label, each of text that a model may have chosen. "\\n" between them is DOT's line break.
std::string Label(const std::vector<std::string>& lines) {
  std::string label;
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    if (!label.empty()) label += "\\n";
    const std::string quoted = Quoted(Printable(line, kNameBytes));
    label += quoted.substr(1, quoted.size() - 2);
  }
  return '"' + label + '"';
}

class DotWriter {
 public:
  explicit DotWriter(const PlacedGraph& graph) : graph_(graph), report_(graph.placement) {}

  std::string Write(const std::string& model) {
    text_ = fmt::format(
        "digraph {} {{\n"
        "  graph [rankdir=TB, fontname=\"Helvetica\", compound=true, label={}, labelloc=t]\n"
        "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=10]\n"
        "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#555b66\"]\n",
        Quoted(Printable(model)), Label({model, report_.summary}));
    WriteLegend();
    for (size_t region = 0; region < graph_.regions.size(); ++region) WriteRegion(region);
    text_ += edges_ + "}\n";
    return std::move(text_);
  }

 private:
  std::string ColourOf(const std::string& delegate) const {
    const auto found = std::find_if(report_.delegates.begin(), report_.delegates.end(),
                                    [&](const DelegateReport& report) { return report.name == delegate; });
    return DelegateColour(static_cast<size_t>(found - report_.delegates.begin()), report_.delegates.size());
  }

  void WriteLegend() {
    text_ += "  subgraph cluster_legend {\n    label=\"delegates\"\n    style=\"rounded\"\n    color=\"#c0c4cc\"\n";
    for (size_t i = 0; i < report_.delegates.size(); ++i) {
      const DelegateReport& delegate = report_.delegates[i];
      const std::string colour = ColourOf(delegate.name);
      text_ += fmt::format("    legend{} [label={}, fillcolor=\"{}\", color=\"{}\"]\n", i,
                           Label({delegate.name, fmt::format("{} nodes", delegate.nodes)}), PaleColour(colour), colour);
    }
    text_ += "  }\n";
  }

  void WriteRegion(size_t index) {
    const PlacedRegion& region = graph_.regions[index];
    const std::string indent = region.path.empty() ? "  " : "    ";
    if (!region.path.empty())
      text_ += fmt::format(
          "  subgraph cluster_region{} {{\n    label={}\n    style=\"rounded,dashed\"\n    color=\"#7b828c\"\n", index,
          Label({region.path}));
    producers_.clear();
    WriteValues(region.inputs, "in", index, indent);
    WriteValues(region.captured, "captured", index, indent);
    std::vector<size_t> inside;  // nodes of this region
    for (size_t i = 0; i < report_.nodes.size(); ++i)
      if (report_.nodes[i].region == region.path) inside.push_back(i);
    for (const size_t i : inside)
      for (const PlacedValue& output : graph_.nodes[i].outputs)
        if (!output.name.empty()) producers_.insert_or_assign(output.name, fmt::format("n{}", i));
    WritePartitions(index, inside, indent);
    for (const size_t i : inside) WriteEdges(i);
    for (size_t i = 0; i < region.outputs.size(); ++i) {
      const std::string id = fmt::format("out{}_{}", index, i);
      WritePill(id, region.outputs[i], indent);
      WriteEdge(region.outputs[i], id);
    }
    if (!region.path.empty()) text_ += "  }\n";
  }

  void WriteValues(const std::vector<PlacedValue>& values, std::string_view kind, size_t region,
                   const std::string& indent) {
    for (size_t i = 0; i < values.size(); ++i) {
      const std::string id = fmt::format("{}{}_{}", kind, region, i);
      WritePill(id, values[i], indent);
      producers_.insert_or_assign(values[i].name, id);
    }
  }

  void WritePill(const std::string& id, const PlacedValue& value, const std::string& indent) {
    text_ += fmt::format("{}{} [label={}, shape=ellipse, style=\"\", color=\"#7b828c\"]\n", indent, id,
                         Label({value.name, value.type}));
  }

  // Nodes of one partition stand next to each other in the report.
  void WritePartitions(size_t region, const std::vector<size_t>& inside, const std::string& indent) {
    for (size_t first = 0, end = 0; first < inside.size(); first = end) {
      const NodeReport& node = report_.nodes[inside[first]];
      while (end < inside.size() && report_.nodes[inside[end]].partition == node.partition) ++end;
      const bool is_cluster = end - first > 1;
      if (is_cluster)
        text_ += fmt::format(
            "{}subgraph cluster_partition{}_{} {{\n{}  label={}\n{}  style=\"rounded\"\n{}  color=\"{}\"\n", indent,
            region, first, indent, Label({node.partition}), indent, indent, ColourOf(node.delegate));
      for (size_t i = first; i < end; ++i) WriteNode(inside[i], is_cluster ? indent + "  " : indent);
      if (is_cluster) text_ += indent + "}\n";
    }
  }

  void WriteNode(size_t index, const std::string& indent) {
    const NodeReport& node = report_.nodes[index];
    const std::string colour = ColourOf(node.delegate);
    const std::string operator_name = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    std::string why = node.delegate + " (" + node.partition + ")";
    for (const RefusalReport& refusal : node.refusals)
      why += fmt::format("; not on {}: {}{}", refusal.delegate, refusal.reason,
                         refusal.detail.empty() ? "" : " (" + refusal.detail + ")");
    text_ += fmt::format("{}n{} [label={}, tooltip={}, fillcolor=\"{}\", color=\"{}\"]\n", indent, index,
                         Label({operator_name, node.name}), Quoted(Printable(why)), PaleColour(colour), colour);
  }

  void WriteEdges(size_t index) {
    const std::string id = fmt::format("n{}", index);
    for (const PlacedValue& input : graph_.nodes[index].inputs) WriteEdge(input, id);
    for (const PlacedValue& captured : graph_.nodes[index].captured) WriteEdge(captured, id);
  }

  // Constants have no producer, and no edge.
  void WriteEdge(const PlacedValue& value, const std::string& to) {
    const auto from = producers_.find(value.name);
    if (from != producers_.end())
      edges_ += fmt::format("  {} -> {} [label={}]\n", from->second, to, Label({value.type}));
  }

  const PlacedGraph& graph_;
  const PlacementReport& report_;
  std::map<std::string, std::string> producers_;  // in the region that is written: value to id
  std::string text_, edges_;
};

}  // namespace

std::string GraphDot(const std::string& model, const PlacedGraph& graph) { return DotWriter(graph).Write(model); }

}  // namespace deputy::cli
