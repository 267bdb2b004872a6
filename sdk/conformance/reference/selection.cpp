// Operators whose output length depends on the elements: NonZero, Compress, Unique.
#include <algorithm>
#include <numeric>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

std::vector<Tensor> NonZero(const Node&, const Inputs& in) {
  const Tensor& x = *in[0];
  std::vector<Dims> found;
  for (int64_t i = 0; i < x.count(); ++i)
    if (x.Get(i) != 0) found.push_back(IndexOf(x.dims, i));
  Tensor y(DEPUTY_DTYPE_INT64, {static_cast<int64_t>(x.rank()), static_cast<int64_t>(found.size())});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(y.dims, i);
    y.Put(i, found[static_cast<size_t>(at[1])][static_cast<size_t>(at[0])]);
  }
  return {y};
}

// The parts of `x` along `axis` at these positions; of all elements in a row where there is no axis.
Tensor Parts(Tensor x, const Node& node, const Dims& positions) {
  if (!node.Has("axis")) x.dims = {x.count()};
  const size_t axis = FromFront(node.Int("axis", 0), x.rank());
  Dims dims = x.dims;
  dims[axis] = static_cast<int64_t>(positions.size());
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = IndexOf(dims, i);
    from[axis] = positions[static_cast<size_t>(from[axis])];
    y.Copy(i, x, Flat(x.dims, from));
  }
  return y;
}

std::vector<Tensor> Compress(const Node& node, const Inputs& in) {
  Dims kept;
  for (int64_t i = 0; i < in[1]->count(); ++i)
    if (in[1]->Get(i) != 0) kept.push_back(i);
  return {Parts(*in[0], node, kept)};
}

std::vector<Tensor> Unique(const Node& node, const Inputs& in) {
  const bool flat = !node.Has("axis");
  const size_t axis = flat ? 0 : FromFront(node.Int("axis", 0), in[0]->rank());
  const int64_t count = flat ? in[0]->count() : in[0]->dims[axis];
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back(Parts(*in[0], node, {i}));
  // -1, 0 or 1, by the first element that differs.
  const auto compare = [&](int64_t a, int64_t b) {
    const Tensor &left = parts[static_cast<size_t>(a)], &right = parts[static_cast<size_t>(b)];
    for (int64_t i = 0; i < left.count(); ++i)
      if (!Same(left, i, right, i)) return Less(left, i, right, i) ? -1 : 1;
    return 0;
  };
  Dims firsts, inverse, counts;
  for (int64_t i = 0; i < count; ++i) {
    const auto same = std::find_if(firsts.begin(), firsts.end(), [&](int64_t j) { return compare(i, j) == 0; });
    if (same == firsts.end()) firsts.push_back(i);
  }
  if (node.Int("sorted", 1) != 0)
    std::sort(firsts.begin(), firsts.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  counts.assign(firsts.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const auto same = std::find_if(firsts.begin(), firsts.end(), [&](int64_t j) { return compare(i, j) == 0; });
    inverse.push_back(same - firsts.begin());
    ++counts[static_cast<size_t>(inverse.back())];
  }
  std::vector<Tensor> outputs = {Parts(*in[0], node, firsts)};
  for (const Dims& list : {firsts, inverse, counts}) {
    outputs.emplace_back(DEPUTY_DTYPE_INT64, Dims{static_cast<int64_t>(list.size())});
    outputs.back().whole = list;
  }
  outputs.resize(std::min(node.output_count, outputs.size()));
  return outputs;
}

}  // namespace

KernelRows SelectionKernels() { return {{"Compress", Compress}, {"NonZero", NonZero}, {"Unique", Unique}}; }

}  // namespace deputy::conformance::reference
