#include "layout.hpp"

#include <algorithm>
#include <numeric>

namespace onednn {

memory::dims ToDims(sdk::Span<const int64_t> dims) {
  if (dims.empty()) return {1};
  return memory::dims(dims.begin(), dims.end());
}

int64_t CountOf(const memory::dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}

memory::dims WithRank(memory::dims dims, size_t rank) {
  if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
  return dims;
}

memory::dims Permute(const memory::dims& dims, const memory::dims& order) {
  memory::dims permuted;
  for (const int64_t at : order) permuted.push_back(dims[static_cast<size_t>(at)]);
  return permuted;
}

memory::dims Inverse(const memory::dims& order) {
  memory::dims inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

bool BroadcastsTo(const memory::dims& from, const memory::dims& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t extent = to[to.size() - from.size() + i];
    if (from[i] != extent && from[i] != 1) return false;
  }
  return true;
}

memory::desc Plain(const memory::dims& dims, memory::data_type type) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return memory::desc(dims, type, strides);
}

memory::desc ChannelsLast(const memory::dims& dims, memory::data_type type) {
  memory::dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return Permuted(Plain(Permute(dims, order), type), Inverse(order));
}

memory::desc Any(const memory::dims& dims, memory::data_type type) {
  return memory::desc(dims, type, memory::format_tag::any);
}

bool IsStrided(const memory::desc& desc) {
  return desc.data.format_kind == dnnl_blocked && desc.data.format_desc.blocking.inner_nblks == 0 &&
         std::equal(desc.data.dims, desc.data.dims + desc.data.ndims, desc.data.padded_dims);
}

std::optional<memory::desc> PlainLike(const memory::desc& like, const memory::dims& dims) {
  if (!IsStrided(like) || static_cast<size_t>(like.data.ndims) != dims.size()) return std::nullopt;
  const auto& strides = like.data.format_desc.blocking.strides;
  memory::dims order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
  return Permuted(Plain(Permute(dims, order), like.data_type()), Inverse(order));
}

std::optional<memory::desc> LaidOutLike(const memory::desc& like, const memory::dims& dims) {
  if (IsStrided(like)) return PlainLike(like, dims);
  if (like.data.format_kind != dnnl_blocked || like.data.extra.flags != 0 ||
      static_cast<size_t>(like.data.ndims) != dims.size())
    return std::nullopt;
  memory::desc laid = like;
  dnnl_memory_desc_t& data = laid.data;
  auto& blocking = data.format_desc.blocking;
  memory::dims outer = dims;
  int64_t stride = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    int64_t& extent = outer[static_cast<size_t>(blocking.inner_idxs[i])];
    if (extent % blocking.inner_blks[i] != 0) return std::nullopt;
    extent /= blocking.inner_blks[i];
    stride *= blocking.inner_blks[i];
  }
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto given = like.data.format_desc.blocking.strides;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return given[a] > given[b]; });
  for (size_t i = order.size(); i-- > 0; stride *= outer[order[i]]) blocking.strides[order[i]] = stride;
  for (size_t i = 0; i < dims.size(); ++i) data.dims[i] = data.padded_dims[i] = dims[i];
  data.offset0 = 0;
  return laid;
}

memory::dims OuterExtents(const memory::desc& desc) {
  memory::dims extents(desc.data.padded_dims, desc.data.padded_dims + desc.data.ndims);
  const auto& blocking = desc.data.format_desc.blocking;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    extents[static_cast<size_t>(blocking.inner_idxs[i])] /= blocking.inner_blks[i];
  return extents;
}

bool IsDense(const memory::desc& desc) {
  if (!IsStrided(desc)) return desc.data.format_kind == dnnl_blocked;
  const memory::dims dims = desc.dims();
  return desc.get_size() == static_cast<size_t>(CountOf(dims)) * memory::data_type_size(desc.data_type());
}

