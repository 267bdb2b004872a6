// TensorScatter on the CPU: writes new elements into a cache of keys or values, for each sample of the batch at its own
// place.
#include <algorithm>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/copy.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// The tensors as [batch, outer, sequence, inner].
struct CacheExtents {
  int64_t batch, outer, sequence, updates, inner;
};

Result<CacheExtents> ReadExtents(const KernelArgs& args, int64_t axis_attribute) {
  const ConstView cache = args.input(0), update = args.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckStored(cache));
  DEPUTY_RETURN_IF_ERROR(CheckTyped(update, cache.dtype()));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), cache.dtype(), cache.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, cache.rank()));
  if (axis == 0) return Error(StatusCode::kInvalidArgument, "axis 0 is that of the batch, expected another one");
  bool fits = update.rank() == cache.rank();
  for (size_t i = 0; fits && i < cache.rank(); ++i)
    fits = i == axis ? update.dim(i) <= cache.dim(i) : update.dim(i) == cache.dim(i);
  if (!fits)
    return Error(StatusCode::kInvalidArgument, "update of shape {} does not fit into a cache of shape {} along axis {}",
                 ShapeToString(update.dims()), ShapeToString(cache.dims()), axis);
  return CacheExtents{cache.dim(0), ElementCount(cache.dims().subspan(1, axis - 1)), cache.dim(axis), update.dim(axis),
                      ElementCount(cache.dims().subspan(axis + 1))};
}

// Where the first update of each sample goes; all of them lie in the cache, or are wrapped.
Status CheckWriteIndices(const ConstView& indices, const CacheExtents& extents, bool circular) {
  if (!indices.present()) return {};
  DEPUTY_RETURN_IF_ERROR(CheckTyped(indices, DType::kInt64));
  if (indices.rank() != 1 || indices.dim(0) != extents.batch)
    return Error(StatusCode::kInvalidArgument, "write_indices has shape {}, expected [{}]",
                 ShapeToString(indices.dims()), extents.batch);
  for (const int64_t index : indices.values<int64_t>())
    if (index < 0 || (!circular && index > extents.sequence - extents.updates))
      return Error(StatusCode::kInvalidArgument,
                   "write_indices has the value {}: {} elements do not fit into {} from there", index, extents.updates,
                   extents.sequence);
  return {};
}

void WriteUpdates(const CacheExtents& extents, const int64_t* indices, size_t element, const char* update, char* cache,
                  ThreadPool& pool) {
  const size_t row = static_cast<size_t>(extents.inner) * element;
  if (extents.sequence == 0 || row == 0) return;
  const int64_t steps = StepsOf(std::max<int64_t>(1, extents.updates), static_cast<int64_t>(row));
  pool.ParallelFor(extents.batch * extents.outer, 1, [&](int64_t begin, int64_t end) {
    ForEachUntilEnd(begin, end, steps, [&](int64_t item) {
      int64_t at = indices == nullptr ? 0 : indices[item / extents.outer] % extents.sequence;
      int64_t done = 0;
      while (done < extents.updates) {  // up to the end of the cache, and on from its beginning
        const int64_t rows = std::min(extents.updates - done, extents.sequence - at);
        CopyInParts(cache + static_cast<size_t>(item * extents.sequence + at) * row,
                    update + static_cast<size_t>(item * extents.updates + done) * row, static_cast<size_t>(rows) * row);
        done += rows;
        at = 0;
      }
    });
  });
}

Status RunTensorScatter(const KernelArgs& args, int64_t axis, bool circular) {
  DEPUTY_ASSIGN_OR_RETURN(const CacheExtents extents, ReadExtents(args, axis));
  const ConstView cache = args.input(0), update = args.input(1), indices = args.input(2);
  DEPUTY_RETURN_IF_ERROR(CheckWriteIndices(indices, extents, circular));
  const DType dtype = cache.dtype();
  const int64_t* const at = indices.present() ? indices.data<int64_t>() : nullptr;
  char* const to = args.output(0).data<char>();
  if (!IsPacked(dtype)) {
    DEPUTY_RETURN_IF_ERROR(CopyElements(args));
    WriteUpdates(extents, at, SizeOf(dtype), update.data<char>(), to, args.pool);
    return {};
  }
  const int64_t cached = cache.element_count(), updated = update.element_count();
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(static_cast<size_t>(cached + updated)));
  char *const bytes = static_cast<char*>(memory), *const more = bytes + cached;
  Unpack(dtype, cache.data<char>(), cached, bytes);
  Unpack(dtype, update.data<char>(), updated, more);
  WriteUpdates(extents, at, 1, more, bytes, args.pool);
  host::Pack(dtype, bytes, cached, to);
  return {};
}

}  // namespace

KernelResult MakeTensorScatter(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", -2);
  const bool circular = spec.primitive().GetString("mode", "linear") == "circular";
  return KernelOf([axis, circular](const KernelArgs& args) { return RunTensorScatter(args, axis, circular); });
}

}  // namespace deputy::host
