// Memory layouts: queries of oneDNN's memory descriptors, and descriptors derived from others. oneDNN has no scalars;
// they are [1] here.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>

#include "deputy/sdk/sdk.hpp"

namespace onednn {

namespace sdk = deputy::sdk;
using dnnl::memory;

memory::dims ToDims(sdk::Span<const int64_t> dims);
int64_t CountOf(const memory::dims& dims);
// With leading extents of 1 up to `rank`.
memory::dims WithRank(memory::dims dims, size_t rank);
// Dimension i of the result is dimension order[i] of `dims`.
memory::dims Permute(const memory::dims& dims, const memory::dims& order);
memory::dims Inverse(const memory::dims& order);
// Does `from` broadcast to `to` without `to` growing?
bool BroadcastsTo(const memory::dims& from, const memory::dims& to);

// Row-major without gaps.
memory::desc Plain(const memory::dims& dims, memory::data_type type = memory::data_type::f32);
memory::desc ChannelsLast(const memory::dims& dims, memory::data_type type = memory::data_type::f32);
// With the layout left to the primitive.
memory::desc Any(const memory::dims& dims, memory::data_type type = memory::data_type::f32);
// Without gaps, dimensions in the same order as in `like`; nothing if `like` is blocked.
std::optional<memory::desc> PlainLike(const memory::desc& like, const memory::dims& dims);
// The same, also with the blocks of `like`; nothing if these do not divide the extents.
std::optional<memory::desc> LaidOutLike(const memory::desc& like, const memory::dims& dims);
// The extents that the strides are for: those of blocked dimensions in blocks.
memory::dims OuterExtents(const memory::desc& desc);

// Strides alone say where an element is.
bool IsStrided(const memory::desc& desc);
// Each element once and without gaps.
bool IsDense(const memory::desc& desc);
// The same element at the same place; strides of extents of 1 do not count.
bool SameLayout(const memory::desc& a, const memory::desc& b);
bool IsPlain(const memory::desc& desc);
// Row-major, except that the channels (dimension 1) are innermost.
bool IsChannelsLast(const memory::desc& desc);
// Blocks of which the last is not full.
bool IsPadded(const memory::desc& desc);

// The same layout for elements of another type.
memory::desc WithType(memory::desc desc, memory::data_type type);

// The same bytes with dimensions in another order, or with other extents (nothing if strides cannot express it).
memory::desc Permuted(const memory::desc& desc, const memory::dims& order);
std::optional<memory::desc> Reshaped(const memory::desc& desc, const memory::dims& dims);
// Strides of a matrix (the last two dimensions) such that rows or columns have no gaps, if necessary with another
// stride of a single row or column, on which no element depends; nothing where both have gaps.
std::optional<memory::desc> AsMatrices(memory::desc desc);

// Equal for equal descriptors and only for them.
std::string KeyOf(const memory::desc& desc);

}  // namespace onednn
