// Functions of two elements, or of several, with each broadcasting rule of ONNX's definitions.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// Two shapes that broadcast to one another.
std::pair<Dims, Dims> TwoShapes(Draft& d) {
  const Dims all = d.Shape(0, 8), other = d.BroadcastableTo(all);
  Dims one = all;
  if (d.Half())
    for (size_t i = 0; i < one.size(); ++i) {
      const bool in_other = i + other.size() >= one.size();
      if (in_other && other[i + other.size() - one.size()] == one[i] && d.Once(3)) one[i] = 1;
    }
  return d.Half() ? std::make_pair(one, other) : std::make_pair(other, one);
}

// Before definition 7 the second has the extents of the first from the axis of an attribute on.
std::pair<Dims, Dims> TwoOldShapes(Draft& d) {
  const Dims first = d.Shape(0, 8);
  if (d.Once(3)) return {first, first};
  d.Set("broadcast", Int(1));
  const int64_t rank = static_cast<int64_t>(first.size()), count = d.Between(0, rank);
  const int64_t axis = d.Between(0, rank - count);
  if (axis + count < rank || (count > 0 && d.Half())) d.Set("axis", Int(axis));
  return {first, Dims(first.begin() + axis, first.begin() + axis + count)};
}

Tensor Divisor(Draft& d, deputy_dtype dtype, const Dims& dims) {
  Tensor tensor = d.Values(dtype, dims);
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.Get(i) == 0) tensor.Put(i, int64_t{2});
  return tensor;
}

void WritePair(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const bool old = d.Has("broadcast");
  const auto [first, second] = old ? TwoOldShapes(d) : TwoShapes(d);
  if (d.op_type() == "Div") {
    const bool wild = reference::IsReal(dtype) && d.Once(4);
    d.In(wild ? d.Wild(dtype, first) : d.Values(dtype, first))
        .In(wild ? d.Wild(dtype, second) : Divisor(d, dtype, second));
  } else if (d.op_type() == "Mod") {
    d.In(d.Values(dtype, first, -9, 9)).In(Divisor(d, dtype, second));
    if (reference::IsReal(dtype) && d.since() < 28)
      d.Set("fmod", Int(1));
    else
      d.Maybe("fmod", Int(d.Between(0, 1)));
  } else if (d.op_type() == "BitShift") {
    const auto bits = static_cast<int64_t>(8 * reference::BytesOf(dtype));
    d.In(d.Any(dtype, first))
        .In(d.Ties(dtype, second, d.since() < 28 || IsUnsigned(dtype) ? 0 : -2, d.since() < 28 ? bits - 1 : bits + 2))
        .Set("direction", Text(d.Half() ? "LEFT" : "RIGHT"));
  } else if (d.Once(3)) {
    d.In(d.Ties(dtype, first)).In(d.Ties(dtype, second));
  } else {
    d.In(d.Any(dtype, first)).In(d.Any(dtype, second));
  }
  d.Maybe("consumed_inputs", Ints({0, 0}));
}

// Whole powers of whole numbers; roots of positive numbers.
void WritePow(Draft& d) {
  const deputy_dtype base = d.Type();
  const auto [first, second] = d.Has("broadcast") ? TwoOldShapes(d) : TwoShapes(d);
  std::vector<deputy_dtype> others = {kF16, kF32, kF64, kI32, kI64, kI8, kU8, kI16, kU16, kU32, kU64};
  if (d.since() >= 13) others.push_back(kBF16);
  const deputy_dtype exponent = d.since() < 12 ? base : d.Pick(others);
  if (reference::IsReal(base) && reference::IsReal(exponent))
    d.In(d.Values(base, first, 0.125, 4)).In(d.Values(exponent, second, -2, 2));
  else
    d.In(d.Ties(base, first, reference::IsReal(base) ? 1 : -3, 3)).In(d.Ties(exponent, second, 0, 4));
}

void WriteSeveral(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims all = d.Shape(0, 8);
  const int64_t count = d.Between(1, 5);
  const bool wild = d.Once(5);
  for (int64_t i = 0; i < count; ++i) {
    const Dims dims = d.since() < 8 ? all : d.BroadcastableTo(all);
    d.In(wild ? d.Wild(dtype, dims) : d.Values(dtype, dims));
  }
  d.Maybe("consumed_inputs", Ints(std::vector<int64_t>(static_cast<size_t>(count), 0)));
}

void WriteWhere(Draft& d) {
  deputy_dtype dtype = d.AnyType();
  if (dtype == kBF16 && d.since() < 16) dtype = kF32;
  const Dims all = d.Shape(0, 8);
  d.In(d.Values(kBool, d.BroadcastableTo(all))).In(d.Any(dtype, d.BroadcastableTo(all)));
  d.In(d.Any(dtype, d.BroadcastableTo(all)));
}

// The slope is broadcast to the first input only; in old definitions it was one number or one for each channel.
void WritePRelu(Draft& d) {
  const deputy_dtype dtype = d.Type();
  if (d.since() >= 7) {
    const Dims dims = d.Shape(0, 8);
    d.In(d.Any(dtype, dims)).In(d.Values(dtype, d.BroadcastableTo(dims)));
    return;
  }
  const Dims dims = d.FullShape(2, 5);
  d.In(d.Values(dtype, dims)).In(d.Values(dtype, {d.Half() ? dims[1] : 1}));
  d.Maybe("consumed_inputs", Ints({0, 0}));
}

void WriteSwiGLU(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.Shape(0, 8);
  d.In(d.Values(dtype, dims, -8, 8)).In(d.Values(dtype, dims)).Maybe("alpha", Number(d, -2, 2));
}

}  // namespace

DraftRows BinaryDrafts() {
  DraftRows rows = {{"PRelu", WritePRelu}, {"Pow", WritePow}, {"SwiGLU", WriteSwiGLU}, {"Where", WriteWhere}};
  for (const char* op_type : {"Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal",
                              "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Mul", "Or", "Sub", "Xor"})
    rows.push_back({op_type, WritePair});
  for (const char* op_type : {"Max", "Mean", "Min", "Sum"}) rows.push_back({op_type, WriteSeveral});
  return rows;
}

}  // namespace deputy::conformance
