// Gathering and scattering: indices in range, also counted from the end where the definition allows that.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void WriteGather(Draft& d) {
  Dims dims = d.Shape(1, 6);
  const int64_t axis = d.Axis(dims.size());
  int64_t& extent = dims[reference::FromFront(axis, dims.size())];
  extent = std::max<int64_t>(1, extent);
  d.In(d.Any(d.Type(), dims)).In(d.Indices(d.IndexType(), d.Shape(0, 2), extent, d.since() >= 11));
  if (axis != 0 || d.Half()) d.Set("axis", Int(axis));
}

// Along all axes but one the extents of indices are at most those of the data.
Dims Fewer(Draft& d, Dims dims, size_t axis) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (i != axis && d.Once(3)) dims[i] = d.Between(1, dims[i]);
  dims[axis] = d.Between(d.Once(12) ? 0 : 1, 5);
  return dims;
}

void WriteGatherElements(Draft& d) {
  const Dims dims = d.FullShape(1, 8);
  const int64_t axis = d.Axis(dims.size(), true);
  const size_t at = reference::FromFront(axis, dims.size());
  d.In(d.Any(d.Type(), dims)).In(d.Indices(d.IndexType(), Fewer(d, dims, at), dims[at], true));
  if (axis != 0 || d.Half()) d.Set("axis", Int(axis));
}

// Tuples of positions in the extents of `dims` from `first` on.
Tensor Tuples(Draft& d, Dims outer, const Dims& dims, size_t first, int64_t depth, bool from_end) {
  outer.push_back(depth);
  Tensor indices(kI64, outer);
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t extent = dims[first + static_cast<size_t>(i % depth)];
    indices.Put(i, d.Between(from_end ? -extent : 0, extent - 1));
  }
  return indices;
}

void WriteGatherND(Draft& d) {
  const Dims dims = d.FullShape(1, 7);
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t batch = d.Has("batch_dims") && d.Half() ? d.Between(0, std::min<int64_t>(rank - 1, 2)) : 0;
  Dims outer(dims.begin(), dims.begin() + batch);
  for (const int64_t extent : d.Shape(0, 2)) outer.push_back(std::min<int64_t>(extent, 4));
  const int64_t depth = d.Between(1, rank - batch);
  d.In(d.Any(d.Type(), dims)).In(Tuples(d, outer, dims, static_cast<size_t>(batch), depth, true));
  d.Maybe("batch_dims", Int(batch));
  if (batch != 0) d.Set("batch_dims", Int(batch));
}

std::string Reduction(Draft& d) {
  if (!d.Has("reduction")) return "none";
  const std::string how = d.since() >= 18 ? d.Pick<std::string>({"none", "add", "mul", "max", "min"})
                                          : d.Pick<std::string>({"none", "add", "mul"});
  if (how != "none" || d.Half()) d.Set("reduction", Text(how));
  return how;
}

// Without a reduction the result of two updates of one element is undefined, so that each position occurs once.
void WriteScatterElements(Draft& d) {
  const std::string how = Reduction(d);
  const Dims dims = d.FullShape(1, 8);
  const int64_t axis = d.Axis(dims.size(), true);
  const size_t at = reference::FromFront(axis, dims.size());
  Dims fewer = Fewer(d, dims, at);
  if (how == "none") fewer[at] = std::min(fewer[at], dims[at]);
  Tensor indices = d.Indices(d.IndexType(), fewer, dims[at], d.since() >= 11);
  if (how == "none") {
    // Each row along the axis gets a turned and perhaps mirrored run.
    for (int64_t i = 0; i < indices.count(); ++i) {
      Dims index = reference::IndexOf(fewer, i);
      const int64_t step = index[at];
      index[at] = 0;
      const int64_t start = reference::Flat(fewer, index) * 7, position = (start + step) % dims[at];
      indices.Put(i, indices.Get(i) < 0 ? position - dims[at] : position);
    }
  }
  deputy_dtype dtype = d.Type();
  if (dtype == kBool && how != "none") dtype = kF32;
  const bool plain = how == "none" || how == "max" || how == "min";
  d.In(plain ? d.Any(dtype, dims) : d.Values(dtype, dims)).In(indices);
  d.In(plain ? d.Any(dtype, fewer) : d.Values(dtype, fewer));
  if (axis != 0 || d.Half()) d.Set("axis", Int(axis));
}

