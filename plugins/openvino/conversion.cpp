#include "conversion.hpp"

#include <algorithm>
#include <openvino/op/constant.hpp>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <sstream>
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

// OpenVINO joins the names of operators that it fuses by commas, and fails where it reads an empty one.
std::string WithoutCommas(const std::string& name) {
  std::string without;
  for (const char c : name)
    if (c == ',')
      without += "%2C";
    else
      without += c;
  return without;
}

// Between the name of a node and that of one of the operators that OpenVINO's front end made of it.
constexpr const char* kPartOf = "~(";

// Gives OpenVINO's operators the names of the nodes whose results they make, and those before them a name that begins
// with it. The front end names some after results, or with a number where a constant has the name. Names in `onnx`
// become OpenVINO's.
void NameOperators(ov::Model& model, const sdk::PartitionView& partition, sdk::OnnxModel& onnx) {
  for (std::string& name : onnx.nodes) name = WithoutCommas(name);
  std::unordered_map<deputy_value_id, std::string> outputs;
  for (size_t i = 0; i < onnx.outputs.size(); ++i) outputs[partition.outputs()[i].id()] = onnx.outputs[i];
  std::unordered_map<std::string, size_t> makers;  // of results, by name
  for (size_t n = 0; n < onnx.nodes.size(); ++n) {
    const sdk::NodeView& node = partition.nodes()[n];
    for (size_t i = 0; i < node.output_count(); ++i)
      if (const sdk::ValueView value = node.output(i); value.exists()) {
        const auto output = outputs.find(value.id());
        makers.emplace(output == outputs.end() ? std::string(value.name()) : output->second, n);
      }
  }
  std::unordered_map<const ov::Node*, size_t> owners;
  const ov::NodeVector ordered = model.get_ordered_ops();
  for (auto op = ordered.rbegin(); op != ordered.rend(); ++op) {
    const std::string own = WithoutCommas((*op)->get_friendly_name());
    (*op)->set_friendly_name("(" + own + ")");
    if (!IsComputed(**op)) continue;
    for (const ov::Output<ov::Node>& output : (*op)->outputs()) {
      for (const std::string& result : output.get_names())
        if (const auto maker = makers.find(result); maker != makers.end()) {
          owners[op->get()] = maker->second;
          (*op)->set_friendly_name(onnx.nodes[maker->second]);
        }
      for (const ov::Input<ov::Node>& target : output.get_target_inputs())
        if (const auto owner = owners.find(target.get_node());
            owner != owners.end() && owners.emplace(op->get(), owner->second).second)
          (*op)->set_friendly_name(onnx.nodes[owner->second] + kPartOf + own + ")");
    }
  }
}

}  // namespace

bool IsComputed(const ov::Node& op) {
  return !ov::is_type<ov::op::v0::Parameter>(&op) && !ov::is_type<ov::op::v0::Result>(&op) &&
         !ov::is_type<ov::op::v0::Constant>(&op);
}

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
  NameOperators(*conversion.model, partition, onnx);
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
  std::istringstream names(joined);
  for (std::string name; std::getline(names, name, ',');) {
    name.erase(std::min(name.size(), name.find(kPartOf)));
    const auto at = static_cast<size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    if (at < known.size() && std::find(found.begin(), found.end(), at) == found.end()) found.push_back(at);
  }
  return found;
}

}  // namespace openvino
