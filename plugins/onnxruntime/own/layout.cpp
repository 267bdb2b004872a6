#include "own/layout.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "deputy/sdk/dtype.hpp"

namespace ort::own {
namespace {

bool IsOneOf(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool IsQuantizing(const ModelNode& node) { return IsOneOf(node.type, {"QuantizeLinear", "DequantizeLinear"}); }

// Of one input, each element alone; further inputs are scalars.
bool IsUnary(const ModelNode& node) {
  return node.domain.empty() &&
         IsOneOf(node.type, {"Abs",       "Cast", "Ceil",           "Celu", "Clip",        "Cos",        "Elu",
                             "Erf",       "Exp",  "Floor",          "Gelu", "HardSigmoid", "HardSwish",  "Identity",
                             "LeakyRelu", "Log",  "Mish",           "Neg",  "Not",         "Reciprocal", "Relu",
                             "Round",     "Selu", "Sigmoid",        "Sign", "Sin",         "Softplus",   "Softsign",
                             "Sqrt",      "Tanh", "ThresholdedRelu"});
}

bool IsBinary(const ModelNode& node) {
  return node.domain.empty() && IsOneOf(node.type, {"Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu"});
}

// result[i] = from[order[i]].
std::vector<int64_t> Permuted(const std::vector<int64_t>& from, const std::vector<int64_t>& order) {
  std::vector<int64_t> result;
  for (const int64_t axis : order) result.push_back(from[static_cast<size_t>(axis)]);
  return result;
}
std::vector<int64_t> ToLast(size_t rank) {
  std::vector<int64_t> order{0};
  for (size_t axis = 2; axis < rank; ++axis) order.push_back(static_cast<int64_t>(axis));
  order.push_back(1);
  return order;
}
std::vector<int64_t> ToFirst(size_t rank) {
  std::vector<int64_t> order{0, static_cast<int64_t>(rank) - 1};
  for (size_t axis = 1; axis + 1 < rank; ++axis) order.push_back(static_cast<int64_t>(axis));
  return order;
}
// Where an axis is when the channels are last.
int64_t AxisWhenLast(int64_t axis, size_t rank) {
  if (axis < 0) axis += static_cast<int64_t>(rank);
  return axis == 0 ? 0 : axis == 1 ? static_cast<int64_t>(rank) - 1 : axis - 1;
}

class Rewriting {
 public:
  Rewriting(Model& model, const std::function<bool(const ModelNode&)>& is_wished)
      : model_(model), is_wished_(is_wished), last_(model.values().size(), kNone), has_first_(last_.size(), true) {
    for (const ModelNode& node : model.nodes())
      for (const size_t output : node.outputs)
        if (output != kNone) has_first_[output] = false;
  }

  void Run() {
    const std::vector<ModelNode> nodes = model_.TakeNodes();
    for (const ModelNode& node : nodes)
      if (!AddWished(node) && !AddFollowing(node)) AddAsItIs(node);
    for (size_t value = 0; value < last_.size(); ++value)
      if (model_.values()[value].is_read_outside && last_[value] != kNone) First(value);
    RemoveUnread();
    model_.SetNodes(std::move(nodes_));
  }

 private:
  const ModelValue& At(size_t value) const { return model_.values()[value]; }
  const std::vector<int64_t>& Dims(size_t value) const { return At(value).type.tensor.dims; }
  size_t Rank(size_t value) const { return Dims(value).size(); }
  bool IsConstant(size_t value) const { return At(value).constant != nullptr; }
  bool IsScalar(size_t value) const {
    return std::all_of(Dims(value).begin(), Dims(value).end(), [](int64_t extent) { return extent == 1; }) &&
           Rank(value) <= 1;
  }

  size_t NewValue(const std::string& name, ElementType type, std::vector<int64_t> dims) {
    last_.push_back(kNone);
    has_first_.push_back(true);
    return model_.NewValue(name, type, std::move(dims));
  }
  // A value for the other order of this one's axes.
  size_t NewLast(size_t value) {
    return NewValue(At(value).name + "_nhwc", At(value).type.tensor.type, Permuted(Dims(value), ToLast(Rank(value))));
  }

  void AddTranspose(size_t from, size_t to, std::vector<int64_t> order) {
    ModelNode transpose;
    transpose.name = model_.NewNodeName(At(to).name + "_transpose");
    transpose.type = "Transpose";
    transpose.since_version = 13;
    transpose.inputs = {from};
    transpose.outputs = {to};
    OpAttr perm{"perm", kIntsAttribute};
    perm.numbers = std::move(order);
    transpose.attributes.push_back(std::move(perm));
    Add(std::move(transpose));
  }
  void Add(ModelNode node) {
    for (const size_t output : node.outputs)
      if (output != kNone) {
        if (maker_.size() <= output) maker_.resize(output + 1, kNone);
        maker_[output] = nodes_.size();
      }
    nodes_.push_back(std::move(node));
  }

  // The value with its axes as they were.
  size_t First(size_t value) {
    if (value == kNone || has_first_[value]) return value;
    AddTranspose(last_[value], value, ToFirst(Rank(value)));
    has_first_[value] = true;
    return value;
  }
  // The value with its channels last. Quantization of whole tensors follows, so that it stays beside the operator.
  size_t Last(size_t value) {
    if (last_[value] != kNone) return last_[value];
    const size_t maker = value < maker_.size() ? maker_[value] : kNone;
    if (maker != kNone && IsQuantizing(nodes_[maker]) && IsScalar(nodes_[maker].inputs[1])) {
      ModelNode copy = nodes_[maker];
      copy.name = model_.NewNodeName(copy.name + "_nhwc");
      copy.inputs[0] = Last(copy.inputs[0]);
      last_[value] = NewLast(value);
      copy.outputs[0] = last_[value];
      Add(std::move(copy));
      return last_[value];
    }
    const size_t made = NewLast(value);
    last_[value] = made;
    AddTranspose(value, made, ToLast(Rank(value)));
    return made;
  }

  // A constant with its elements in the other order, its axes counted from the last of `rank`.
  std::optional<size_t> LastConstant(size_t value, size_t rank) {
    std::vector<int64_t> dims = Dims(value);
    const size_t size = deputy::sdk::SizeOf(static_cast<deputy::sdk::DType>(ToOnnx(At(value).type.tensor.type)));
    const Value* constant = model_.Constant(value);
    if (size == 0 || constant == nullptr || dims.size() > rank) return std::nullopt;
    dims.insert(dims.begin(), rank - dims.size(), 1);
    const std::vector<int64_t> order = ToLast(rank);
    std::vector<size_t> strides(rank, 1);
    for (size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * static_cast<size_t>(dims[axis]);
    Memory memory = Allocate(constant->bytes);
    if (memory == nullptr) return std::nullopt;
    const std::vector<int64_t> to = Permuted(dims, order);
    std::vector<int64_t> at(rank, 0);
    auto* out = static_cast<char*>(memory.get());
    for (size_t done = 0; done + size <= constant->bytes; done += size) {
      size_t from = 0;
      for (size_t axis = 0; axis < rank; ++axis)
        from += static_cast<size_t>(at[axis]) * strides[static_cast<size_t>(order[axis])];
      std::memcpy(out + done, static_cast<const char*>(constant->data) + from * size, size);
      for (size_t axis = rank; axis-- > 0;) {
        if (++at[axis] < to[axis]) break;
        at[axis] = 0;
      }
    }
    return NewConstant(value, to, std::move(memory), constant->bytes);
  }
  // Numbers of one for each axis, in the other order.
  std::optional<size_t> LastOfEachAxis(size_t value) {
    const size_t size = deputy::sdk::SizeOf(static_cast<deputy::sdk::DType>(ToOnnx(At(value).type.tensor.type)));
    const Value* constant = IsConstant(value) ? model_.Constant(value) : nullptr;
    if (constant == nullptr || size == 0) return std::nullopt;
    const size_t rank = constant->bytes / size;
    Memory memory = Allocate(constant->bytes);
    if (memory == nullptr || rank < 3) return std::nullopt;
    const std::vector<int64_t> order = ToLast(rank);
    for (size_t axis = 0; axis < rank; ++axis)
      std::memcpy(static_cast<char*>(memory.get()) + axis * size,
                  static_cast<const char*>(constant->data) + static_cast<size_t>(order[axis]) * size, size);
    return NewConstant(value, Dims(value), std::move(memory), constant->bytes);
  }
  size_t NewConstant(size_t like, std::vector<int64_t> dims, Memory memory, size_t bytes) {
    const size_t made = NewValue(At(like).name + "_nhwc", At(like).type.tensor.type, std::move(dims));
    model_.SetConstant(made, std::move(memory), bytes);
    return made;
  }

  // False: the node is not rewritten.
  bool AddWished(const ModelNode& node) {
    if (node.inputs.empty() || node.inputs[0] == kNone || node.outputs.empty() || node.outputs[0] == kNone)
      return false;
    if (Rank(node.inputs[0]) < 3 || Rank(node.outputs[0]) != Rank(node.inputs[0]) || !is_wished_(node)) return false;
    if (std::count_if(node.outputs.begin(), node.outputs.end(), [](size_t value) { return value != kNone; }) != 1)
      return false;
    ModelNode made = node;
    if (IsOneOf(node.type, {"Resize", "Upsample"}) && !SetAxes(made)) return false;
    made.domain = kChannelsLastDomain;
    made.inputs[0] = Last(node.inputs[0]);
    for (size_t i = 1; i < made.inputs.size(); ++i) made.inputs[i] = First(made.inputs[i]);
    AddWithLastOutput(std::move(made));
    return true;
  }
  // The scales and sizes of a Resize, one for each axis or for those of an attribute.
  bool SetAxes(ModelNode& node) {
    const size_t rank = Rank(node.inputs[0]);
    for (OpAttr& attribute : node.attributes)
      if (attribute.name == "axes") {
        for (int64_t& axis : attribute.numbers) axis = AxisWhenLast(axis, rank);
        return true;
      }
    for (size_t i = node.type == "Resize" ? 1 : 0; i + 1 < node.inputs.size(); ++i) {
      const size_t input = i + 1;
      if (node.type == "Resize" && node.since_version >= 11 && input == 1) continue;  // the region of interest
      if (node.inputs[input] == kNone || Dims(node.inputs[input]) == std::vector<int64_t>{0}) continue;
      const std::optional<size_t> made = LastOfEachAxis(node.inputs[input]);
      if (!made) return false;
      node.inputs[input] = *made;
    }
    return true;
  }

  // A node that computes each element alone, in the order that its inputs have. False: it is no such node.
  bool AddFollowing(const ModelNode& node) {
    if (node.inputs.empty() || node.inputs[0] == kNone || node.outputs.size() != 1) return false;
    const bool is_quantizing = IsQuantizing(node) && IsScalar(node.inputs[1]);
    if (IsUnary(node) || is_quantizing) {
      if (!IsOnlyLast(node.inputs[0])) return false;
      ModelNode made = node;
      made.inputs[0] = last_[node.inputs[0]];
      AddWithLastOutput(std::move(made));
      return true;
    }
    if (IsBinary(node)) return AddBinary(node);
    return node.domain.empty() && node.type == "Concat" && AddConcat(node);
  }
  bool IsOnlyLast(size_t value) const { return last_[value] != kNone && !has_first_[value]; }

  bool AddBinary(const ModelNode& node) {
    const size_t rank = Rank(node.outputs[0]);
    bool follows = false;
    for (const size_t input : node.inputs) {
      if (input == kNone) return false;
      if (IsConstant(input)) continue;
      if (last_[input] == kNone || Rank(input) != rank) return false;
      follows |= IsOnlyLast(input);
    }
    if (!follows) return false;
    ModelNode made = node;
    for (size_t& input : made.inputs) {
      if (!IsConstant(input)) {
        input = last_[input];
      } else if (!IsScalar(input)) {
        const std::optional<size_t> constant = LastConstant(input, rank);
        if (!constant) return false;
        input = *constant;
      }
    }
    AddWithLastOutput(std::move(made));
    return true;
  }

  bool AddConcat(const ModelNode& node) {
    const size_t rank = Rank(node.outputs[0]);
    for (const size_t input : node.inputs)
      if (input == kNone || last_[input] == kNone || Rank(input) != rank) return false;
    ModelNode made = node;
    for (size_t& input : made.inputs) input = last_[input];
    for (OpAttr& attribute : made.attributes)
      if (attribute.name == "axis") attribute.number = AxisWhenLast(attribute.number, rank);
    AddWithLastOutput(std::move(made));
    return true;
  }

  void AddWithLastOutput(ModelNode made) {
    const size_t output = made.outputs[0];
    last_[output] = NewLast(output);
    made.outputs[0] = last_[output];
    Add(std::move(made));
  }

  void AddAsItIs(const ModelNode& node) {
    for (const size_t input : node.inputs) First(input);
    for (const size_t output : node.outputs)
      if (output != kNone) has_first_[output] = true;
    Add(node);
  }

  // Nodes of which copies took all readers.
  void RemoveUnread() {
    std::vector<bool> is_read(model_.values().size(), false);
    std::vector<ModelNode> kept;
    for (size_t i = nodes_.size(); i-- > 0;) {
      const bool is_needed = std::any_of(nodes_[i].outputs.begin(), nodes_[i].outputs.end(), [&](size_t value) {
        return value != kNone && (is_read[value] || At(value).is_read_outside);
      });
      if (!is_needed && (IsQuantizing(nodes_[i]) || nodes_[i].type == "Transpose")) continue;
      for (const size_t input : nodes_[i].inputs)
        if (input != kNone) is_read[input] = true;
      kept.push_back(std::move(nodes_[i]));
    }
    std::reverse(kept.begin(), kept.end());
    nodes_ = std::move(kept);
  }

  Model& model_;
  const std::function<bool(const ModelNode&)>& is_wished_;
  std::vector<ModelNode> nodes_;
  std::vector<size_t> last_;     // of each value, the one with its channels last; kNone: there is none
  std::vector<bool> has_first_;  // of each value, whether it is made with its axes as they were
  std::vector<size_t> maker_;    // of each value, the node
};

}  // namespace

bool DependsOnLayout(const ModelNode& node) {
  return node.domain.empty() &&
         IsOneOf(node.type, {"AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace",
                             "GlobalAveragePool", "GlobalMaxPool", "GridSample", "InstanceNormalization", "LRN",
                             "MaxPool", "QLinearConv", "Resize", "SpaceToDepth"});
}

void PutChannelsLast(Model& model, const std::function<bool(const ModelNode&)>& is_wished) {
  Rewriting(model, is_wished).Run();
}

}  // namespace ort::own