void WriteScatterND(Draft& d) {
  const std::string how = Reduction(d);
  const Dims dims = d.FullShape(1, 7);
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t depth = d.Between(1, rank);
  int64_t targets = 1;
  for (int64_t i = 0; i < depth; ++i) targets *= dims[static_cast<size_t>(i)];
  Dims outer = {d.Between(d.Once(12) ? 0 : 1, std::min<int64_t>(targets, 6))};
  if (d.Once(4)) outer.insert(outer.begin(), 1);
  Tensor indices = Tuples(d, outer, dims, 0, depth, true);
  if (how == "none") {
    const Dims head(dims.begin(), dims.begin() + depth);
    const int64_t first = d.Between(0, targets - 1);
    for (int64_t row = 0; row < indices.count() / depth; ++row) {
      const Dims position = reference::IndexOf(head, (first + row) % targets);
      for (int64_t i = 0; i < depth; ++i) indices.Put(row * depth + i, position[static_cast<size_t>(i)]);
    }
  }
  Dims updates = outer;
  updates.insert(updates.end(), dims.begin() + depth, dims.end());
  deputy_dtype dtype = d.Type();
  if (dtype == kBool && how != "none") dtype = kF32;
  const bool plain = how == "none" || how == "max" || how == "min";
  d.In(plain ? d.Any(dtype, dims) : d.Values(dtype, dims)).In(indices);
  d.In(plain ? d.Any(dtype, updates) : d.Values(dtype, updates));
}

void WriteOneHot(Draft& d) {
  const deputy_dtype index = d.Type();
  deputy_dtype values = d.AnyType();
  if (values == kBF16) values = kBool;
  const Dims dims = d.Shape(0, 6);
  const int64_t depth = d.Between(1, 6), axis = d.Axis(dims.size() + 1, true);
  const bool negative = d.since() >= 11 && !IsUnsigned(index);
  Tensor indices(index, dims);
  // Indices out of range make a row of off values.
  for (int64_t i = 0; i < indices.count(); ++i) indices.Put(i, d.Between(negative ? -depth - 1 : 0, depth + 1));
  d.In(indices);
  const Tensor number = RealScalar(static_cast<double>(depth), d.Type());
  Tensor list = number;
  list.dims = {1};
  d.In(d.Half() ? number : list).In(d.Values(values, {2}));
  if (axis != -1 || d.Half()) d.Set("axis", Int(axis));
}

void WriteTensorScatter(Draft& d) {
  const deputy_dtype dtype = d.Type();
  Dims cache = d.FullShape(2, 5);
  const int64_t axis = d.Between(1, static_cast<int64_t>(cache.size()) - 1);
  const auto at = static_cast<size_t>(axis);
  Dims update = cache;
  update[at] = d.Between(0, cache[at]);
  const bool circular = d.Half();
  d.In(d.Any(dtype, cache)).In(d.Any(dtype, update));
  if (d.Half()) d.In(d.Ties(kI64, {cache[0]}, 0, circular ? 3 * cache[at] : cache[at] - update[at]));
  d.Set("axis", Int(d.Half() ? axis : axis - static_cast<int64_t>(cache.size())));
  if (circular) d.Set("mode", Text("circular"));
}

}  // namespace

DraftRows IndexingDrafts() {
  return {{"Gather", WriteGather},           {"GatherElements", WriteGatherElements},
          {"GatherND", WriteGatherND},       {"OneHot", WriteOneHot},
          {"Scatter", WriteScatterElements}, {"ScatterElements", WriteScatterElements},
          {"ScatterND", WriteScatterND},     {"TensorScatter", WriteTensorScatter}};
}

}  // namespace deputy::conformance
