// Pools over windows, global pools, and the inverse.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

Dims Planes(Draft& d, const Dims& spatial) {
  Dims dims = {d.Once(30) ? 0 : d.Between(1, 2), d.Between(1, 4)};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// LpPool's first definition has a float.
void SetPower(Draft& d, int64_t most) {
  if (d.since() < 2)
    d.Maybe("p", Float(static_cast<float>(d.Between(1, most))));
  else
    d.Maybe("p", Int(d.Between(1, most)));
}

void WritePool(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const std::string& op_type = d.op_type();
  const auto rank = static_cast<size_t>(d.Between(1, 3));
  const Window w = DrawWindow(d, rank, EveryAutoPad());
  const Dims dims = Planes(d, w.input);
  d.In(op_type == "MaxPool" && d.Half() ? d.Ties(dtype, dims) : d.Values(dtype, dims))
      .Set("kernel_shape", Ints(w.kernel));
  d.Maybe("ceil_mode", Int(d.Between(0, 1))).Maybe("count_include_pad", Int(d.Between(0, 1)));
  if (op_type == "LpPool") SetPower(d, 3);
  if (op_type == "MaxPool" && d.since() >= 8 && d.Half()) {
    d.Maybe("storage_order", Int(d.Between(0, 1)));
    d.Outputs(2);
  }
}

void WriteGlobal(Draft& d) {
  d.In(d.Values(d.Type(), Planes(d, d.FullShape(1, 4))));
  if (d.op_type() == "GlobalLpPool") SetPower(d, 3);
}

// The input is the result of a pool of such windows: an element of each.
void WriteMaxUnpool(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const auto rank = static_cast<size_t>(d.Between(1, 3));
  Dims x = {d.Between(1, 2), d.Between(1, 3)}, kernel, strides;
  for (size_t i = 0; i < rank; ++i) {
    x.push_back(d.Between(1, 3));
    kernel.push_back(d.Between(1, 3));
    strides.push_back(d.Between(1, kernel[i]));
  }
  Dims large = {x[0], x[1]};
  for (size_t i = 0; i < rank; ++i) large.push_back((x[i + 2] - 1) * strides[i] + kernel[i]);
  const Tensor positions = d.Distinct(kI64, large);
  Tensor indices(kI64, x);
  // No element is named twice: the result of two values for one element is undefined.
  std::vector<int64_t> order = positions.whole;
  for (int64_t i = 0; i < indices.count(); ++i) indices.Put(i, order[static_cast<size_t>(i)]);
  d.In(d.Values(dtype, x)).In(indices).Set("kernel_shape", Ints(kernel)).Set("strides", Ints(strides));
  if (d.Half()) d.In(Whole(large));
}

void WriteMaxRoiPool(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const int64_t batch = d.Between(1, 3), rois = d.Between(1, 4), height = d.Between(2, 9), width = d.Between(2, 9);
  Tensor boxes(dtype, {rois, 5});
  for (int64_t i = 0; i < rois; ++i) {
    const int64_t x = d.Between(0, width - 1), y = d.Between(0, height - 1);
    const std::vector<int64_t> box = {d.Between(0, batch - 1), x, y, d.Between(x, width - 1), d.Between(y, height - 1)};
    for (int64_t k = 0; k < 5; ++k) boxes.Put(i * 5 + k, box[static_cast<size_t>(k)]);
  }
  d.In(d.Values(dtype, {batch, d.Between(1, 3), height, width})).In(boxes);
  d.Set("pooled_shape", Ints({d.Between(1, 3), d.Between(1, 3)}));
  d.Maybe("spatial_scale", Float(d.Half() ? 0.5f : 1.0f));
}

}  // namespace

DraftRows PoolingDrafts() {
  return {{"AveragePool", WritePool},      {"GlobalAveragePool", WriteGlobal},
          {"GlobalLpPool", WriteGlobal},   {"GlobalMaxPool", WriteGlobal},
          {"LpPool", WritePool},           {"MaxPool", WritePool},
          {"MaxRoiPool", WriteMaxRoiPool}, {"MaxUnpool", WriteMaxUnpool}};
}

}  // namespace deputy::conformance
