// The check of a node of ONNX against its operator's rules of shapes and attributes, for delegates that compute with
// known extents: CheckOperator. A delegate that calls it at the beginning of Supports and of Compile may then index
// lists and extents, and size its buffers, without further checks of its own.
#pragma once

#include "deputy/sdk/checks.hpp"

namespace deputy::sdk {
namespace checks {

inline Verdict Shape(const char* what) { return Verdict::No(Reason::kShape, what); }
inline Verdict Attribute(const char* what) { return Verdict::No(Reason::kAttribute, what); }
inline Verdict When(bool fits, const char* otherwise) { return fits ? Verdict::Yes() : Shape(otherwise); }

inline Span<const int64_t> In(const NodeView& node, size_t index) {
  return node.input(index).dims();  // the memory is the host's, not the view's
}
inline Span<const int64_t> Out(const NodeView& node, size_t index = 0) { return node.output(index).dims(); }

// Existing, of known extents, at least this rank.
inline bool Known(const ValueView& value, size_t least_rank = 0) {
  return ElementCount(value).has_value() && value.rank() >= least_rank;
}

inline Verdict Same(const NodeView& node) { return When(SameExtents(In(node, 0), Out(node)), "x and y differ"); }

inline Verdict Broadcast(const NodeView& node) {
  std::vector<int64_t> joined;
  if (node.input_count() == 0) return Shape("there is no input");
  // Before definition 7 the second operand may be aligned at an axis instead.
  if (node.Int("broadcast", 0) != 0) return Attribute("broadcast");
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!Known(node.input(i))) return Shape("an operand is missing");
    const auto with = BroadcastOf(joined, In(node, i));
    if (!with) return Shape("the operands do not broadcast");
    joined = *with;
  }
  return When(SameExtents(joined, Out(node)), "the result has not the extents of the operands together");
}

inline Verdict Binary(const NodeView& node) {
  return node.input_count() == 2 ? Broadcast(node) : Shape("there must be two operands");
}

// x and y alike, every further input broadcasts to them.
inline Verdict Parameters(const NodeView& node) {
  for (size_t i = 1; i < node.input_count(); ++i)
    if (node.input(i).exists() && (!Known(node.input(i)) || !BroadcastsTo(In(node, i), Out(node))))
      return Shape("an operand does not broadcast to the result");
  return Same(node);
}

// Optional scalars behind x, as of Clip and Pow.
inline Verdict Scalars(const NodeView& node) {
  for (size_t i = 1; i < node.input_count(); ++i)
    if (node.input(i).exists() && !Known(node.input(i))) return Shape("an input of unknown extents");
  return Same(node);
}

inline Verdict PRelu(const NodeView& node) {
  if (!Known(node.input(1))) return Shape("there is no slope");
  const bool per_channel = node.since_version() < 7;  // also: one for each channel
  if (!per_channel && !BroadcastsTo(In(node, 1), Out(node))) return Shape("the slope does not broadcast to x");
  return Same(node);
}

inline Verdict Convolution(const NodeView& node, bool transposed) {
  const auto x = In(node, 0), w = In(node, 1), y = Out(node);
  if (!Known(node.input(1)) || x.size() < 3 || w.size() != x.size() || y.size() != x.size())
    return Shape("x, W and y must have the same rank of at least 3");
  if (HasOtherKind(node, "group", schema::AttributeType_Int)) return Attribute("group must be an integer");
  const int64_t group = node.Int("group", 1);
  if (group < 1 || x[1] < 1 || w[0] < 1 || w[1] < 1 || x[1] % group != 0 || w[0] % group != 0)
    return Shape("group does not divide the channels");
  const int64_t inputs = transposed ? w[0] : w[1], outputs = transposed ? w[1] : w[0];
  if (x[0] != y[0] || inputs != (transposed ? x[1] : x[1] / group) || y[1] / (transposed ? group : 1) != outputs ||
      (transposed && y[1] % group != 0))
    return Shape("the channels of x, W and y do not match");
  if (node.input(2).exists() && (In(node, 2).size() != 1 || In(node, 2)[0] != y[1]))
    return Shape("B must have one element for each channel of y");
  const size_t rank = x.size() - 2;
  const CheckedWindow checked = WindowOf(node, std::vector<int64_t>(w.begin() + 2, w.end()), rank);
  if (!checked.verdict.supported()) return checked.verdict;
  const SpatialWindow& window = checked.window;
  const auto more = ListOf(node, "output_padding", rank, 0, 0);
  if (transposed && !more) return Attribute("output_padding must have one number for each spatial dimension");
  for (size_t i = 0; i < rank; ++i) {
    if (!transposed) {
      if (!FitsPositions(window, i, x[i + 2], y[i + 2])) return Shape("y has not the number of positions of W over x");
      continue;
    }
    if (x[i + 2] < 1 || x[i + 2] > kLargestStep) return Shape("the extents of x are too large");
    // The extents of other ways of padding are the model's choice.
    const int64_t covered = (x[i + 2] - 1) * window.strides[i] + window.Reach(i);
    const bool written = window.auto_pad == "NOTSET" || window.auto_pad == "VALID";
    if (written && !node.has_attribute("output_shape") &&
        y[i + 2] - (*more)[i] != covered - window.before[i] - window.after[i])
      return Shape("y has not the extents that W makes of x");
  }
  return Verdict::Yes();
}
inline Verdict Conv(const NodeView& node) { return Convolution(node, false); }
inline Verdict ConvTranspose(const NodeView& node) { return Convolution(node, true); }

