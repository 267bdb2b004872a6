// Sparse constants are stored level by level: first the axes in an order of their own, then the axes within blocks. A
// level has either all positions, or for each position of the previous level a segment of a list of positions (the
// format of Kjolstad et al.: The Tensor Algebra Compiler, 2017).
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "import/tflite/tensor_info.hpp"

namespace deputy::host::tflite_import {
namespace {

Status Damaged() { return Error(StatusCode::kModel, "has invalid sparsity parameters"); }

struct Level {
  size_t axis = 0;
  int64_t stride = 1;  // elements of the axis for a step of this level
  bool has_all = true;
  int64_t positions = 0;                   // of a level with all positions
  std::vector<int64_t> segments, indices;  // of a level with segments; segment i ends where segment i + 1 begins
};

template <class T>
Result<std::vector<int64_t>> ReadIndices(ModelFile& file, const fb::AnyTable* table) {
  const T* const list = table == nullptr ? nullptr : file.Verified<T>(table);
  if (list == nullptr) return Damaged();
  return file.Ints(list->values());
}

Result<std::vector<int64_t>> ReadIndices(ModelFile& file, fb::IndicesType type, const fb::AnyTable* table) {
  switch (type) {
    case fb::IndicesType_INT32: return ReadIndices<fb::Int32Indices>(file, table);
    case fb::IndicesType_UINT16: return ReadIndices<fb::Uint16Indices>(file, table);
    case fb::IndicesType_UINT8: return ReadIndices<fb::Uint8Indices>(file, table);
    default: return Damaged();
  }
}

Result<std::vector<Level>> ReadLevels(ModelFile& file, const TensorInfo& info) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> order, file.Ints(info.sparsity->traversal_order()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> block_map, file.Ints(info.sparsity->block_map()));
  const auto* const table = info.sparsity->dim_metadata();
  const size_t rank = info.dims.size(), count = rank + block_map.size();
  if (table == nullptr || order.size() != count || table->size() != count || block_map.size() > rank) return Damaged();
  std::vector<int64_t> block_extents(rank, 1);
  std::vector<bool> seen(count, false);
  std::vector<Level> levels(count);
  for (size_t i = 0; i < count; ++i) {
    if (order[i] < 0 || std::cmp_greater_equal(order[i], count) || seen[static_cast<size_t>(order[i])])
      return Damaged();
    const auto place = static_cast<size_t>(order[i]);
    seen[place] = true;
    Level& level = levels[i];
    const int64_t axis = place < rank ? order[i] : block_map[place - rank];
    if (axis < 0 || std::cmp_greater_equal(axis, rank)) return Damaged();
    level.axis = static_cast<size_t>(axis);
    const fb::DimensionMetadata& stored = *table->Get(static_cast<flatbuffers::uoffset_t>(i));
    level.has_all = stored.format() == fb::DimensionType_DENSE;
    level.positions = stored.dense_size();
    if (level.has_all && level.positions < 1) return Damaged();
    if (place >= rank) {
      // Blocks have all their elements, and an axis is divided into blocks once.
      if (!level.has_all || block_extents[level.axis] != 1) return Damaged();
      block_extents[level.axis] = level.positions;
    }
    if (level.has_all) continue;
    DEPUTY_ASSIGN_OR_RETURN(level.segments, ReadIndices(file, stored.segments_type(), stored.segments()));
    DEPUTY_ASSIGN_OR_RETURN(level.indices, ReadIndices(file, stored.indices_type(), stored.indices()));
    const bool in_order = std::is_sorted(level.segments.begin(), level.segments.end());
    if (!in_order || level.segments.empty() || level.segments.front() != 0 ||
        std::cmp_greater(level.segments.back(), level.indices.size()))
      return Damaged();
  }
  for (size_t i = 0; i < count; ++i) {
    Level& level = levels[i];
    if (std::cmp_greater_equal(order[i], rank)) continue;
    level.stride = block_extents[level.axis];
    if (level.has_all && level.positions * level.stride != info.dims[level.axis]) return Damaged();
  }
  return levels;
}

class Filling {
 public:
  Filling(std::span<const Level> levels, std::span<const int64_t> dims, std::span<const uint8_t> from, size_t size,
          uint8_t* to)
      : levels_(levels), dims_(dims), from_(from), size_(size), to_(to), at_(dims.size(), 0) {}

  Status Run() {
    DEPUTY_RETURN_IF_ERROR(Fill(0, 0));
    return from_.empty() ? Status() : Damaged();
  }

 private:
  // `parent` is the position of the previous level among all that it has; positions are visited in order, and each
  // leads to an element or to a segment, so the work is bounded by the size of the file.
  Status Fill(size_t depth, int64_t parent) {
    if (depth == levels_.size()) return Put();
    const Level& level = levels_[depth];
    int64_t begin = 0, end = level.positions;
    if (!level.has_all) {
      if (std::cmp_greater_equal(parent + 1, level.segments.size())) return Damaged();
      begin = level.segments[static_cast<size_t>(parent)];
      end = level.segments[static_cast<size_t>(parent) + 1];
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = level.has_all ? i : level.indices[static_cast<size_t>(i)];
      if (index < 0 || index >= dims_[level.axis]) return Damaged();
      at_[level.axis] += index * level.stride;
      DEPUTY_RETURN_IF_ERROR(Fill(depth + 1, level.has_all ? parent * level.positions + index : i));
      at_[level.axis] -= index * level.stride;
    }
    return {};
  }

  Status Put() {
    if (from_.size() < size_) return Damaged();
    size_t flat = 0;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (at_[i] >= dims_[i]) return Damaged();
      flat = flat * static_cast<size_t>(dims_[i]) + static_cast<size_t>(at_[i]);
    }
    std::memcpy(to_ + flat * size_, from_.data(), size_);
    from_ = from_.subspan(size_);
    return {};
  }

  std::span<const Level> levels_;
  std::span<const int64_t> dims_;
  std::span<const uint8_t> from_;  // the remaining elements
  size_t size_;                    // bytes of an element
  uint8_t* to_;
  std::vector<int64_t> at_;
};

}  // namespace

Result<Tensor> ReadSparse(ModelFile& file, const TensorInfo& info, std::span<const uint8_t> bytes) {
  if (info.packed || info.dtype == DType::kBool)
    return Error(StatusCode::kNotSupported, "is a sparse tensor of bool or packed elements, which is not supported");
  DEPUTY_ASSIGN_OR_RETURN(const size_t size, ByteSize(info.dtype, info.dims));
  if (bytes.size() > size) return Damaged();
  DEPUTY_RETURN_IF_ERROR(file.SpendCopy(size));
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(info.dtype, info.dims));
  if (size == 0) return tensor;
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<Level> levels, ReadLevels(file, info));
  auto* const to = static_cast<uint8_t*>(tensor.mutable_data());
  DEPUTY_RETURN_IF_ERROR(Filling(levels, info.dims, bytes, SizeOf(info.dtype), to).Run());
  return tensor;
}

}  // namespace deputy::host::tflite_import
