// Gathering, scattering, ordering and counting: operators whose elements are, or come from, indices.
#include <algorithm>
#include <numeric>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

int64_t Index(const Tensor& indices, int64_t i, int64_t extent) {
  const auto index = static_cast<int64_t>(indices.Get(i));
  return index < 0 ? index + extent : index;
}

std::vector<Tensor> Gather(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &indices = *in[1];
  const size_t axis = FromFront(node.Int("axis", 0), x.rank());
  Dims dims(x.dims.begin(), x.dims.begin() + static_cast<ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(axis) + 1, x.dims.end());
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(dims, i);
    const auto middle = at.begin() + static_cast<ptrdiff_t>(axis);
    const auto behind = middle + static_cast<ptrdiff_t>(indices.rank());
    Dims from(at.begin(), middle);
    from.push_back(Index(indices, Flat(indices.dims, Dims(middle, behind)), x.dims[axis]));
    from.insert(from.end(), behind, at.end());
    y.Copy(i, x, Flat(x.dims, from));
  }
  return {y};
}

std::vector<Tensor> GatherElements(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t axis = FromFront(node.Int("axis", 0), x.rank());
  Tensor y(x.dtype, in[1]->dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = IndexOf(y.dims, i);
    from[axis] = Index(*in[1], i, x.dims[axis]);
    y.Copy(i, x, Flat(x.dims, from));
  }
  return {y};
}

std::vector<Tensor> GatherND(const Node& node, const Inputs& in) {
  const Tensor &x = *in[0], &indices = *in[1];
  const auto batch = static_cast<size_t>(node.Int("batch_dims", 0));
  const auto depth = static_cast<size_t>(indices.dims.back());
  Dims outer(indices.dims.begin(), indices.dims.end() - 1), dims = outer;
  dims.insert(dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(batch + depth), x.dims.end());
  Tensor y(x.dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = IndexOf(dims, i);
    const Dims row(at.begin(), at.begin() + static_cast<ptrdiff_t>(outer.size()));
    Dims from(at.begin(), at.begin() + static_cast<ptrdiff_t>(batch));
    for (size_t d = 0; d < depth; ++d)
      from.push_back(
          Index(indices, Flat(outer, row) * static_cast<int64_t>(depth) + static_cast<int64_t>(d), x.dims[batch + d]));
    from.insert(from.end(), at.begin() + static_cast<ptrdiff_t>(outer.size()), at.end());
    y.Copy(i, x, Flat(x.dims, from));
  }
  return {y};
}

// Updates one element.
void Update(Tensor& y, int64_t at, const Tensor& updates, int64_t i, const std::string& how) {
  const double old = y.Get(at), update = updates.Get(i);
  if (how == "none") y.Copy(at, updates, i);
  if (how == "add") y.Put(at, old + update);
  if (how == "mul") y.Put(at, old * update);
  // NaN is kept.
  const bool none = IsNaN(updates, i);
  if (how == "max" && (none || Less(y, at, updates, i))) y.Copy(at, updates, i);
  if (how == "min" && (none || Less(updates, i, y, at))) y.Copy(at, updates, i);
}

std::vector<Tensor> ScatterElements(const Node& node, const Inputs& in) {
  Tensor y = *in[0];
  const size_t axis = FromFront(node.Int("axis", 0), y.rank());
  for (int64_t i = 0; i < in[1]->count(); ++i) {
    Dims to = IndexOf(in[1]->dims, i);
    to[axis] = Index(*in[1], i, y.dims[axis]);
    Update(y, Flat(y.dims, to), *in[2], i, node.String("reduction", "none"));
  }
  return {y};
}

