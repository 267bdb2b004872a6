// CPU kernels of TopK, OneHot, NonZero, Compress, Unique and ReverseSequence, whose outputs depend on the elements'
// values. NonZero and Compress know the size of their result only after reading the input, so they allocate it
// themselves.
#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <type_traits>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"
#include "kernels/parts.hpp"
#include "kernels/reduce.hpp"
#include "kernels/sort.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

Status RunTopK(const KernelArgs& args, int64_t axis_attribute, bool largest) {
  const ConstView input = args.input(0);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(input).status());
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims k, ReadInts(args.input(1), "K"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, input.rank()));
  if (k.size() != 1 || k[0] < 0 || k[0] > input.dim(axis))
    return Error(StatusCode::kInvalidArgument, "K must be a scalar from 0 to {}", input.dim(axis));
  SmallDims dims(input.dims());
  dims[axis] = k[0];
  const TopKExtents extents{ElementCount(input.dims().first(axis)), input.dim(axis),
                            ElementCount(input.dims().subspan(axis + 1)), k[0]};
  const size_t results = static_cast<size_t>(extents.outer * extents.k * extents.inner);
  const size_t elements = static_cast<size_t>(input.element_count());
  // Either output may be omitted; the kernel then writes to working memory.
  const bool has_values = args.output(0).present(), has_positions = args.output(1).present();
  if (has_values) DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), input.dtype(), dims));
  if (has_positions) DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(1), DType::kInt64, dims));
  if (results == 0) return {};
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get((elements + 2 * results) * sizeof(int64_t)));
  int64_t* const order = static_cast<int64_t*>(memory);
  int64_t* const spare_positions = order + elements;
  void* const values = has_values ? args.output(0).data<void>() : spare_positions + results;
  int64_t* const positions = has_positions ? args.output(1).data<int64_t>() : spare_positions;
  if (input.dtype() == DType::kBool ||
      !TopK(extents, largest, input.dtype(), input.data<void>(), values, positions, order, args.pool))
    return Error(StatusCode::kNotSupported, "TopK of {} is not supported", NameOf(input.dtype()));
  return {};
}

// The compute type.
template <class T>
auto NumberOf(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return ToFloat(value);
  else
    return value;
}

Status RunOneHot(const KernelArgs& args, int64_t axis_attribute) {
  const ConstView indices = args.input(0), values = args.input(2);
  const MutableView output = args.output(0);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(indices).status());
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(values));
  if (values.element_count() != 2)
    return Error(StatusCode::kInvalidArgument, "values has {} elements, expected 2", values.element_count());
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, ResolveAxis(axis_attribute, indices.rank() + 1));
  if (!output.present() || output.rank() != indices.rank() + 1)
    return Error(StatusCode::kInternal, "the rank of the output must be one more than that of indices");
  const int64_t depth = output.dim(axis);  // inference has read it from the input
  SmallDims dims(indices.dims().first(axis));
  dims.push_back(depth);
  for (const int64_t extent : indices.dims().subspan(axis)) dims.push_back(extent);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, values.dtype(), dims));
  const char *off = values.data<char>(), *on = off + element;
  Fill(off, output.data<char>(), output.element_count(), element, args.pool);
  const int64_t inner = ElementCount(indices.dims().subspan(axis));
  const bool known =
      indices.dtype() != DType::kBool && DispatchStored(indices.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const T* index = indices.data<T>();
        InParts(indices.element_count(), 1 << 16, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto number = NumberOf(index[i]);
            if constexpr (std::is_floating_point_v<decltype(number)>) {  // beyond all integers: out of range
              if (!(number > -0x1p62f && number < 0x1p62f)) continue;
            }
            if constexpr (std::is_same_v<T, uint64_t>) {
              if (number > INT64_MAX) continue;
            }
            int64_t hot = static_cast<int64_t>(number);
            if (hot < 0) hot += depth;
            if (hot < 0 || hot >= depth) continue;
            const int64_t at = (i / inner * depth + hot) * inner + i % inner;
            std::memcpy(output.data<char>() + static_cast<size_t>(at) * element, on, element);
          }
        });
      });
  if (!known) return Error(StatusCode::kNotSupported, "indices of {} are not supported", NameOf(indices.dtype()));
  return {};
}

template <class T>
bool IsZero(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return (value.bits & 0x7fff) == 0;
  } else {
    return value == T{0};
  }
}

