// The changes of graphs for plugins.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "deputy/sdk/operator_checks.hpp"
#include "fuzz/plugin_graph.hpp"

namespace deputy::fuzz {
namespace {

using Attribute = PluginGraph::Attribute;
using Kind = PluginGraph::Kind;
using Node = PluginGraph::Node;
using Role = PluginGraph::Role;
using Value = PluginGraph::Value;

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                4,
                                5,
                                7,
                                8,
                                16,
                                17,
                                64,
                                127,
                                255,
                                256,
                                1 << 16,
                                1 << 20,
                                INT32_MAX,
                                INT64_C(1) << 31,
                                INT64_C(1) << 32,
                                INT64_C(1) << 40,
                                INT64_C(1) << 62,
                                INT64_MAX,
                                INT64_MIN,
                                INT32_MIN,
                                -2,
                                -3};
constexpr float kFloats[] = {0, 1, -1, 0.5f, 1e-38f, 1e38f, -1e38f, INFINITY, -INFINITY, NAN, 1e-45f, 255, 127.5f};
constexpr const char* kWords[] = {"NOTSET",     "VALID",      "SAME_UPPER",    "SAME_LOWER", "constant", "reflect",
                                  "edge",       "DCR",        "CRD",           "nearest",    "linear",   "cubic",
                                  "half_pixel", "asymmetric", "align_corners", "floor",      "ceil",     "tanh",
                                  "none",       "",           "unknown"};
constexpr const char* kNames[] = {"strides",
                                  "dilations",
                                  "pads",
                                  "kernel_shape",
                                  "group",
                                  "auto_pad",
                                  "axis",
                                  "axes",
                                  "perm",
                                  "output_padding",
                                  "output_shape",
                                  "ceil_mode",
                                  "count_include_pad",
                                  "alpha",
                                  "beta",
                                  "epsilon",
                                  "transA",
                                  "transB",
                                  "blocksize",
                                  "mode",
                                  "keepdims",
                                  "min",
                                  "max",
                                  "noop_with_empty_axes",
                                  "storage_order",
                                  "size",
                                  "bias",
                                  "split",
                                  "value",
                                  "coordinate_transformation_mode",
                                  "nearest_mode",
                                  "block_size",
                                  "training_mode",
                                  "spatial",
                                  "broadcast",
                                  "approximate",
                                  "num_outputs",
                                  "slope",
                                  "starts",
                                  "ends"};

int64_t NumberNear(int64_t number, Random& random) {
  if (random.OneIn(2)) return random.Of(kNumbers);
  return static_cast<int64_t>(static_cast<uint64_t>(number) + random.Below(5) - 2);
}

// A list grows, shrinks or has another number.
template <class Number, class Make>
void ChangeList(std::vector<Number>& list, const Make& make, Random& random) {
  switch (random.Below(6)) {
    case 0: list.clear(); break;
    case 1:
      if (!list.empty()) list.pop_back();
      break;
    case 2: list.push_back(list.empty() ? make(Number{1}) : list.back()); break;
    case 3:
      if (list.size() <= 8) list.insert(list.end(), list.begin(), list.begin() + static_cast<ptrdiff_t>(list.size()));
      break;
    default:
      if (!list.empty()) {
        Number& number = random.Of(list);
        number = make(number);
      }
  }
}

void ChangeAttribute(Node& node, Random& random) {
  const auto any = [&] {
    return Attribute{random.Of(kNames), static_cast<Kind>(random.Below(5)), {1, 1}, {1}, "VALID"};
  };
  if (node.attributes.empty() || random.OneIn(8)) {
    node.attributes.push_back(any());
    return;
  }
  const size_t at = random.Below(node.attributes.size());
  Attribute& attribute = node.attributes[at];
  if (random.OneIn(8)) {
    node.attributes.erase(node.attributes.begin() + static_cast<ptrdiff_t>(at));
    return;
  }
  if (random.OneIn(8)) {
    attribute.kind = static_cast<Kind>(random.Below(5));
    return;
  }
  const auto number = [&](int64_t old) { return NumberNear(old, random); };
  const auto real = [&](float) { return random.Of(kFloats); };
  switch (attribute.kind) {
    case Kind::kInt: attribute.ints.assign(1, number(attribute.ints.empty() ? 0 : attribute.ints[0])); break;
    case Kind::kInts: ChangeList(attribute.ints, number, random); break;
    case Kind::kFloat: attribute.floats.assign(1, real(0)); break;
    case Kind::kFloats: ChangeList(attribute.floats, real, random); break;
    case Kind::kString: attribute.text = random.Of(kWords); break;
  }
}

void ChangeValue(Value& value, Random& random) {
  constexpr std::array<int32_t, 8> kUsual{1, 2, 3, 6, 7, 9, 10, 11};
  switch (random.Below(8)) {
    case 0: value.dtype = random.Of(kUsual); break;
    case 1: value.dtype = static_cast<int32_t>(random.Below(27)); break;
    case 2: value.ranked = random.OneIn(2); break;
    case 3: value.null = !value.null; break;
    case 4: value.bytes = random.OneIn(2) ? std::optional<uint64_t>(random.Below(300)) : std::nullopt; break;
    case 5: {
      const auto number = [&](double old) {
        if (random.OneIn(3)) return static_cast<double>(random.Of(kFloats));
        return old + static_cast<double>(random.Below(5)) - 2;
      };
      ChangeList(value.numbers, number, random);
      break;
    }
    default:
      ChangeList(
          value.dims, [&](int64_t old) { return NumberNear(old, random); }, random);
  }
}

void ChangeOperands(PluginGraph& graph, Node& node, Random& random) {
  std::vector<size_t>& list = random.OneIn(4) ? node.outputs : node.inputs;
  const auto any = [&] { return random.OneIn(4) ? PluginGraph::kNone : random.Below(graph.values.size()); };
  switch (random.Below(5)) {
    case 0:
      if (!list.empty()) list.pop_back();
      break;
    case 1:
      if (list.size() < 8) list.push_back(any());
      break;
    case 2:
      if (list.size() > 1) std::swap(random.Of(list), random.Of(list));
      break;
    default:
      if (!list.empty()) random.Of(list) = any();
  }
}

void ChangeRole(Value& value, Random& random) {
  constexpr Role kAll[] = {Role::kInput, Role::kConstant, Role::kInner, Role::kOutput};
  value.role = random.Of(kAll);
}

void ChangeNode(Node& node, Random& random) {
  if (random.OneIn(3))
    node.op = random.Of(sdk::checks::kRules).type;
  else
    node.version = static_cast<int32_t>(random.Below(26));
}

// A valid graph stays valid, mostly: one extent becomes another one wherever it is.
void ChangeExtent(PluginGraph& graph, Random& random) {
  const Value& value = random.Of(graph.values);
  if (value.dims.empty()) return;
  const int64_t from = random.Of(value.dims),
                to = random.OneIn(8) ? random.Of(kNumbers) : 1 + static_cast<int64_t>(random.Below(40));
  for (Value& other : graph.values) std::replace(other.dims.begin(), other.dims.end(), from, to);
}

// Another operator behind a value, as fusion looks for them.
void Append(PluginGraph& graph, Random& random) {
  if (graph.values.size() > 40 || graph.nodes.size() > 20) return;
  constexpr const char* kOne[] = {"Relu", "Sigmoid", "Tanh", "Abs", "Erf", "Sqrt", "Neg", "Identity", "Exp"};
  constexpr const char* kTwo[] = {"Add", "Mul", "Sub", "Div", "Max"};
  const size_t x = random.Below(graph.values.size());
  Value made = graph.values[x];
  made.name = "a" + std::to_string(graph.values.size());
  made.role = Role::kOutput;
  made.numbers.clear();
  if (graph.values[x].role == Role::kOutput && random.OneIn(2)) graph.values[x].role = Role::kInner;
  Node node{random.OneIn(2) ? random.Of(kOne) : random.Of(kTwo), "", 13, {x}, {graph.values.size()}, {}};
  for (const char* two : kTwo)
    if (node.op == two) node.inputs.push_back(random.OneIn(2) ? x : random.Below(graph.values.size()));
  graph.values.push_back(std::move(made));
  graph.nodes.push_back(std::move(node));
}

}  // namespace

void ChangePluginGraph(PluginGraph& graph, Random& random) {
  if (graph.values.empty() || graph.nodes.empty()) return;
  Node& node = random.Of(graph.nodes);
  switch (random.Below(12)) {
    case 0:
    case 1:
    case 2: return ChangeAttribute(node, random);
    case 3:
    case 4:
    case 5: return ChangeValue(random.Of(graph.values), random);
    case 6: return ChangeOperands(graph, node, random);
    case 7: return ChangeRole(random.Of(graph.values), random);
    case 8: return ChangeNode(node, random);
    case 9: return Append(graph, random);
    default: return ChangeExtent(graph, random);
  }
}

}  // namespace deputy::fuzz
