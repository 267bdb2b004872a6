#include "planner.hpp"

#include <algorithm>
#include <utility>

#include "model_writer.hpp"

namespace ort_ep {
namespace {

using deputy::DType;
using deputy::Model;
using deputy::NodeReport;
using deputy::PlacementReport;
using deputy::Result;
using deputy::Shape;
using deputy::Status;
using deputy::StatusCode;

constexpr const char* kCpu = "cpu";

// A subset loses nodes to the CPU when it is placed anew; after so many rounds it stays as it is.
constexpr int kMostRounds = 4;

bool IsTensorOfNumbers(const Value& value) {
  return value.is_tensor && value.dtype != DType::kUndefined && deputy::BitsOf(value.dtype) != 0;
}

bool HasAssignedNode(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!node.provider.empty()) return true;
    for (const auto& [name, subgraph] : node.subgraphs)
      if (HasAssignedNode(*subgraph)) return true;
  }
  return false;
}

// Empty: Deputy may have it.
std::string ObstacleOf(const Graph& graph, const Node& node, bool has_cpu) {
  if (!node.provider.empty()) return node.provider + " has it";
  if (!node.subgraphs.empty() && !has_cpu) return "its subgraphs are placed by themselves";
  for (const auto& [name, subgraph] : node.subgraphs)
    if (HasAssignedNode(*subgraph)) return "a node of its subgraph is assigned already";
  for (const std::vector<size_t>* list : {&node.inputs, &node.captured, &node.outputs})
    for (const size_t index : *list) {
      if (index == kNone) continue;
      const Value& value = graph.values[index];
      if (!IsTensorOfNumbers(value)) return "'" + value.name + "' is not a tensor of numbers";
      // No delegate could be asked about a subset with such an input.
      if (!has_cpu && !value.has_shape && list != &node.outputs)
        return "the rank of '" + value.name + "' is not known before the run";
    }
  return {};
}

std::string ReasonOf(const NodeReport& node) {
  std::string text;
  for (const deputy::RefusalReport& refusal : node.refusals)
    text += (text.empty() ? "" : "; ") + refusal.delegate + ": " + refusal.reason +
            (refusal.detail.empty() ? "" : " (" + refusal.detail + ")");
  return text.empty() ? "no delegate takes it" : text;
}

std::vector<Shape> ShapesWith(const std::vector<deputy::TensorInfo>& inputs, int64_t extent) {
  std::map<std::string, int64_t> symbols;
  std::vector<Shape> shapes;
  for (const deputy::TensorInfo& input : inputs) {
    Shape shape = input.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] >= 0) continue;
      const int64_t chosen = axis == 0 ? 1 : extent;  // the first is most often a batch
      const std::string& symbol = axis < input.dims.size() ? input.dims[axis] : std::string();
      shape[axis] = symbol.empty() ? chosen : symbols.emplace(symbol, chosen).first->second;
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace

Result<PlacementReport> PlacementOf(const Model& model) {
  bool is_static = true;
  for (const deputy::TensorInfo& input : model.inputs()) {
    if (!input.ranked)
      return Status(StatusCode::kNotSupported, "the rank of '" + input.name + "' is not known before the run");
    is_static = is_static && std::all_of(input.shape.begin(), input.shape.end(), [](int64_t e) { return e >= 0; });
  }
  if (is_static) return model.Placement();
  Status first;
  for (const int64_t extent : {16, 1, 64, 256, 640}) {
    Result<PlacementReport> placed = model.Placement(ShapesWith(model.inputs(), extent));
    if (placed.ok()) return placed;
    if (first.ok()) first = std::move(placed).status();
  }
  return first;
}

Result<Planner::Search> Planner::Begin(const Graph& graph) const {
  const size_t count = graph.nodes.size();
  Search search{graph, Readers(count), std::vector<bool>(count, false), std::vector<std::string>(count)};
  std::vector<size_t> producers(graph.values.size(), kNone);
  for (size_t i = 0; i < count; ++i) {
    const Node& node = graph.nodes[i];
    for (const std::vector<size_t>* list : {&node.inputs, &node.captured})
      for (const size_t value : *list)
        if (value != kNone && producers[value] != kNone) search.readers[producers[value]].push_back(i);
    for (const size_t value : node.outputs) {
      if (value == kNone) continue;
      producers[value] = i;
    }
    search.reasons[i] = ObstacleOf(graph, node, deputy_.has_cpu);
    const auto is_given = [&](size_t value) { return value == kNone || graph.values[value].is_constant; };
    if (!gives_captured_ && !std::all_of(node.captured.begin(), node.captured.end(), is_given))
      search.reasons[i] = "this version of ONNX Runtime does not pass what its subgraphs read";
    search.is_taken[i] = search.reasons[i].empty();
  }
  // What a node reads is made before it: checked, since the subsets rely on it.
  std::vector<bool> is_made(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (const std::vector<size_t>* list : {&node.inputs, &node.captured})
      for (const size_t value : *list)
        if (value != kNone && producers[value] != kNone && !is_made[value])
          return Status(StatusCode::kModel, "the nodes are not in topological order").At("node '" + node.name + "'");
    for (const size_t value : node.outputs)
      if (value != kNone) is_made[value] = true;
  }
  return search;
}