inline Verdict Pool(const NodeView& node) {
  const auto x = In(node, 0), y = Out(node);
  if (x.size() < 3 || y.size() != x.size()) return Shape("x and y must have the same rank of at least 3");
  if (x[0] != y[0] || x[1] != y[1]) return Shape("batch and channels of x and y differ");
  const CheckedWindow checked = WindowOf(node, {}, x.size() - 2);
  if (!checked.verdict.supported()) return checked.verdict;
  for (size_t i = 2; i < x.size(); ++i)
    if (!FitsPositions(checked.window, i - 2, x[i], y[i]))
      return Shape("y has not the number of positions of the window over x");
  return Verdict::Yes();
}

inline Verdict GlobalPool(const NodeView& node) {
  const auto x = In(node, 0), y = Out(node);
  if (x.size() < 3 || y.size() != x.size() || x[0] != y[0] || x[1] != y[1]) return Shape("x and y do not match");
  return When(std::all_of(y.begin() + 2, y.end(), [](int64_t extent) { return extent == 1; }),
              "the spatial extents of y must be 1");
}

inline Verdict MatMul(const NodeView& node) {
  std::vector<int64_t> a = In(node, 0).ToVector(), b = In(node, 1).ToVector();
  if (!Known(node.input(1)) || a.empty() || b.empty()) return Shape("the operands must have a rank of at least 1");
  const bool row = a.size() == 1, column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  if (a.back() != b[b.size() - 2]) return Shape("the inner extents differ");
  const std::vector<int64_t> a_batch(a.begin(), a.end() - 2), b_batch(b.begin(), b.end() - 2);
  auto y = BroadcastOf(a_batch, b_batch);
  if (!y) return Shape("the batches do not broadcast");
  if (!row) y->push_back(a[a.size() - 2]);
  if (!column) y->push_back(b.back());
  return When(SameExtents(*y, Out(node)), "the result has not the extents of the product");
}

inline Verdict Gemm(const NodeView& node) {
  const auto a = In(node, 0), b = In(node, 1), y = Out(node);
  if (a.size() != 2 || b.size() != 2 || y.size() != 2) return Shape("A, B and Y must be matrices");
  for (const char* name : {"transA", "transB"})
    if (HasOtherKind(node, name, schema::AttributeType_Int)) return Attribute("transA and transB must be integers");
  const bool left = node.Int("transA", 0) != 0, right = node.Int("transB", 0) != 0;
  if (a[left ? 0 : 1] != b[right ? 1 : 0]) return Shape("the inner extents differ");
  if (y[0] != a[left ? 1 : 0] || y[1] != b[right ? 0 : 1]) return Shape("Y has not the extents of the product");
  if (node.input(2).exists() && (!Known(node.input(2)) || !BroadcastsTo(In(node, 2), y)))
    return Shape("C does not broadcast to Y");
  return Verdict::Yes();
}

inline Verdict BatchNormalization(const NodeView& node) {
  const auto x = In(node, 0);
  if (x.size() < 2) return Shape("x must have a rank of at least 2");
  for (size_t i = 1; i < 5; ++i)
    if (ElementCount(node.input(i)) != x[1]) return Shape("scale, B, mean and var must have one element per channel");
  return Same(node);
}

