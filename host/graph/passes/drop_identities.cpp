#include <algorithm>

#include "graph/passes/constants.hpp"
#include "graph/passes/editor.hpp"
#include "graph/passes/passes.hpp"

namespace deputy::host {
namespace {

bool AllZero(const std::optional<std::vector<int64_t>>& ints) {
  return ints && std::all_of(ints->begin(), ints->end(), [](int64_t value) { return value == 0; });
}

bool AllPositive(const std::optional<std::vector<int64_t>>& ints) {
  return ints && std::all_of(ints->begin(), ints->end(), [](int64_t value) { return value > 0; });
}

bool KeepsOrder(const Primitive& primitive, size_t rank) {
  const std::span<const int64_t> perm = primitive.GetInts("perm");
  if (!primitive.Has("perm")) return rank <= 1;
  for (size_t i = 0; i < perm.size(); ++i) {
    const int64_t axis = perm[i] < 0 ? perm[i] + static_cast<int64_t>(perm.size()) : perm[i];
    if (axis != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Operators whose output has the elements of their input in the same order, for any shape.
bool OnlyReshapes(OpKind kind) {
  return kind == OpKind::kReshape || kind == OpKind::kFlatten || kind == OpKind::kSqueeze || kind == OpKind::kUnsqueeze;
}

class Dropper {
 public:
  explicit Dropper(Graph& graph) : editor_(graph) {}

  void Run() {
    for (NodeId id = 0; id < editor_.graph().nodes.size(); ++id) {
      Node& node = editor_.node(id);
      editor_.ResolveReads(node);
      if (node.outputs.empty() || node.outputs[0] == kNone) continue;
      const ValueId source = SourceOf(node);
      if (source != kNone && !MoreOutputsAreRead(node)) editor_.Bypass(id, source);
    }
    editor_.Finish();
  }

 private:
  bool MoreOutputsAreRead(const Node& node) const {
    return std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                       [&](ValueId id) { return id != kNone && editor_.uses(id) != 0; });
  }

  const ValueType& TypeOf(ValueId id) const { return editor_.value(id).type; }
  const Tensor* Constant(const Node& node, size_t i) const { return ConstantInput(graph(), node, i); }
  const Graph& graph() const { return editor_.graph(); }

  // The value that the node's first output always equals; kNone for a computed one.
  ValueId SourceOf(const Node& node) {
    if (node.kind() == OpKind::kOther || node.inputs.empty() || node.inputs[0] == kNone) return kNone;
    const ValueId input = node.inputs[0];
    const ValueType &from = TypeOf(input), &to = TypeOf(node.outputs[0]);
    const bool same = from.dtype == to.dtype && SameExtents(from, to);
    switch (node.kind()) {
      case OpKind::kIdentity: return input;
      case OpKind::kDropout: return IsInference(node) ? input : kNone;
      case OpKind::kCast:
      case OpKind::kCastLike: return from.dtype != DType::kUndefined && from.dtype == to.dtype ? input : kNone;
      case OpKind::kTranspose: return from.ranked && KeepsOrder(node.primitive, from.dims.size()) ? input : kNone;
      case OpKind::kFlatten:
      case OpKind::kReshape:
      case OpKind::kSqueeze:
      case OpKind::kUnsqueeze: return same ? input : Undone(node);
      case OpKind::kExpand: return same && (IsGivenWhole(from) || TargetIsCertain(node)) ? input : kNone;
      case OpKind::kTile: return same ? input : kNone;
      case OpKind::kSlice:
        return same && (!HasInput(node, 4) || AllPositive(IntsOf(Constant(node, 4)))) ? input : kNone;
      case OpKind::kPad: return AllZero(IntsOf(Constant(node, 1))) ? input : kNone;
      case OpKind::kClip: return !HasInput(node, 1) && !HasInput(node, 2) && IsNewClip(node) ? input : kNone;
      case OpKind::kConcat:
      case OpKind::kMax:
      case OpKind::kMean:
      case OpKind::kMin:
      case OpKind::kSum: return node.inputs.size() == 1 ? input : kNone;
      case OpKind::kSplit: return node.outputs.size() == 1 && same && TargetIsCertain(node) ? input : kNone;
      case OpKind::kAdd: {
        const ValueId left = Neutral(node, 1, -0.0) ? input : kNone;
        return left == kNone && Neutral(node, 0, -0.0) ? node.inputs[1] : left;
      }
      case OpKind::kSub: return Neutral(node, 1, 0.0) ? input : kNone;
      case OpKind::kMul: {
        const ValueId left = Neutral(node, 1, 1) ? input : kNone;
        return left == kNone && Neutral(node, 0, 1) ? node.inputs[1] : left;
      }
      case OpKind::kDiv: return Neutral(node, 1, 1) ? input : kNone;
      default: return kNone;
    }
  }

  // Whether the elements of input 1 are known, or are not needed. The extents of an output alone do not tell: an extent
  // above 1 stays in an Expand to a shape that is not known, which may not be valid.
  bool TargetIsCertain(const Node& node) const { return !HasInput(node, 1) || Constant(node, 1) != nullptr; }

  // Whether an Expand of the same extents has been given each of them: an unknown one would not stay.
  static bool IsGivenWhole(const ValueType& type) {
    return std::all_of(type.dims.begin(), type.dims.end(), [](int64_t dim) { return dim < 0 || dim == 1; });
  }

  bool IsInference(const Node& node) const {
    if (node.primitive.since_version() < 12) return false;  // of another form
    if (!HasInput(node, 2)) return true;
    const Tensor* training = Constant(node, 2);
    return training != nullptr && training->dtype() == DType::kBool && training->byte_size() == 1 &&
           training->values<uint8_t>()[0] == 0;
  }

  static bool IsNewClip(const Node& node) { return !node.primitive.Has("min") && !node.primitive.Has("max"); }

  // Whether operand `i` of a binary node changes nothing: every element is `number`, and broadcasting adds no extent.
  bool Neutral(const Node& node, size_t i, double number) const {
    if (node.inputs.size() != 2 || !HasInput(node, 1 - i)) return false;
    const Tensor* constant = Constant(node, i);
    if (constant == nullptr || !IsAll(*constant, number)) return false;
    const ValueType &other = TypeOf(node.inputs[1 - i]), &output = TypeOf(node.outputs[0]);
    if (!other.ranked || other.dtype != constant->dtype()) return false;
    const bool one = constant->element_count() == 1 && constant->shape().size() <= other.dims.size();
    return one || SameExtents(other, output);
  }

  // For the second of two reshaping nodes: the first one's input, when its shape is restored.
  ValueId Undone(const Node& node) {
    const NodeId maker = editor_.producer(node.inputs[0]);
    if (maker == kNone || editor_.removed(maker) || !OnlyReshapes(graph().nodes[maker].kind())) return kNone;
    const ValueId source = editor_.Resolve(graph().nodes[maker].inputs[0]);
    const ValueType &from = TypeOf(source), &to = TypeOf(node.outputs[0]);
    return from.dtype == to.dtype && SameExtents(from, to) ? source : kNone;
  }

  GraphEditor editor_;
};

}  // namespace

void DropIdentities(Graph& graph) { Dropper(graph).Run(); }

}  // namespace deputy::host
