#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/passes/passes.hpp"

namespace deputy::host {
namespace {

using Permutation = std::vector<int64_t>;

bool IsBinary(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kDiv:
    case OpKind::kMul:
    case OpKind::kPow:
    case OpKind::kSub: return true;
    default: return false;
  }
}

std::optional<Permutation> PermutationOf(const Node& node, const ValueType& input) {
  const std::span<const int64_t> perm = node.primitive.GetInts("perm");
  Permutation axes(perm.begin(), perm.end());
  if (!node.primitive.Has("perm")) {
    if (!input.ranked) return std::nullopt;
    for (size_t i = input.dims.size(); i-- > 0;) axes.push_back(static_cast<int64_t>(i));
  }
  for (int64_t& axis : axes)
    if (axis < 0) axis += static_cast<int64_t>(axes.size());
  return axes;
}

bool IsIdentity(const Permutation& perm) {
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return true;
}

// First `a`, then `b`.
Permutation Compose(const Permutation& a, const Permutation& b) {
  Permutation both;
  for (const int64_t axis : b) both.push_back(a[static_cast<size_t>(axis)]);
  return both;
}

// The type before the permutation, from the one after it.
ValueType Before(const ValueType& after, const Permutation& perm) {
  ValueType before = after;
  if (after.ranked && after.dims.size() == perm.size())
    for (size_t i = 0; i < perm.size(); ++i) before.dims[static_cast<size_t>(perm[i])] = after.dims[i];
  return before;
}

// Holds Transposes back until a node needs their outputs. `Held` says how a value would be made; a Transpose of a held
// value and an elementwise node on one are held in turn.
class Canceller {
 public:
  explicit Canceller(Graph& graph)
      : graph_(graph), uses_(graph.values.size(), 0), outputs_(graph.values.size(), 0), instead_(graph.values.size()) {
    for (const Node& node : graph.nodes) node.ForEachRead([&](ValueId id) { ++uses_[id]; });
    for (const ValueId id : graph.outputs) {
      ++uses_[id];
      outputs_[id] = 1;
    }
    for (ValueId id = 0; id < instead_.size(); ++id) instead_[id] = id;
  }

  void Run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    graph_.nodes.reserve(nodes.size());
    for (Node& node : nodes) Visit(std::move(node));
  }

 private:
  struct Held {
    ValueId base;  // never held itself
    Permutation perm;
    std::string name;     // of the Transpose
    Primitive primitive;  // reused when the permutation is unchanged
    bool own;
    bool made = false;  // the Transpose is in the graph; later ones may still start at the base
  };

  void Visit(Node node) {
    for (ValueId& id : node.inputs) id = id == kNone ? kNone : instead_[id];
    for (Region& region : node.regions)
      for (ValueId& id : region.captures) id = instead_[id];
    if (node.kind() == OpKind::kTranspose && Hold(node)) return;
    if (MoveBefore(node)) return;
    node.ForEachRead([&](ValueId id) { Make(id); });
    graph_.nodes.push_back(std::move(node));
  }

  bool Hold(const Node& node) {
    const ValueId input = node.inputs[0], output = node.outputs.empty() ? kNone : node.outputs[0];
    if (output == kNone) return false;
    std::optional<Permutation> perm = PermutationOf(node, graph_.values[input].type);
    if (!perm) return false;
    Held held{input, std::move(*perm), node.name, node.primitive, true};
    const auto before = held_.find(input);
    if (before != held_.end()) {
      if (before->second.perm.size() != held.perm.size()) return false;
      --uses_[input];
      held = {before->second.base, Compose(before->second.perm, held.perm), node.name, node.primitive, false};
      if (IsIdentity(held.perm) && !outputs_[output]) {
        instead_[output] = held.base;
        uses_[held.base] += uses_[output];
        return true;
      }
    }
    held_.insert_or_assign(output, std::move(held));
    if (outputs_[output]) Make(output);
    return true;
  }

  // An elementwise node on held values is computed on their bases; its result is held.
  bool MoveBefore(Node& node) {
    const bool unary = IsUnary(node.kind()) && !node.inputs.empty();
    const bool binary = IsBinary(node.kind()) && node.inputs.size() == 2;
    if ((!unary && !binary) || node.outputs.size() != 1 || node.outputs[0] == kNone) return false;
    const auto held = [&](size_t i) { return HeldOnce(node.inputs[i]); };
    const Held* first = held(0);
    const Held* second = binary ? held(1) : nullptr;
    if (first == nullptr && second == nullptr) return false;
    if (binary && !(first != nullptr && second != nullptr && first->perm == second->perm) &&
        !(first != nullptr && IsOneNumber(node.inputs[1], first->perm.size())) &&
        !(second != nullptr && IsOneNumber(node.inputs[0], second->perm.size())))
      return false;
    for (const ValueId id : node.inputs) {
      const auto found = held_.find(id);
      if (found != held_.end() && !found->second.made && HeldOnce(id) == nullptr) return false;
    }
    Held result = first != nullptr ? *first : *second;
    const ValueId output = node.outputs[0];
    for (ValueId& id : node.inputs) {
      const auto found = held_.find(id);
      if (found != held_.end() && !found->second.made) id = found->second.base;
    }
    const Value& made = graph_.values[output];
    result.base = AddValue(made.name + "/before_transpose", Before(made.type, result.perm));
    node.outputs[0] = result.base;
    graph_.nodes.push_back(std::move(node));
    held_.insert_or_assign(output, std::move(result));
    if (outputs_[output]) Make(output);
    return true;
  }

  // The held value of an operand without other readers.
  const Held* HeldOnce(ValueId id) const {
    const auto found = id == kNone ? held_.end() : held_.find(id);
    return found != held_.end() && uses_[id] == 1 && !found->second.made ? &found->second : nullptr;
  }

  bool IsOneNumber(ValueId id, size_t rank) const {
    const Value& value = graph_.values[id];
    return value.is_constant() && value.constant.element_count() == 1 && value.type.dims.size() <= rank;
  }

  // Keeps the Transpose.
  void Make(ValueId id) {
    const auto found = held_.find(id);
    if (found == held_.end() || found->second.made) return;
    Held& held = found->second;
    held.made = true;
    Node& node = graph_.nodes.emplace_back();
    node.name = held.name;
    const bool nothing = IsIdentity(held.perm) && !held.own;
    node.primitive = held.own  ? held.primitive
                     : nothing ? PrimitiveBuilder("", "Identity", 1).Finish()
                               : PrimitiveBuilder(held.primitive).Set("perm", held.perm).Finish();
    node.inputs = {held.base};
    node.outputs = {id};
  }

  ValueId AddValue(std::string name, ValueType type) {
    const ValueId id = graph_.AddValue(std::move(name), std::move(type));
    uses_.push_back(1);
    outputs_.push_back(0);
    instead_.push_back(id);
    return id;
  }

  Graph& graph_;
  std::vector<uint32_t> uses_;
  std::vector<uint8_t> outputs_;
  std::vector<ValueId> instead_;  // the value itself, or the input of two cancelled Transposes
  std::unordered_map<ValueId, Held> held_;
};

}  // namespace

void CancelTransposes(Graph& graph) {
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(),
                  [](const Node& node) { return node.kind() == OpKind::kTranspose; }))
    Canceller(graph).Run();
}

}  // namespace deputy::host