// An axis among the dimensions of x; `end`: or the one behind them.
inline Verdict Axis(const NodeView& node, int64_t fallback, bool end = false) {
  if (HasOtherKind(node, "axis", schema::AttributeType_Int)) return Attribute("axis must be an integer");
  const int64_t axis = node.Int("axis", fallback);
  const size_t rank = In(node, 0).size();
  if (!AxisOf(axis, rank) && !(end && axis == static_cast<int64_t>(rank))) return Attribute("the axis is out of range");
  return Verdict::Yes();
}

inline Verdict LayerNormalization(const NodeView& node) {
  const Verdict axis = Axis(node, -1);
  if (!axis.supported()) return axis;
  return Parameters(node);
}

inline Verdict Softmax(const NodeView& node) {
  const Verdict axis = Axis(node, node.since_version() < 13 ? 1 : -1, node.since_version() < 13);
  return axis.supported() ? Same(node) : axis;
}

inline Verdict Lrn(const NodeView& node) {
  if (HasOtherKind(node, "size", schema::AttributeType_Int)) return Attribute("size must be an integer");
  const int64_t size = node.Int("size", 1);
  if (size < 1 || size > kLargestStep) return Attribute("size must be positive");
  return Same(node);
}

inline Verdict View(const NodeView& node) {
  return When(ElementCount(node.input(0)) == ElementCount(node.output(0)), "x and y differ in size");
}

inline Verdict Transpose(const NodeView& node) {
  const auto x = In(node, 0), y = Out(node);
  std::vector<int64_t> order(x.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  if (HasOtherKind(node, "perm", schema::AttributeType_Ints)) return Attribute("perm must be a list of integers");
  if (node.has_attribute("perm")) order = node.Ints("perm", {});
  if (!IsPermutation(order, x.size())) return Attribute("perm must name each dimension once");
  if (y.size() != x.size()) return Shape("x and y differ in rank");
  for (size_t i = 0; i < order.size(); ++i)
    if (y[i] != x[static_cast<size_t>(order[i])]) return Shape("y has not the extents of x in the order of perm");
  return Verdict::Yes();
}

// Parts along an axis: `whole` is cut into the values that `part(i)` returns.
template <class Part>
Verdict Parts(Span<const int64_t> whole, size_t axis, size_t count, const Part& part) {
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const ValueView value = part(i);
    if (!Known(value) || value.rank() != whole.size()) return Shape("the parts differ in rank");
    const auto dims = value.dims();
    for (size_t at = 0; at < whole.size(); ++at)
      if (at != axis && dims[at] != whole[at]) return Shape("the parts differ beside the axis");
    if (dims[axis] > whole[axis] - sum) return Shape("the parts are larger than the whole");
    sum += dims[axis];
  }
  return When(sum == whole[axis], "the parts are smaller than the whole");
}

inline Verdict Concat(const NodeView& node) {
  if (node.since_version() >= 4 && !node.has_attribute("axis")) return Attribute("there is no axis");
  const Verdict verdict = Axis(node, 1);
  if (!verdict.supported()) return verdict;
  const auto y = Out(node);
  const std::optional<size_t> axis = AxisOf(node.Int("axis", 1), y.size());
  if (!axis || node.input_count() == 0) return Attribute("the axis is out of range");
  return Parts(y, *axis, node.input_count(), [&](size_t i) { return node.input(i); });
}

inline Verdict Split(const NodeView& node) {
  const Verdict verdict = Axis(node, 0);
  if (!verdict.supported()) return verdict;
  const auto x = In(node, 0);
  return Parts(x, *AxisOf(node.Int("axis", 0), x.size()), node.output_count(),
               [&](size_t i) { return node.output(i); });
}

// y is inside of x, or the other way round.
inline Verdict Inside(Span<const int64_t> inner, Span<const int64_t> outer) {
  if (inner.size() != outer.size()) return Shape("x and y differ in rank");
  for (size_t i = 0; i < inner.size(); ++i)
    if (inner[i] > outer[i]) return Shape("an extent is too large");
  return Verdict::Yes();
}
inline Verdict Slice(const NodeView& node) { return Inside(Out(node), In(node, 0)); }
inline Verdict Pad(const NodeView& node) { return Inside(In(node, 0), Out(node)); }