std::vector<Tensor> ScatterND(const Node& node, const Inputs& in) {
  Tensor y = *in[0];
  const Tensor &indices = *in[1], &updates = *in[2];
  const int64_t depth = indices.dims.back();
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(depth); d < y.rank(); ++d) inner *= y.dims[d];
  for (int64_t i = 0; i < updates.count(); ++i) {
    int64_t to = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t extent = y.dims[static_cast<size_t>(d)];
      to = to * extent + Index(indices, i / inner * depth + d, extent);
    }
    Update(y, to * inner + i % inner, updates, i, node.String("reduction", "none"));
  }
  return {y};
}

// Visits the rows of `x` along `axis`: their first position and the step between their elements.
template <class Visit>
void ForRows(const Tensor& x, size_t axis, const Visit& visit) {
  int64_t step = 1;
  for (size_t i = axis + 1; i < x.rank(); ++i) step *= x.dims[i];
  const int64_t length = x.dims[axis];
  for (int64_t row = 0; length > 0 && row < x.count() / length; ++row)
    visit(row, row / step * step * length + row % step, step, length);
}

template <bool kLargest>
std::vector<Tensor> ArgReduce(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t axis = FromFront(node.Int("axis", 0), x.rank());
  const bool last = node.Int("select_last_index", 0) != 0;
  Dims dims = x.dims;
  dims[axis] = 1;
  if (node.Int("keepdims", 1) == 0) dims.erase(dims.begin() + static_cast<ptrdiff_t>(axis));
  Tensor y(DEPUTY_DTYPE_INT64, dims);
  ForRows(x, axis, [&](int64_t row, int64_t begin, int64_t step, int64_t length) {
    int64_t best = 0;
    for (int64_t i = 1; i < length; ++i) {
      const int64_t at = begin + i * step, kept = begin + best * step;
      if ((kLargest ? Less(x, kept, x, at) : Less(x, at, x, kept)) || (last && Same(x, at, x, kept))) best = i;
    }
    y.Put(row, best);
  });
  return {y};
}

std::vector<Tensor> TopK(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t axis = FromFront(node.Int("axis", -1), x.rank());
  const bool largest = node.Int("largest", 1) != 0;
  const auto k = At(in, 1) != nullptr ? static_cast<int64_t>(in[1]->Get(0)) : node.Int("k", 1);
  Dims dims = x.dims;
  dims[axis] = k;
  Tensor values(x.dtype, dims), indices(DEPUTY_DTYPE_INT64, dims);
  ForRows(x, axis, [&](int64_t row, int64_t begin, int64_t step, int64_t length) {
    std::vector<int64_t> order(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return largest ? Less(x, begin + b * step, x, begin + a * step) : Less(x, begin + a * step, x, begin + b * step);
    });
    for (int64_t i = 0; i < k; ++i) {
      const int64_t to = row / step * step * k + row % step + i * step, from = order[static_cast<size_t>(i)];
      values.Copy(to, x, begin + from * step);
      indices.Put(to, from);
    }
  });
  return {values, indices};
}

std::vector<Tensor> CumSum(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t axis = FromFront(static_cast<int64_t>(in[1]->Get(0)), x.rank());
  const bool exclusive = node.Int("exclusive", 0) != 0, reverse = node.Int("reverse", 0) != 0;
  Tensor y(x.dtype, x.dims);
  ForRows(x, axis, [&](int64_t, int64_t begin, int64_t step, int64_t length) {
    double sum = 0;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = begin + (reverse ? length - 1 - i : i) * step;
      if (!exclusive) sum += x.Get(at);
      y.Put(at, sum);
      if (exclusive) sum += x.Get(at);
    }
  });
  return {y};
}

std::vector<Tensor> CumProd(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const size_t axis = FromFront(static_cast<int64_t>(in[1]->Get(0)), x.rank());
  const bool exclusive = node.Int("exclusive", 0) != 0, reverse = node.Int("reverse", 0) != 0;
  Tensor y(x.dtype, x.dims);
  ForRows(x, axis, [&](int64_t, int64_t begin, int64_t step, int64_t length) {
    double real = 1;
    uint64_t whole = 1;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = begin + (reverse ? length - 1 - i : i) * step;
      const auto join = [&] {
        if (IsReal(x.dtype))
          real *= x.Get(at);
        else
          whole *= static_cast<uint64_t>(x.whole[static_cast<size_t>(at)]);
      };
      if (!exclusive) join();
      if (IsReal(x.dtype))
        y.Put(at, real);
      else
        y.Put(at, static_cast<int64_t>(whole));
      if (exclusive) join();
    }
  });
  return {y};
}