Status RunNonZero(const KernelArgs& args) {
  const ConstView input = args.input(0);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(input).status());
  const int64_t count = input.element_count(), rank = static_cast<int64_t>(input.rank());
  Status status;
  // A byte of a bool may hold other values than 0 and 1.
  DispatchStored(input.dtype() == DType::kBool ? DType::kUint8 : input.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const T* values = input.data<T>();
    constexpr int64_t kPart = 1 << 19;
    int64_t found = 0;
    InParts(count, kPart, [&](int64_t begin, int64_t end) {
      found += std::count_if(values + begin, values + end, [](T value) { return !IsZero(value); });
    });
    const int64_t dims[] = {rank, found};
    status = args.allocator->Allocate(args.outputs[0], dims);
    if (status.ok()) status = CheckOutput(args.output(0), DType::kInt64, dims);
    if (!status.ok()) return;
    int64_t* output = args.output(0).data<int64_t>();
    int64_t column = 0;
    InParts(count, kPart, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end && column < found; ++i) {
        if (IsZero(values[i])) continue;
        int64_t rest = i;
        for (int64_t d = rank; d-- > 0;) {
          output[d * found + column] = rest % input.dim(static_cast<size_t>(d));
          rest /= input.dim(static_cast<size_t>(d));
        }
        ++column;
      }
    });
  });
  return status;
}

Status RunCompress(const KernelArgs& args, std::optional<int64_t> axis_attribute) {
  const ConstView input = args.input(0), condition = args.input(1);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_RETURN_IF_ERROR(ElementBytes(condition).status());
  if (condition.dtype() != DType::kBool)
    return Error(StatusCode::kInvalidArgument, "condition has dtype {}, expected bool", NameOf(condition.dtype()));
  SmallDims dims(input.dims());
  size_t axis = 0;
  if (axis_attribute) {
    DEPUTY_ASSIGN_OR_RETURN(axis, ResolveAxis(*axis_attribute, input.rank()));
  } else {
    dims = SmallDims(1, input.element_count());
  }
  const int64_t outer = ElementCount({dims.data(), axis});
  const int64_t extent = dims[axis], inner = ElementCount({dims.data() + axis + 1, dims.size() - axis - 1});
  const uint8_t* keep = condition.data<uint8_t>();
  const int64_t length = condition.element_count();
  int64_t kept = 0;
  int64_t outside = -1;
  InParts(length, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && outside < 0; ++i) {
      if (keep[i] != 0 && i >= extent) outside = i;
      kept += keep[i] != 0;
    }
  });
  if (outside >= 0)
    return Error(StatusCode::kInvalidArgument, "condition selects index {} of {} along axis {}", outside, extent, axis);
  dims[axis] = kept;
  DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(args.outputs[0], dims));
  const MutableView output = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckOutput(output, input.dtype(), dims));
  if (output.byte_size() == 0) return {};
  const size_t block = static_cast<size_t>(inner) * element;
  char* to = output.data<char>();
  // In a part are so many elements, or bytes if these are more.
  const int64_t read = std::min(length, extent);
  const int64_t part = std::max<int64_t>(1, (1 << 20) / std::max<int64_t>(1, static_cast<int64_t>(block >> 2)));
  CancellationScope* const scope = CancellationScope::Current();
  InParts(outer, std::max<int64_t>(1, part / std::max<int64_t>(1, read)), [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o)
      InParts(read, part, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (keep[i] == 0) continue;
          if (block > static_cast<size_t>(kLongCopy) && scope != nullptr && scope->Ends()) return;
          CopyInParts(to, input.data<char>() + static_cast<size_t>(o * extent + i) * block, block);
          to += block;
        }
      });
  });
  return {};
}