// Blocks of channels to blocks of space, or back.
inline Verdict Blocks(const NodeView& node, Span<const int64_t> deep, Span<const int64_t> wide) {
  if (deep.size() != 4 || wide.size() != 4 || deep[0] != wide[0]) return Shape("x and y must be images");
  if (HasOtherKind(node, "blocksize", schema::AttributeType_Int)) return Attribute("blocksize must be an integer");
  const int64_t block = node.Int("blocksize", 0);
  if (block < 1 || block > kLargestStep) return Attribute("blocksize must be positive");
  const auto times = [](int64_t a, int64_t b, int64_t product) { return product % b == 0 && product / b == a; };
  return When(
      times(wide[1], block * block, deep[1]) && times(deep[2], block, wide[2]) && times(deep[3], block, wide[3]),
      "x and y do not match");
}
inline Verdict DepthToSpace(const NodeView& node) { return Blocks(node, In(node, 0), Out(node)); }
inline Verdict SpaceToDepth(const NodeView& node) { return Blocks(node, Out(node), In(node, 0)); }

// Constant axes from either form; nothing where they are in a value that is not constant.
inline std::optional<std::vector<int64_t>> ReducedAxes(const NodeView& node) {
  const ValueView given = node.input(1);
  if (!given.exists()) return node.Ints("axes", {});
  if (!given.is_constant() || !HasAllElements(given)) return std::nullopt;
  if (given.dtype() == DType::kInt64) return given.constant_values<int64_t>().ToVector();
  if (given.dtype() != DType::kInt32) return std::nullopt;
  const auto values = given.constant_values<int32_t>();
  return std::vector<int64_t>(values.begin(), values.end());
}

inline Verdict Reduction(const NodeView& node) {
  const auto x = In(node, 0), y = Out(node);
  if (HasOtherKind(node, "axes", schema::AttributeType_Ints) ||
      HasOtherKind(node, "keepdims", schema::AttributeType_Int) ||
      HasOtherKind(node, "noop_with_empty_axes", schema::AttributeType_Int))
    return Attribute("axes, keepdims or noop_with_empty_axes is of another kind");
  const auto axes = ReducedAxes(node);
  if (!axes) return Verdict::No(Reason::kNotConstant, "axes");
  std::vector<bool> reduced(x.size(), axes->empty() && node.Int("noop_with_empty_axes", 0) == 0);
  for (const int64_t axis : *axes) {
    const auto at = AxisOf(axis, x.size());
    if (!at || reduced[*at]) return Attribute("axes must name dimensions of x, each once");
    reduced[*at] = true;
  }
  std::vector<int64_t> left;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!reduced[i])
      left.push_back(x[i]);
    else if (node.Int("keepdims", 1) != 0)
      left.push_back(1);
  }
  return When(SameExtents(left, y), "y has not the extents of x without the axes");
}

inline Verdict Resize(const NodeView& node) {
  const auto x = In(node, 0), y = Out(node);
  if (x.size() != y.size()) return Shape("x and y differ in rank");
  if (HasOtherKind(node, "axes", schema::AttributeType_Ints)) return Attribute("axes must be a list of integers");
  const std::vector<int64_t> axes = node.Ints("axes", {});
  std::vector<bool> seen(x.size());
  for (const int64_t axis : axes) {
    const auto at = AxisOf(axis, x.size());
    if (!at || seen[*at]) return Attribute("axes must name dimensions of x, each once");
    seen[*at] = true;
  }
  const ValueView scales = node.input(node.since_version() < 11 ? 1 : 2);
  if (!scales.exists() || !scales.is_constant() || ElementCount(scales) == 0) return Verdict::Yes();
  const int64_t expected = static_cast<int64_t>(axes.empty() ? x.size() : axes.size());
  if (scales.dtype() != DType::kFloat32 || ElementCount(scales) != expected)
    return Shape("scales must be one float32 for each resized dimension");
  for (const float scale : scales.constant_values<float>())
    if (!(scale > 0) || scale > std::numeric_limits<float>::max()) return Attribute("scales must be positive");
  return Verdict::Yes();
}

