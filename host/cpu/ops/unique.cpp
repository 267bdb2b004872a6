// Unique on the CPU: removes duplicate slices along an axis, or duplicate elements.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>

#include "cpu/makers.hpp"
#include "cpu/ops/untyped.hpp"
#include "kernels/dispatch.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

template <class T>
auto Comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return ToFloat(value);
  } else {
    return value;
  }
}

// The tensor as slices [outer, extent, inner], compared element by element.
template <class T>
struct Slices {
  const T* data;
  int64_t outer, extent, inner;

  // Negative, zero, positive. NaN is larger than all numbers, and equal to NaN.
  int Compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        const auto x = Comparable(data[(o * extent + a) * inner + i]);
        const auto y = Comparable(data[(o * extent + b) * inner + i]);
        if (x < y || (x == x && y != y)) return -1;
        if (y < x || (y == y && x != x)) return 1;
      }
    return 0;
  }
};

// Lists of one number per slice, and of at most as many per group of equal slices.
struct Groups {
  int64_t* order;    // slices, those of a group side by side
  int64_t* first;    // of each group: its first slice
  int64_t* counts;   // of each group
  int64_t* inverse;  // the group of each slice
  int64_t count = 0;
};

template <class T>
void Group(const Slices<T>& slices, bool sorted, Groups& groups) {
  std::iota(groups.order, groups.order + slices.extent, int64_t{0});
  std::sort(groups.order, groups.order + slices.extent, [&](int64_t a, int64_t b) {
    const int compared = slices.Compare(a, b);
    return compared != 0 ? compared < 0 : a < b;
  });
  for (int64_t i = 0; i < slices.extent; ++i) {
    if (i == 0 || slices.Compare(groups.order[i - 1], groups.order[i]) != 0) {
      groups.first[groups.count] = groups.order[i];
      groups.counts[groups.count++] = 0;
    }
    groups.inverse[groups.order[i]] = groups.count - 1;
    ++groups.counts[groups.count - 1];
  }
  if (sorted) return;
  // In the order of their first slices. The slices' order is no longer needed: its memory holds the new one.
  int64_t* const by_first = groups.order;
  std::iota(by_first, by_first + groups.count, int64_t{0});
  std::sort(by_first, by_first + groups.count, [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  for (int64_t i = 0; i < slices.extent; ++i)
    groups.inverse[i] = std::lower_bound(by_first, by_first + groups.count, groups.first[groups.inverse[i]],
                                         [&](int64_t group, int64_t slice) { return groups.first[group] < slice; }) -
                        by_first;
  std::sort(groups.first, groups.first + groups.count);
  std::fill_n(groups.counts, groups.count, 0);
  for (int64_t i = 0; i < slices.extent; ++i) ++groups.counts[groups.inverse[i]];
}

Status WriteList(const KernelArgs& args, size_t output, const int64_t* values, int64_t count) {
  if (!args.output(output).present()) return {};
  DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(args.outputs[output], {&count, 1}));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(output), DType::kInt64, {&count, 1}));
  std::copy_n(values, count, args.output(output).data<int64_t>());
  return {};
}

Status RunUnique(const KernelArgs& args, std::optional<int64_t> named, bool sorted) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  SmallDims dims(input.dims());
  size_t axis = 0;
  if (named) {
    DEPUTY_ASSIGN_OR_RETURN(axis, ResolveAxis(*named, input.rank()));
  } else {
    dims = SmallDims(1, input.element_count());
  }
  const int64_t outer = ElementCount({dims.data(), axis}), extent = dims[axis];
  const int64_t inner = ElementCount({dims.data() + axis + 1, dims.size() - axis - 1});
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(4 * static_cast<size_t>(extent) * sizeof(int64_t)));
  int64_t* const lists = static_cast<int64_t*>(memory);
  Groups groups{lists, lists + extent, lists + 2 * extent, lists + 3 * extent};
  // A byte of a bool may hold other values than 0 and 1.
  const bool known = DispatchStored(input.dtype() == DType::kBool ? DType::kUint8 : input.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    Group(Slices<T>{input.data<T>(), outer, extent, inner}, sorted, groups);
  });
  if (!known) return Error(StatusCode::kNotSupported, "Unique of {}", NameOf(input.dtype()));
  if (args.output(0).present()) {
    dims[axis] = groups.count;
    DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(args.outputs[0], dims));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), input.dtype(), dims));
    const size_t block = static_cast<size_t>(inner) * element;
    char* to = args.output(0).data<char>();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t group = 0; group < groups.count && block != 0; ++group, to += block)
        std::memcpy(to, input.data<char>() + static_cast<size_t>(o * extent + groups.first[group]) * block, block);
  }
  DEPUTY_RETURN_IF_ERROR(WriteList(args, 1, groups.first, groups.count));
  DEPUTY_RETURN_IF_ERROR(WriteList(args, 2, groups.inverse, extent));
  return WriteList(args, 3, groups.counts, groups.count);
}

}  // namespace

KernelResult MakeUnique(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  std::optional<int64_t> axis;
  if (spec.primitive().Has("axis")) axis = spec.primitive().GetInt("axis", 0);
  const bool sorted = spec.primitive().GetInt("sorted", 1) != 0;
  return KernelOf<OutputMemory::kOwn>([axis, sorted](const KernelArgs& args) { return RunUnique(args, axis, sorted); });
}

}  // namespace deputy::host