Status RunReverseSequence(const KernelArgs& args, bool time_first) {
  const ConstView input = args.input(0);
  DEPUTY_ASSIGN_OR_RETURN(const size_t element, ElementBytes(input));
  DEPUTY_ASSIGN_OR_RETURN(const SmallDims lengths, ReadInts(args.input(1), "sequence_lens"));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), input.dtype(), input.dims()));
  if (input.rank() < 2) return Error(StatusCode::kInvalidArgument, "input must have rank 2 or higher");
  const int64_t times = input.dim(time_first ? 0 : 1), batches = input.dim(time_first ? 1 : 0);
  if (static_cast<int64_t>(lengths.size()) != batches)
    return Error(StatusCode::kInvalidArgument, "sequence_lens has {} elements, expected {}", lengths.size(), batches);
  for (const int64_t length : lengths)
    if (length < 0 || length > times)
      return Error(StatusCode::kInvalidArgument, "sequence_lens has the value {}, expected 0 to {}", length, times);
  const size_t block = static_cast<size_t>(ElementCount(input.dims().subspan(2))) * element;
  if (block == 0) return {};
  const auto at = [&](int64_t time, int64_t batch) {
    return static_cast<size_t>(time_first ? time * batches + batch : batch * times + time) * block;
  };
  const int64_t grain = kGrainBytes / static_cast<int64_t>(block) + 1;
  args.pool.ParallelFor(batches * times, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t batch = i / times, time = i % times, length = lengths[static_cast<size_t>(batch)];
      CopyInParts(args.output(0).data<char>() + at(time, batch),
                  input.data<char>() + at(time < length ? length - 1 - time : time, batch), block);
    }
  });
  return {};
}

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

  int64_t steps() const { return StepsOf(std::max<int64_t>(1, outer), std::max<int64_t>(1, inner)); }
  // Negative, zero, positive. NaN is larger than all numbers, and equal to NaN. Long slices are equal when the run
  // ends.
  int Compare(int64_t a, int64_t b) const {
    EndCheck check;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const auto x = Comparable(data[(o * extent + a) * inner + i]);
        const auto y = Comparable(data[(o * extent + b) * inner + i]);
        if (x < y || (x == x && y != y)) return -1;
        if (y < x || (y == y && x != x)) return 1;
        if (check.Ends(1)) return 0;
      }
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
  SortUntilEnd(groups.order, groups.order + slices.extent, slices.steps(), [&](int64_t a, int64_t b) {
    const int compared = slices.Compare(a, b);
    return compared != 0 ? compared < 0 : a < b;
  });
  EndCheck check;
  for (int64_t i = 0; i < slices.extent; ++i) {
    if (check.Ends(slices.steps())) return;
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
  SortUntilEnd(by_first, by_first + groups.count, 1,
               [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  constexpr int64_t kStepsOfSearch = 32;
  for (int64_t i = 0; i < slices.extent; ++i) {
    if (check.Ends(kStepsOfSearch)) return;
    groups.inverse[i] = std::lower_bound(by_first, by_first + groups.count, groups.first[groups.inverse[i]],
                                         [&](int64_t group, int64_t slice) { return groups.first[group] < slice; }) -
                        by_first;
  }
  SortUntilEnd(groups.first, groups.first + groups.count);
  std::fill_n(groups.counts, groups.count, 0);
  for (int64_t i = 0; i < slices.extent; ++i) ++groups.counts[groups.inverse[i]];
}

Status WriteList(const KernelArgs& args, size_t output, const int64_t* values, int64_t count) {
  if (!args.output(output).present()) return {};
  DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(args.outputs[output], {&count, 1}));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(output), DType::kInt64, {&count, 1}));
  CopyBytes(values, args.output(output).data<int64_t>(), static_cast<size_t>(count) * sizeof(int64_t), args.pool);
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
  if (!known) return Error(StatusCode::kNotSupported, "Unique of {} is not supported", NameOf(input.dtype()));
  // Where the run ends first, the lists are incomplete: nothing may be read by them.
  DEPUTY_RETURN_IF_ERROR(CheckComplete());
  if (args.output(0).present()) {
    dims[axis] = groups.count;
    DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(args.outputs[0], dims));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), input.dtype(), dims));
    const size_t block = static_cast<size_t>(inner) * element;
    char* to = args.output(0).data<char>();
    const int64_t blocks = block == 0 ? 0 : outer * groups.count;
    args.pool.ParallelFor(
        blocks, kGrainBytes / std::max<int64_t>(1, static_cast<int64_t>(block)) + 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            CopyInParts(to + static_cast<size_t>(i) * block,
                        input.data<char>() +
                            static_cast<size_t>(i / groups.count * extent + groups.first[i % groups.count]) * block,
                        block);
        });
  }
  DEPUTY_RETURN_IF_ERROR(WriteList(args, 1, groups.first, groups.count));
  DEPUTY_RETURN_IF_ERROR(WriteList(args, 2, groups.inverse, extent));
  return WriteList(args, 3, groups.counts, groups.count);
}

}  // namespace

KernelResult MakeTopK(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", -1);
  const bool largest = spec.primitive().GetInt("largest", 1) != 0;
  return KernelOf([axis, largest](const KernelArgs& args) { return RunTopK(args, axis, largest); });
}

KernelResult MakeOneHot(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t axis = spec.primitive().GetInt("axis", -1);
  return KernelOf([axis](const KernelArgs& args) { return RunOneHot(args, axis); });
}

KernelResult MakeNonZero(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kOwn>(RunNonZero);
}

KernelResult MakeCompress(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  std::optional<int64_t> axis;
  if (spec.primitive().Has("axis")) axis = spec.primitive().GetInt("axis", 0);
  return KernelOf<OutputMemory::kOwn>([axis](const KernelArgs& args) { return RunCompress(args, axis); });
}

KernelResult MakeReverseSequence(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  const int64_t time = spec.primitive().GetInt("time_axis", 0), batch = spec.primitive().GetInt("batch_axis", 1);
  if (time < 0 || time > 1 || batch < 0 || batch > 1 || time == batch)
    return Error(StatusCode::kModel, "time_axis ({}) and batch_axis ({}) must be 0 and 1, or 1 and 0", time, batch);
  return KernelOf([time](const KernelArgs& args) { return RunReverseSequence(args, time == 0); });
}

KernelResult MakeUnique(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  std::optional<int64_t> axis;
  if (spec.primitive().Has("axis")) axis = spec.primitive().GetInt("axis", 0);
  const bool sorted = spec.primitive().GetInt("sorted", 1) != 0;
  return KernelOf<OutputMemory::kOwn>([axis, sorted](const KernelArgs& args) { return RunUnique(args, axis, sorted); });
}

}  // namespace deputy::host