Result<Model> Planner::Build(const Graph& graph, const std::vector<size_t>& nodes, bool for_placing) {
  DEPUTY_ASSIGN_OR_RETURN(const WrittenModel written, WriteModel(graph, nodes));
  const bool is_apart = for_placing && deputy_.placing.has_value();
  const std::string key = (is_apart ? "p" : "r") + written.key();
  recent_.insert(key);
  if (const auto found = models_.find(key); found != models_.end()) return found->second;
  const std::string bytes = written.Bytes();
  Model model;
  DEPUTY_RETURN_IF_ERROR(
      model.Build(bytes.data(), bytes.size(), deputy::ModelType::kOnnx, is_apart ? *deputy_.placing : deputy_.context));
  models_.emplace(key, model);
  return model;
}

void Planner::LeaveWrong(Search& search, const std::vector<size_t>& subset, const Status& failure, bool for_placing) {
  bool found = subset.size() == 1;
  if (found) search.Leave(subset[0], failure.ToString());
  for (size_t i = 0; subset.size() > 1 && i < subset.size(); ++i) {
    const Result<Model> alone = Build(search.graph, {subset[i]}, for_placing);
    if (alone.ok()) continue;
    search.Leave(subset[i], alone.status().ToString());
    found = true;
  }
  // Each can be built alone, but not all together.
  if (!found)
    for (const size_t node : subset) search.Leave(node, failure.ToString());
}

std::vector<std::vector<size_t>> Planner::Buildable(Search& search, bool for_placing) {
  for (;;) {
    recent_.clear();
    std::vector<std::vector<size_t>> subsets = ConvexSubsets(search.readers, search.is_taken);
    bool all_built = true;
    for (const std::vector<size_t>& subset : subsets) {
      const Result<Model> model = Build(search.graph, subset, for_placing);
      if (model.ok()) continue;
      all_built = false;
      LeaveWrong(search, subset, model.status(), for_placing);
    }
    if (all_built) return subsets;
  }
}

bool Planner::LeaveCpuNodes(Search& search, const std::vector<size_t>& subset, bool for_placing,
                            std::vector<bool>& owned) {
  Result<PlacementReport> placed = Status(StatusCode::kInternal, "not built");
  if (Result<Model> model = Build(search.graph, subset, for_placing); model.ok())
    placed = PlacementOf(*model);
  else
    placed = std::move(model).status();
  if (!placed.ok()) {
    for (const size_t node : subset) search.Leave(node, placed.status().ToString());
    return true;
  }
  std::map<std::string, std::vector<const NodeReport*>> made;  // of a node, by its name
  for (const size_t i : subset) made[search.graph.nodes[i].name];
  for (const NodeReport& node : placed->nodes) {
    // A node that an older definition was rewritten to has its name with ".suffix".
    std::string name = node.name;
    while (made.count(name) == 0 && name.find('.') != std::string::npos) name.resize(name.rfind('.'));
    if (const auto found = made.find(name); found != made.end()) found->second.push_back(&node);
  }
  bool any = false;
  for (const size_t i : subset) {
    owned[i] = false;  // stays so where it was folded into others
    for (const NodeReport* node : made[search.graph.nodes[i].name]) {
      if (node->delegate != kCpu) {
        owned[i] = true;
        continue;
      }
      search.Leave(i, ReasonOf(*node));
      any = true;
    }
  }
  return any;
}

Result<Claims> Planner::Claim(const Graph& graph) {
  DEPUTY_ASSIGN_OR_RETURN(Search search, Begin(graph));
  Claims claims;
  if (deputy_.has_cpu) {
    claims.subsets = Buildable(search, false);
  } else {
    std::vector<bool> owned(graph.nodes.size(), false);
    for (const std::vector<size_t>& subset : Buildable(search, true)) LeaveCpuNodes(search, subset, true, owned);
    for (int round = 0;; ++round) {
      claims.subsets = ConvexSubsets(search.readers, search.is_taken);
      bool any_left = false;
      for (const std::vector<size_t>& subset : claims.subsets) {
        if (std::none_of(subset.begin(), subset.end(), [&](size_t node) { return owned[node]; })) {
          for (const size_t node : subset) search.Leave(node, "no delegate has it or a neighbour");
          any_left = true;
        } else if (round < kMostRounds) {
          any_left = LeaveCpuNodes(search, subset, false, owned) || any_left;
        }
      }
      if (!any_left) break;
    }
    // What the last rounds have left is built.
    claims.subsets = Buildable(search, false);
  }
  std::erase_if(models_, [this](const auto& model) { return recent_.count(model.first) == 0; });
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!search.is_taken[i] && graph.nodes[i].provider != kProviderName)
      claims.left.push_back(
          {graph.nodes[i].name, graph.nodes[i].op_type, search.reasons[i], !graph.nodes[i].provider.empty()});
  return claims;
}

Result<Model> Planner::ModelOf(const Graph& graph) {
  std::vector<size_t> all(graph.nodes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return Build(graph, all, false);
}

}  // namespace ort_ep