bool SameLayout(const memory::desc& a, const memory::desc& b) {
  if (a == b) return true;
  if (a.data_type() != b.data_type() || a.dims() != b.dims() || !IsStrided(a) || !IsStrided(b)) return false;
  if (a.data.extra.flags != b.data.extra.flags) return false;
  for (int i = 0; i < a.data.ndims; ++i)
    if (a.data.dims[i] != 1 && a.data.format_desc.blocking.strides[i] != b.data.format_desc.blocking.strides[i])
      return false;
  return true;
}

bool IsPlain(const memory::desc& desc) { return SameLayout(desc, Plain(desc.dims(), desc.data_type())); }

bool IsChannelsLast(const memory::desc& desc) { return SameLayout(desc, ChannelsLast(desc.dims(), desc.data_type())); }

bool IsPadded(const memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  return !std::equal(data.dims, data.dims + data.ndims, data.padded_dims);
}

memory::desc WithType(memory::desc desc, memory::data_type type) {
  desc.data.data_type = memory::convert_to_c(type);
  return desc;
}

memory::desc Permuted(const memory::desc& desc, const memory::dims& order) {
  // oneDNN's permutation gives the new place of each dimension.
  const memory::dims inverse = Inverse(order);
  return desc.permute_axes(std::vector<int>(inverse.begin(), inverse.end()));
}

std::optional<memory::desc> Reshaped(const memory::desc& desc, const memory::dims& dims) {
  if (desc.dims() == dims) return desc;
  if (IsPlain(desc)) return Plain(dims, desc.data_type());
  memory::desc reshaped = desc.reshape(dims, true);
  if (!reshaped) return std::nullopt;
  // oneDNN keeps data of dimensions that no longer exist, and its reference implementation of PReLU counts them.
  dnnl_memory_desc_t& data = reshaped.data;
  for (int i = data.ndims; i < DNNL_MAX_NDIMS; ++i) {
    data.dims[i] = data.padded_dims[i] = data.padded_offsets[i] = 0;
    if (data.format_kind == dnnl_blocked) data.format_desc.blocking.strides[i] = 0;
  }
  return reshaped;
}

std::optional<memory::desc> AsMatrices(memory::desc desc) {
  if (!IsStrided(desc)) return std::nullopt;
  const int columns = desc.data.ndims - 1, rows = columns - 1;
  const auto& dims = desc.data.dims;
  auto& strides = desc.data.format_desc.blocking.strides;
  if (strides[columns] == 1 || strides[rows] == 1) return desc;
  if (dims[columns] == 1)
    strides[columns] = 1;
  else if (dims[rows] == 1)
    strides[rows] = 1;
  else
    return std::nullopt;
  return desc;
}

std::string KeyOf(const memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  std::string key;
  const auto put = [&key](int64_t number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  put(data.ndims);
  put(data.data_type);
  put(data.format_kind);
  put(data.offset0);
  for (int i = 0; i < data.ndims; ++i) {
    put(data.dims[i]);
    put(data.padded_dims[i]);
    if (data.format_kind == dnnl_blocked) put(data.format_desc.blocking.strides[i]);
  }
  if (data.format_kind == dnnl_blocked) {
    const auto& blocking = data.format_desc.blocking;
    put(blocking.inner_nblks);
    for (int i = 0; i < blocking.inner_nblks; ++i) {
      put(blocking.inner_blks[i]);
      put(blocking.inner_idxs[i]);
    }
  } else if (data.format_kind == dnnl_format_kind_wino) {
    const auto& wino = data.format_desc.wino_desc;
    for (const int64_t number :
         {int64_t{wino.wino_format}, int64_t{wino.r}, int64_t{wino.alpha}, int64_t{wino.ic}, int64_t{wino.oc},
          int64_t{wino.ic_block}, int64_t{wino.oc_block}, int64_t{wino.ic2_block}, int64_t{wino.oc2_block}})
      put(number);
  }
  put(static_cast<int64_t>(data.extra.flags));
  put(data.extra.compensation_mask);
  put(data.extra.asymm_compensation_mask);
  key.append(reinterpret_cast<const char*>(&data.extra.scale_adjust), sizeof data.extra.scale_adjust);
  return key;
}

}  // namespace onednn