// A cache [batch, ..., length, ...] with an update of fewer elements along the axis of the length.
std::vector<Tensor> TensorScatter(const Node& node, const Inputs& in) {
  const Tensor& update = *in[1];
  Tensor y = *in[0];
  const size_t axis = FromFront(node.Int("axis", -2), y.rank());
  const bool circular = node.String("mode", "linear") == "circular";
  for (int64_t i = 0; i < update.count(); ++i) {
    Dims at = IndexOf(update.dims, i);
    if (At(in, 2) != nullptr) at[axis] += static_cast<int64_t>(in[2]->Get(at[0]));
    if (circular) at[axis] %= y.dims[axis];
    y.Copy(Flat(y.dims, at), update, i);
  }
  return {y};
}

std::vector<Tensor> OneHot(const Node& node, const Inputs& in) {
  const auto depth = static_cast<int64_t>(in[1]->Get(0));
  Dims dims = in[0]->dims;
  const size_t axis = FromFront(node.Int("axis", -1), dims.size() + 1);
  dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), depth);
  Tensor y(in[2]->dtype, dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims at = IndexOf(dims, i);
    const int64_t position = at[axis];
    at.erase(at.begin() + static_cast<ptrdiff_t>(axis));
    const auto index = static_cast<int64_t>(in[0]->Get(Flat(in[0]->dims, at)));
    // Before definition 11 a negative index is out of range.
    const bool hot = index >= (node.since_version < 11 ? 0 : -depth) && index < depth &&
                     (index < 0 ? index + depth : index) == position;
    y.Copy(i, *in[2], hot ? 1 : 0);
  }
  return {y};
}

std::vector<Tensor> Shape(const Node& node, const Inputs& in) {
  const auto rank = static_cast<int64_t>(in[0]->rank());
  const auto limit = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t start = limit(node.Int("start", 0)), end = limit(node.Int("end", rank));
  Tensor y(DEPUTY_DTYPE_INT64, {std::max<int64_t>(0, end - start)});
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, in[0]->dims[static_cast<size_t>(start + i)]);
  return {y};
}

std::vector<Tensor> Size(const Node&, const Inputs& in) {
  Tensor y(DEPUTY_DTYPE_INT64, {});
  y.Put(0, in[0]->count());
  return {y};
}

std::vector<Tensor> EyeLike(const Node& node, const Inputs& in) {
  Tensor y(static_cast<deputy_dtype>(node.Int("dtype", in[0]->dtype)), in[0]->dims);
  for (int64_t i = 0; i < y.count(); ++i)
    y.Put(i, static_cast<int64_t>(IndexOf(y.dims, i)[1] - IndexOf(y.dims, i)[0] == node.Int("k", 0)));
  return {y};
}

}  // namespace

KernelRows IndexingKernels() {
  return {{"ArgMax", ArgReduce<true>},
          {"ArgMin", ArgReduce<false>},
          {"CumProd", CumProd},
          {"CumSum", CumSum},
          {"EyeLike", EyeLike},
          {"Gather", Gather},
          {"GatherElements", GatherElements},
          {"GatherND", GatherND},
          {"OneHot", OneHot},
          {"Scatter", ScatterElements},  // its former name
          {"ScatterElements", ScatterElements},
          {"ScatterND", ScatterND},
          {"Shape", Shape},
          {"Size", Size},
          {"TensorScatter", TensorScatter},
          {"TopK", TopK}};
}

}  // namespace deputy::conformance::reference