// Scale and zero point of QuantizeLinear and DequantizeLinear: one for all elements, or one for each index of axis.
inline Verdict Quantization(const NodeView& node) {
  const ValueView scale = node.input(1), zero = node.input(2);
  const ValueView integers = node.Is("QuantizeLinear") ? node.output(0) : node.input(0);
  const std::optional<int64_t> count = ElementCount(scale);
  if (!count || *count < 1) return Shape("the scale is missing or empty");
  if (zero.exists() && (ElementCount(zero) != count || zero.rank() != scale.rank()))
    return Shape("scale and zero_point must have the same extents");
  if (zero.exists() && zero.dtype() != integers.dtype())
    return Verdict::No(Reason::kDType, "zero_point must have the type of the integers");
  if (HasOtherKind(node, "axis", schema::AttributeType_Int)) return Attribute("axis must be an integer");
  if (scale.is_constant() && scale.dtype() == DType::kFloat32)
    for (const float one : scale.constant_values<float>())
      if (!(one > 0) || one > std::numeric_limits<float>::max())
        return Verdict::No(Reason::kOther, "a scale is not a positive number");
  return Same(node);
}

struct Rule {
  std::string_view type;
  Verdict (*check)(const NodeView& node);
};

inline constexpr Rule kRules[] = {{"Abs", Same},
                                  {"Add", Binary},
                                  {"AveragePool", Pool},
                                  {"BatchNormalization", BatchNormalization},
                                  {"Clip", Scalars},
                                  {"Concat", Concat},
                                  {"Conv", Conv},
                                  {"ConvTranspose", ConvTranspose},
                                  {"DepthToSpace", DepthToSpace},
                                  {"DequantizeLinear", Quantization},
                                  {"Div", Binary},
                                  {"Dropout", Scalars},
                                  {"Elu", Same},
                                  {"Erf", Same},
                                  {"Exp", Same},
                                  {"Flatten", View},
                                  {"Gelu", Same},
                                  {"Gemm", Gemm},
                                  {"GlobalAveragePool", GlobalPool},
                                  {"GlobalMaxPool", GlobalPool},
                                  {"HardSigmoid", Same},
                                  {"HardSwish", Same},
                                  {"Identity", Same},
                                  {"LRN", Lrn},
                                  {"LayerNormalization", LayerNormalization},
                                  {"LeakyRelu", Same},
                                  {"LogSoftmax", Softmax},
                                  {"MatMul", MatMul},
                                  {"Max", Broadcast},
                                  {"MaxPool", Pool},
                                  {"Mean", Broadcast},
                                  {"Min", Broadcast},
                                  {"Mish", Same},
                                  {"Mul", Binary},
                                  {"Neg", Same},
                                  {"PRelu", PRelu},
                                  {"Pad", Pad},
                                  {"Pow", Scalars},
                                  {"QuantizeLinear", Quantization},
                                  {"Reciprocal", Same},
                                  {"ReduceMax", Reduction},
                                  {"ReduceMean", Reduction},
                                  {"ReduceMin", Reduction},
                                  {"ReduceSum", Reduction},
                                  {"Relu", Same},
                                  {"Reshape", View},
                                  {"Resize", Resize},
                                  {"Round", Same},
                                  {"Sigmoid", Same},
                                  {"Slice", Slice},
                                  {"Softmax", Softmax},
                                  {"Softplus", Same},
                                  {"SpaceToDepth", SpaceToDepth},
                                  {"Split", Split},
                                  {"Sqrt", Same},
                                  {"Squeeze", View},
                                  {"Sub", Binary},
                                  {"Sum", Broadcast},
                                  {"Tanh", Same},
                                  {"Transpose", Transpose},
                                  {"Unsqueeze", View}};

}  // namespace checks

// Do the node's attributes, extents and constants fit each other, as its definition says? For an operator of ONNX that
// this list does not have, and for one of another domain: are its first input and output known, and its constants
// whole? "no" has the rule that is broken. What a delegate does not compute (a negative pad, say) is a "no", too.
inline Verdict CheckOperator(const NodeView& node) {
  if (!checks::Known(node.input(0)) || !checks::Known(node.output(0)))
    return Verdict::No(Reason::kShapeDynamic, "x or y is missing, or its extents are not known");
  for (size_t i = 0; i < node.input_count(); ++i)
    if (!HasAllElements(node.input(i)))
      return Verdict::No(Reason::kNotConstant, "a constant has not the bytes of its extents");
  if (!node.domain().empty()) return Verdict::Yes();
  for (const checks::Rule& rule : checks::kRules)
    if (rule.type == node.op_type()) return rule.check(node);
  return Verdict::Yes();
}

}  // namespace deputy::sdk
