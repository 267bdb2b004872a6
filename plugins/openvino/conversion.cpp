#include "conversion.hpp"

#include <algorithm>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "deputy/sdk/onnx_writer.hpp"

namespace openvino {
namespace {

std::vector<deputy_value_id> IdsOf(const std::vector<sdk::ValueView>& values) {
  std::vector<deputy_value_id> ids;
  for (const sdk::ValueView& value : values) ids.push_back(value.id());
  return ids;
}

}  // namespace

sdk::Result<Conversion> Convert(const sdk::PartitionView& partition) {
  DEPUTY_SDK_ASSIGN_OR_RETURN(sdk::OnnxModel onnx, sdk::WriteOnnx(partition));
  Conversion conversion;
  try {
    conversion.model = SharedCore()->read_model(onnx.bytes, ov::Tensor());
  } catch (const std::exception& error) {
    return sdk::Status(sdk::Code::kNotSupported, MessageOf(error));
  }
  conversion.inputs = IdsOf(partition.inputs());
  conversion.outputs = IdsOf(partition.outputs());
  if (conversion.model->inputs().size() != conversion.inputs.size() ||
      conversion.model->outputs().size() != conversion.outputs.size())
    return sdk::Status(sdk::Code::kNotSupported, "OpenVINO made a model with other inputs or outputs of it");
  // Such a result is not written to the host's buffer.
  for (const std::shared_ptr<ov::op::v0::Result>& result : conversion.model->get_results())
    if (ov::is_type<ov::op::v0::Parameter>(result->get_input_node_ptr(0)))
      return sdk::Status(sdk::Code::kNotSupported, "an output is an input");
  for (const sdk::NodeView& node : partition.nodes()) conversion.nodes.push_back(node.id());
  conversion.names = std::move(onnx.nodes);
  return conversion;
}

sdk::Result<Conversion> Convert(const sdk::GraphView& graph, const std::vector<deputy_node_id>& nodes) {
  const std::unordered_set<deputy_node_id> inside(nodes.begin(), nodes.end());
  std::unordered_set<deputy_value_id> made, read_outside, listed;
  std::vector<deputy_value_id> inputs, outputs;
  for (const sdk::ValueView& output : graph.Outputs()) read_outside.insert(output.id());
  for (size_t n = 0; n < graph.node_count(); ++n) {
    const sdk::NodeView node = graph.NodeAt(n);
    if (inside.count(node.id()) != 0) continue;
    for (size_t i = 0; i < node.input_count(); ++i)
      if (const sdk::ValueView value = node.input(i); value.exists()) read_outside.insert(value.id());
  }
  for (const deputy_node_id id : nodes) {
    const sdk::NodeView node = graph.Node(id);
    for (size_t i = 0; i < node.input_count(); ++i) {
      const sdk::ValueView value = node.input(i);
      if (value.exists() && !value.is_constant() && made.count(value.id()) == 0 && listed.insert(value.id()).second)
        inputs.push_back(value.id());
    }
    for (size_t i = 0; i < node.output_count(); ++i) {
      const sdk::ValueView value = node.output(i);
      if (!value.exists()) continue;
      made.insert(value.id());
      if (read_outside.count(value.id()) != 0) outputs.push_back(value.id());
    }
  }
  // Of nodes that no other one reads: a model needs a result.
  if (outputs.empty())
    for (const deputy_node_id id : nodes)
      for (const sdk::NodeView node = graph.Node(id); outputs.empty() && node.output(0).exists();)
        outputs.push_back(node.output(0).id());
  deputy_partition partition{};
  partition.struct_size = sizeof partition;
  partition.graph = graph.handle();
  partition.nodes = nodes.data();
  partition.node_count = static_cast<uint32_t>(nodes.size());
  partition.inputs = inputs.data();
  partition.input_count = static_cast<uint32_t>(inputs.size());
  partition.outputs = outputs.data();
  partition.output_count = static_cast<uint32_t>(outputs.size());
  return Convert(sdk::PartitionView(graph, partition));
}

std::vector<size_t> FindNames(const std::string& joined, const std::vector<std::string>& known) {
  std::vector<size_t> found;
  for (size_t begin = 0; begin <= joined.size();) {
    // The longest of the known names that begins here and ends at a comma or at the end.
    size_t best = known.size(), length = 0;
    for (size_t i = 0; i < known.size(); ++i) {
      const std::string& name = known[i];
      const size_t end = begin + name.size();
      if (name.size() < length || joined.compare(begin, name.size(), name) != 0) continue;
      if (end == joined.size() || joined[end] == ',') best = i, length = name.size();
    }
    if (best < known.size() && std::find(found.begin(), found.end(), best) == found.end()) found.push_back(best);
    const size_t comma = joined.find(',', begin + length);
    if (comma == std::string::npos) break;
    begin = comma + 1;
  }
  return found;
}

}  // namespace openvino
