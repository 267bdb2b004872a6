// Checks of what a delegate is about to index: extents and their products, lists of attributes, axes, elements of
// constants, windows. A host checks its models; a delegate that is given something else all the same (a host with a
// fault, a node that another delegate has changed) answers "no" instead of reading past the end of a list.
// operator_checks.hpp applies these to whole nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/sdk/delegate_base.hpp"
#include "deputy/sdk/graph.hpp"

namespace deputy::sdk {

// Kernel extents, strides, dilations, pads and extents below it can be multiplied in pairs, and two such products
// added, without overflow.
inline constexpr int64_t kLargestStep = std::numeric_limits<int32_t>::max();

// The number of elements of a value of known shape; nothing otherwise.
inline std::optional<int64_t> ElementCount(const ValueView& value) {
  return value.exists() && value.shape_known() ? ElementCount(value.dims()) : std::nullopt;
}

// Does a constant have all elements of its shape and type in memory? True for other values, and for types of no fixed
// size, whose bytes nothing here counts.
inline bool HasAllElements(const ValueView& value) {
  if (!value.exists() || !value.is_constant() || SizeOf(value.dtype()) == 0) return true;
  const std::optional<int64_t> count = ElementCount(value);
  if (!count || static_cast<uint64_t>(*count) * SizeOf(value.dtype()) != value.constant_bytes()) return false;
  return *count == 0 || value.constant() != nullptr || !value.is_resident();
}

// The axis counted from the front; nothing outside of [-rank, rank).
inline std::optional<size_t> AxisOf(int64_t axis, size_t rank) {
  const auto end = static_cast<int64_t>(rank);
  if (axis < -end || axis >= end) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + end : axis);
}

// Is each of 0 to rank - 1 in the list exactly once?
inline bool IsPermutation(Span<const int64_t> order, size_t rank) {
  if (order.size() != rank) return false;
  std::vector<bool> seen(rank);
  for (const int64_t at : order) {
    if (at < 0 || at >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(at)]) return false;
    seen[static_cast<size_t>(at)] = true;
  }
  return true;
}

// Do the extents broadcast to `to`, aligned at the end, without `to` growing?
inline bool BroadcastsTo(Span<const int64_t> from, Span<const int64_t> to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to[to.size() - from.size() + i]) return false;
  return true;
}

// The extents of two operands together; nothing where they do not broadcast.
inline std::optional<std::vector<int64_t>> BroadcastOf(Span<const int64_t> a, Span<const int64_t> b) {
  std::vector<int64_t> joined(std::max(a.size(), b.size()));
  for (size_t i = 0; i < joined.size(); ++i) {
    const int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1, right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    joined[joined.size() - 1 - i] = left == 1 ? right : left;
  }
  return joined;
}

inline bool SameExtents(Span<const int64_t> a, Span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

// Has the node the attribute with another kind than this? Its readers would return their default for it.
inline bool HasOtherKind(const NodeView& node, std::string_view name, schema::AttributeType kind) {
  const schema::Attribute* found = FindAttribute(node.primitive(), name);
  return found != nullptr && found->type() != kind;
}

// A list of exactly `length` integers from `least` to kLargestStep; all `fallback` where the node has no such
// attribute; nothing for a list of another length, kind or range.
inline std::optional<std::vector<int64_t>> ListOf(const NodeView& node, const char* name, size_t length,
                                                  int64_t fallback, int64_t least) {
  if (!node.has_attribute(name)) return std::vector<int64_t>(length, fallback);
  if (HasOtherKind(node, name, schema::AttributeType_Ints)) return std::nullopt;
  std::vector<int64_t> values = node.Ints(name, {});
  if (values.size() != length) return std::nullopt;
  for (const int64_t value : values)
    if (value < least || value > kLargestStep) return std::nullopt;
  return values;
}

// A window over the spatial dimensions of a node; every list has one number for each of them.
struct SpatialWindow {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> before, after;  // written padding; zeros where auto_pad has another word than NOTSET
  std::string_view auto_pad = "NOTSET";

  // The extent of the input that one position covers.
  int64_t Reach(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

// The verdict, and the window where that is a "yes".
struct CheckedWindow {
  Verdict verdict;
  SpatialWindow window = {};
};

// The window of a convolution or a pool with `kernel` extents, whose lists all have their length and range. Empty
// `kernel`: that of the attribute kernel_shape, which the node must have with `rank` extents; otherwise this attribute,
// where it is there, must repeat it.
inline CheckedWindow WindowOf(const NodeView& node, std::vector<int64_t> kernel, size_t rank) {
  const auto no = [](const std::string& what) { return CheckedWindow{Verdict::No(Reason::kAttribute, what)}; };
  const auto wrong = [&](const char* name, size_t length, const char* least) {
    return no(std::string(name) + " must be " + std::to_string(length) + " integers of at least " + least);
  };
  const bool given = !kernel.empty();
  const auto named = ListOf(node, "kernel_shape", rank, 0, 1);
  if (!named || (!given && !node.has_attribute("kernel_shape"))) return wrong("kernel_shape", rank, "1");
  if (given && node.has_attribute("kernel_shape") && *named != kernel)
    return no("kernel_shape differs from the extents of the weights");
  SpatialWindow window;
  window.kernel = given ? std::move(kernel) : *named;
  if (window.kernel.size() != rank) return no("the kernel has another rank");
  for (const int64_t extent : window.kernel)
    if (extent < 1 || extent > kLargestStep) return no("an extent of the kernel is out of range");
  const auto strides = ListOf(node, "strides", rank, 1, 1), dilations = ListOf(node, "dilations", rank, 1, 1);
  const auto pads = ListOf(node, "pads", 2 * rank, 0, 0);
  if (!strides) return wrong("strides", rank, "1");
  if (!dilations) return wrong("dilations", rank, "1");
  if (!pads) return wrong("pads", 2 * rank, "0");
  if (HasOtherKind(node, "auto_pad", schema::AttributeType_String)) return no("auto_pad must be a word");
  window.strides = *strides;
  window.dilations = *dilations;
  window.auto_pad = node.String("auto_pad", "NOTSET");
  const auto middle = pads->begin() + static_cast<std::ptrdiff_t>(rank);
  window.before.assign(pads->begin(), middle);
  window.after.assign(middle, pads->end());
  if (window.auto_pad != "NOTSET") {
    if (window.auto_pad != "VALID" && window.auto_pad != "SAME_UPPER" && window.auto_pad != "SAME_LOWER")
      return no("auto_pad '" + std::string(window.auto_pad) + "' is not known");
    window.before.assign(rank, 0);
    window.after.assign(rank, 0);
  }
  return {Verdict::Yes(), std::move(window)};
}

// Is `out` the number of positions of dimension `i` of the window over `in` elements? With either rounding: which one
// holds does not change what is read.
inline bool FitsPositions(const SpatialWindow& window, size_t i, int64_t in, int64_t out) {
  if (in < 1 || out < 1 || in > kLargestStep || out > kLargestStep) return false;
  const int64_t stride = window.strides[i];
  if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") return out == (in + stride - 1) / stride;
  const int64_t room = in + window.before[i] + window.after[i] - window.Reach(i);
  if (room < 0) return out == 1;  // the window is larger than the padded input
  const int64_t whole = room / stride + 1;
  return out == whole || (out == whole + 1 && room % stride != 0);
}

}  // namespace deputy::sdk
