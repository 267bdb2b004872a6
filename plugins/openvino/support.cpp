#include "support.hpp"

#include <algorithm>
#include <utility>

#include "rules.hpp"

namespace openvino {
namespace {

std::string KindOf(const sdk::NodeView& node) { return std::string(node.domain()) + ":" + std::string(node.op_type()); }

// Whether a model is for these extents: the same nodes may be compiled for others later.
bool IsFor(const ov::Model& model, const std::vector<sdk::ValueView>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ov::PartialShape& shape = model.input(i).get_partial_shape();
    if (shape.rank().is_dynamic() || !inputs[i].rank_known()) {
      if (shape.rank().is_dynamic() && !inputs[i].rank_known()) continue;
      return false;
    }
    if (shape.size() != inputs[i].rank()) return false;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t extent = shape[axis].is_static() ? shape[axis].get_length() : -1;
      if (extent != inputs[i].dims()[axis]) return false;
    }
  }
  return true;
}

// So many nodes of one operator that cannot be converted alone stand for all others of it.
constexpr int kEnoughFailures = 2;

}  // namespace

Support::Support(const sdk::GraphView& graph, std::string device, ov::AnyMap properties, bool queries)
    : graph_(&graph), device_(std::move(device)), properties_(std::move(properties)), queries_(queries) {
  std::vector<sdk::NodeView> candidates;
  int32_t version = 0;  // of ONNX's operator set: all candidates are of its domain
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const sdk::NodeView node = graph.NodeAt(i);
    sdk::Verdict verdict = node.offered() ? CheckNode(node) : sdk::Verdict::No(sdk::Reason::kOther, "not offered");
    if (verdict.supported()) {
      candidates.push_back(node);
      version = std::max(version, node.since_version());
    }
    verdicts_[node.id()] = std::move(verdict);
  }
  std::vector<deputy_node_id> nodes;
  for (const sdk::NodeView& node : candidates) {
    if (IsDefinitionIn(node, version))
      nodes.push_back(node.id());
    else
      verdicts_[node.id()] =
          sdk::Verdict::No(sdk::Reason::kOther, "definition " + std::to_string(node.since_version()) +
                                                    " means something else in operator set " + std::to_string(version) +
                                                    ", which the graph's other nodes need");
  }
  if (!nodes.empty()) Ask(nodes);
  graph_ = nullptr;
}

sdk::Verdict Support::Of(deputy_node_id node) const {
  const auto found = verdicts_.find(node);
  return found == verdicts_.end() ? sdk::Verdict::No(sdk::Reason::kOther, "not a node of the graph") : found->second;
}

std::optional<Conversion> Support::Take(const sdk::PartitionView& partition) {
  std::optional<Conversion> asked = std::exchange(asked_, std::nullopt);
  const auto same = [](const auto& views, const auto& ids) {
    return std::equal(views.begin(), views.end(), ids.begin(), ids.end(),
                      [](const auto& view, const auto& id) { return view.id() == id; });
  };
  if (asked && same(partition.nodes(), asked->nodes) && same(partition.inputs(), asked->inputs) &&
      same(partition.outputs(), asked->outputs) && IsFor(*asked->model, partition.inputs()))
    return asked;
  return std::nullopt;
}

void Support::Ask(const std::vector<deputy_node_id>& nodes) {
  std::vector<deputy_node_id> open;
  for (const deputy_node_id id : nodes) {
    const sdk::NodeView node = graph_->Node(id);
    if (failures_[KindOf(node)] < kEnoughFailures)
      open.push_back(id);
    else
      Refuse(id, "OpenVINO does not convert " + std::string(node.op_type()) + " here");
  }
  if (open.empty()) return;
  sdk::Result<Conversion> conversion = Convert(*graph_, open);
  if (conversion.ok()) return Answer(std::move(*conversion));
  if (open.size() == 1) {
    ++failures_[KindOf(graph_->Node(open.front()))];
    return Refuse(open.front(), conversion.status().message());
  }
  const auto middle = open.begin() + static_cast<std::ptrdiff_t>(open.size() / 2);
  Ask({open.begin(), middle});
  Ask({middle, open.end()});
}

void Support::Answer(Conversion conversion) {
  if (queries_) Query(conversion);
  asked_ = std::move(conversion);
}

void Support::Query(const Conversion& conversion) {
  ov::SupportedOpsMap supported;
  try {
    supported = SharedCore()->query_model(conversion.model, device_, properties_);
  } catch (const std::exception& error) {
    for (const deputy_node_id node : conversion.nodes) Refuse(node, MessageOf(error));
    return;
  }
  for (const std::shared_ptr<ov::Node>& op : conversion.model->get_ops()) {
    const std::string& name = op->get_friendly_name();
    if (!IsComputed(*op) || supported.count(name) != 0) continue;
    for (const size_t position : FindNames(name, conversion.names))
      Refuse(conversion.nodes[position],
             "OpenVINO's device " + device_ + " does not run " + std::string(op->get_type_name()));
  }
}

void Support::Refuse(deputy_node_id node, std::string why) {
  verdicts_[node] = sdk::Verdict::No(sdk::Reason::kOther, std::move(why));
}

}  // namespace openvino
