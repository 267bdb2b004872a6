// Between floats and small integers: per tensor, per axis and per block.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

// The shape of scales for extents; sets the attributes for it.
Dims Granularity(Draft& d, const Dims& dims) {
  const int64_t how = d.since() < 13 || dims.empty() ? 0 : d.Between(0, d.since() >= 21 ? 2 : 1);
  if (how == 0) return {};
  const int64_t axis = d.Axis(dims.size(), true);
  const size_t at = reference::FromFront(axis, dims.size());
  if (axis != 1 || d.Half()) d.Set("axis", Int(axis));
  if (how == 1) return {dims[at]};
  const int64_t size = d.Between(1, std::max<int64_t>(1, dims[at]));
  d.Set("block_size", Int(size));
  Dims blocks = dims;
  blocks[at] = (dims[at] + size - 1) / size;
  return blocks;
}

void WriteQuantize(Draft& d) {
  const deputy_dtype from = d.Type();
  const Dims dims = d.Shape(0, 8), scales = Granularity(d, dims);
  std::vector<deputy_dtype> targets = {kU8, kI8};
  if (d.since() >= 21) targets.insert(targets.end(), {kU16, kI16});
  const deputy_dtype to = d.Pick(targets);
  const bool saturated = d.Once(3);
  d.In(d.Values(from, dims, saturated ? -40 : -2, saturated ? 40 : 2));
  const deputy_dtype scale = reference::IsReal(from) && (d.since() < 23 || d.Half()) ? from : kF32;
  d.In(Scale(d, scale, scales));
  const bool zero = d.Half();
  if (zero) d.In(ZeroPoint(d, to, scales));
  if (!zero && to != kU8 && d.Has("output_dtype")) d.Set("output_dtype", Int(to));
  if (zero && d.Once(3)) d.Maybe("output_dtype", Int(to));
  d.Maybe("saturate", Int(d.Between(0, 1)));
  if (d.Once(3)) d.Maybe("precision", Int(kF32));
}

void WriteDequantize(Draft& d) {
  const deputy_dtype from = d.Type();
  const Dims dims = d.Shape(0, 8), scales = Granularity(d, dims);
  std::vector<deputy_dtype> reals = {kF32};
  if (d.since() >= 19) reals.insert(reals.end(), {kF16, kBF16});
  d.In(from == kI32 ? d.Values(from, dims, -300, 300) : d.Any(from, dims)).In(Scale(d, d.Pick(reals), scales));
  if (from != kI32 && d.Half()) d.In(ZeroPoint(d, from, scales));
  d.Maybe("output_dtype", Int(d.Pick(reals)));
}

void WriteDynamic(Draft& d) {
  const int64_t low = d.Between(-4, 1), high = d.Between(2, 9);
  d.In(d.Values(kF32, d.FullShape(0, 8), static_cast<double>(low), static_cast<double>(high))).Outputs(3);
}

}  // namespace

DraftRows QuantizationDrafts() {
  return {{"DequantizeLinear", WriteDequantize},
          {"DynamicQuantizeLinear", WriteDynamic},
          {"QuantizeLinear", WriteQuantize}};
}

}  // namespace deputy::conformance
