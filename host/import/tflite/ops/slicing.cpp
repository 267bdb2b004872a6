// Operators that take slices of a tensor along its axes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "import/tflite/operators.hpp"
#include "tensor/shape.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr int64_t kToEnd = std::numeric_limits<int64_t>::max();
constexpr int64_t kToFront = std::numeric_limits<int64_t>::min();
constexpr int64_t kBeyondEveryExtent = int64_t{1} << 40;  // beyond every extent
constexpr size_t kMostEntries = 16;                       // of a STRIDED_SLICE, whose masks have a bit for each

struct Cut {
  size_t axis;
  int64_t start, end, step;
};

// One Slice for all cuts; nothing if there are none.
Result<ValueId> Sliced(const Operation& op, ValueId id, std::span<const Cut> cuts, Layout layout) {
  if (cuts.empty()) return id;
  std::vector<int64_t> starts, ends, axes, steps;
  for (const Cut& cut : cuts) {
    starts.push_back(cut.start);
    ends.push_back(cut.end);
    axes.push_back(AxisIn(layout, cut.axis));
    steps.push_back(cut.step);
  }
  std::vector<ValueId> inputs{id};
  for (const auto& list : {starts, ends, axes, steps}) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.emit.Ints(list));
    inputs.push_back(value);
  }
  return op.emit.Emit(OpKind::kSlice, std::move(inputs));
}

// Begins and sizes that are computed; a size of -1 extends to the end.
Status SliceComputed(const Operation& op, bool stored) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId begins, op.tensors.Int64s(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId sizes, op.tensors.Int64s(op.input(2)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId sums, op.emit.Emit(OpKind::kAdd, {begins, sizes}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId open, op.emit.Int(-1));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId is_open, op.emit.Emit(OpKind::kEqual, {sizes, open}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId last, op.emit.Int(kToEnd));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId ends, op.emit.Emit(OpKind::kWhere, {is_open, last, sums}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kSlice, {id, begins, ends}));
  return op.Set(made, stored);
}

// A slice whose entries are assigned to axes.
struct StridedPlan {
  std::vector<Cut> cuts;
  std::vector<int64_t> squeezed, added;  // axes of the operand, axes of the result
};

struct StridedEntry {
  bool from_front, to_back, ellipsis, added, single;
};

StridedEntry EntryOf(const fb::StridedSliceOptions& options, size_t i) {
  const auto bit = [i](int32_t mask) { return (static_cast<uint32_t>(mask) >> i & 1u) != 0; };
  const bool ellipsis = bit(options.ellipsis_mask());
  const bool added = !ellipsis && bit(options.new_axis_mask());
  return {bit(options.begin_mask()), bit(options.end_mask()), ellipsis, added,
          !ellipsis && !added && bit(options.shrink_axis_mask())};
}

Result<Cut> CutOf(const fb::StridedSliceOptions& options, StridedEntry entry, size_t axis, int64_t begin, int64_t end,
                  int64_t step) {
  if (step == 0) return Error(StatusCode::kModel, "strides must not be 0");
  begin = std::clamp(begin, -kBeyondEveryExtent, kBeyondEveryExtent);
  end = std::clamp(end, -kBeyondEveryExtent, kBeyondEveryExtent);
  if (entry.single && entry.from_front) begin = 0;
  if (entry.single) return Cut{axis, begin, begin == -1 ? kToEnd : begin + 1, 1};
  if (options.offset() && (entry.from_front || begin < 0))
    return Error(StatusCode::kNotSupported, "end as an offset from begin {}{} is not supported", begin,
                 entry.from_front ? " under begin_mask" : "");
  Cut cut{axis, begin, options.offset() ? begin + end : end, step};
  if (entry.from_front) cut.start = step > 0 ? 0 : kToEnd;
  if (entry.to_back) cut.end = step > 0 ? kToEnd : kToFront;
  return cut;
}

Result<StridedPlan> PlanOf(const Operation& op, const fb::StridedSliceOptions& options, size_t rank) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> begins, op.tensors.Ints(op.input(1), "begin"));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, op.tensors.Ints(op.input(2), "end"));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, op.tensors.Ints(op.input(3), "strides"));
  const size_t count = begins.size();
  if (ends.size() != count || steps.size() != count || count > kMostEntries)
    return Error(StatusCode::kModel, "begin ({}), end ({}) and strides ({}) must have the same length of at most {}",
                 count, ends.size(), steps.size(), kMostEntries);
  size_t taken = 0, ellipses = 0;
  for (size_t i = 0; i < count; ++i) {
    const StridedEntry entry = EntryOf(options, i);
    ellipses += entry.ellipsis;
    taken += !entry.ellipsis && !entry.added;
  }
  if (taken > rank || ellipses > 1)
    return Error(StatusCode::kModel, "{} entries with {} ellipses do not match an input of rank {}", count, ellipses,
                 rank);
  StridedPlan plan;
  size_t axis = 0;
  int64_t place = 0;
  for (size_t i = 0; i < count; ++i) {
    const StridedEntry entry = EntryOf(options, i);
    if (entry.ellipsis) {
      axis += rank - taken;
      place += static_cast<int64_t>(rank - taken);
    } else if (entry.added) {
      plan.added.push_back(place++);
    } else {
      DEPUTY_ASSIGN_OR_RETURN(const Cut cut, CutOf(options, entry, axis, begins[i], ends[i], steps[i]));
      if (cut.start != 0 || cut.end != kToEnd || cut.step != 1) plan.cuts.push_back(cut);
      if (entry.single) plan.squeezed.push_back(static_cast<int64_t>(axis));
      place += !entry.single;
      ++axis;
    }
  }
  return plan;
}

// The entry of `there` if its bit of `mask` is set; otherwise the element of `otherwise`.
Result<ValueId> Masked(const Operation& op, std::span<const int64_t> mask, ValueId there, ValueId otherwise) {
  if (std::none_of(mask.begin(), mask.end(), [](int64_t bit) { return bit != 0; })) return otherwise;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId bits, op.emit.Ints(mask));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId set, op.emit.Cast(bits, DType::kBool));
  return op.emit.Emit(OpKind::kWhere, {set, there, otherwise});
}

// Begins and ends that are computed, one for each of the first axes.
Status StridedSliceComputed(const Operation& op, const fb::StridedSliceOptions& options, bool stored, size_t rank) {
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> steps, op.tensors.Ints(op.input(3), "strides"));
  if (steps.size() > std::min<size_t>(rank, kMostEntries))
    return Error(StatusCode::kModel, "strides has {} entries for an input of rank {}", steps.size(), rank);
  std::vector<int64_t> axes, fronts, first, backs, last, single, squeezed;
  for (size_t i = 0; i < steps.size(); ++i) {
    const StridedEntry entry = EntryOf(options, i);
    if (entry.ellipsis || entry.added || options.offset())
      return Error(StatusCode::kNotSupported,
                   "computed begin or end with ellipsis_mask, new_axis_mask or offset is not supported");
    if (steps[i] == 0) return Error(StatusCode::kModel, "strides must not be 0");
    // A negative step from before the front selects nothing, but ONNX would begin at the front.
    if (steps[i] < 0 && !entry.single && !entry.from_front)
      return Error(StatusCode::kNotSupported, "a computed begin with a negative stride is not supported");
    if (entry.single) {
      steps[i] = 1;
      squeezed.push_back(static_cast<int64_t>(i));
    }
    axes.push_back(static_cast<int64_t>(i));
    fronts.push_back(entry.from_front);
    first.push_back(steps[i] > 0 ? 0 : kToEnd);
    backs.push_back(entry.to_back);
    last.push_back(steps[i] > 0 ? kToEnd : kToFront);
    single.push_back(entry.single);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId begins, op.tensors.Int64s(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId ends, op.tensors.Int64s(op.input(2)));
  for (const ValueId list : {begins, ends}) {
    const std::vector<int64_t>& dims = op.emit.DimsOf(list);
    if (dims.size() != 1 || (dims[0] >= 0 && std::cmp_not_equal(dims[0], steps.size())))
      return Error(StatusCode::kModel, "begin or end has shape {}, expected {} elements as in strides",
                   ShapeToString(dims), steps.size());
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId edge, op.emit.Ints(first));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId starts, Masked(op, fronts, edge, begins));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId other_edge, op.emit.Ints(last));
  DEPUTY_ASSIGN_OR_RETURN(ValueId stops, Masked(op, backs, other_edge, ends));
  if (!squeezed.empty()) {
    // The last element has the number -1; the end after it has no number.
    DEPUTY_ASSIGN_OR_RETURN(const ValueId one, op.emit.Int(1));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId next, op.emit.Emit(OpKind::kAdd, {starts, one}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId zero, op.emit.Int(0));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId behind, op.emit.Emit(OpKind::kEqual, {next, zero}));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId end, op.emit.Int(kToEnd));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId stop, op.emit.Emit(OpKind::kWhere, {behind, end, next}));
    DEPUTY_ASSIGN_OR_RETURN(stops, Masked(op, single, stop, stops));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId all_axes, op.emit.Ints(axes));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId all_steps, op.emit.Ints(steps));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.emit.Emit(OpKind::kSlice, {id, starts, stops, all_axes, all_steps}));
  if (!squeezed.empty()) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(squeezed));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kSqueeze, {made, list}));
  }
  return op.Set(made, stored);
}

Status SplitInto(const Operation& op, TensorIndex tensor, size_t axis, std::vector<int64_t> sizes) {
  bool stored = true;
  for (const TensorIndex output : op.outputs()) {
    DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(tensor, output));
    stored = stored && alike;
  }
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout({&tensor, 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id,
                          stored ? op.tensors.Stored(tensor, layout) : op.tensors.Real(tensor, layout));
  NodeAttributes attributes{{"axis", AxisIn(layout, axis)}};
  std::vector<ValueId> inputs{id};
  if (sizes.empty()) {
    attributes.push_back({"num_outputs", static_cast<int64_t>(op.output_count())});
  } else {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(sizes));
    inputs.push_back(list);
  }
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> parts,
                          op.emit.EmitMany(OpKind::kSplit, std::move(inputs), op.output_count(), attributes));
  for (size_t i = 0; i < parts.size(); ++i) DEPUTY_RETURN_IF_ERROR(op.Set(parts[i], stored, layout, i));
  return {};
}

// An extent of the file's order; negative if unknown.
Result<int64_t> ExtentOf(const Operation& op, TensorIndex tensor, size_t axis) {
  DEPUTY_ASSIGN_OR_RETURN(const bool as_is, op.tensors.Has(tensor, Layout::kFile));
  const Layout layout = as_is ? Layout::kFile : Layout::kChannelsSecond;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.tensors.Stored(tensor, layout));
  return op.emit.DimsOf(id)[static_cast<size_t>(AxisIn(layout, axis))];
}

}  // namespace

Status Slice(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor begin, op.tensors.Constant(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor size, op.tensors.Constant(op.input(2)));
  if (begin.empty() || size.empty()) return SliceComputed(op, stored);
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> begins, op.tensors.Ints(op.input(1), "begin"));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, op.tensors.Ints(op.input(2), "size"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  if (begins.size() != rank || sizes.size() != rank)
    return Error(StatusCode::kModel, "begin has {} and size has {} entries for an input of rank {}", begins.size(),
                 sizes.size(), rank);
  std::vector<Cut> cuts;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (begins[axis] < 0 || sizes[axis] < -1 || begins[axis] > kToEnd - std::max<int64_t>(sizes[axis], 0))
      return Error(StatusCode::kModel, "begin {} or size {} is out of range", begins[axis], sizes[axis]);
    cuts.push_back({axis, begins[axis], sizes[axis] < 0 ? kToEnd : begins[axis] + sizes[axis], 1});
  }
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout({op.inputs().data(), 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, Sliced(op, id, cuts, layout));
  return op.Set(made, stored, layout);
}

Status StridedSlice(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::StridedSliceOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor begins, op.tensors.Constant(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor ends, op.tensors.Constant(op.input(2)));
  if (begins.empty() || ends.empty()) return StridedSliceComputed(op, *options, stored, rank);
  DEPUTY_ASSIGN_OR_RETURN(const StridedPlan plan, PlanOf(op, *options, rank));
  const bool same_rank = plan.squeezed.empty() && plan.added.empty();
  Layout layout = Layout::kFile;
  if (same_rank) {
    DEPUTY_ASSIGN_OR_RETURN(layout, op.CommonLayout({op.inputs().data(), 1}));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, Sliced(op, id, plan.cuts, layout));
  for (const auto& [kind, axes] :
       {std::pair(OpKind::kSqueeze, plan.squeezed), std::pair(OpKind::kUnsqueeze, plan.added)}) {
    if (axes.empty()) continue;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(axes));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(kind, {made, list}));
  }
  return op.Set(made, stored, layout);
}

Status Reverse(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, op.tensors.Ints(op.input(1), "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  std::vector<Cut> cuts;
  for (const int64_t entry : axes) {
    DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(entry, rank));
    cuts.push_back({axis, kToEnd, kToFront, -1});
  }
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout({op.inputs().data(), 1}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, Sliced(op, id, cuts, layout));
  return op.Set(made, stored, layout);
}

Status Split(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const int64_t entry, op.tensors.Int(op.input(0), "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(entry, rank));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t extent, ExtentOf(op, op.input(1), axis));
  const auto count = static_cast<int64_t>(op.output_count());
  if (extent < 0) return SplitInto(op, op.input(1), axis, {});
  if (extent % count != 0)
    return Error(StatusCode::kModel, "extent {} is not divisible by num_splits ({})", extent, count);
  return SplitInto(op, op.input(1), axis, std::vector<int64_t>(op.output_count(), extent / count));
}

Status SplitV(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, op.tensors.Ints(op.input(1), "size_splits"));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t entry, op.tensors.Int(op.input(2), "axis"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t axis, op.Axis(entry, rank));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t extent, ExtentOf(op, op.input(0), axis));
  if (sizes.size() != op.output_count())
    return Error(StatusCode::kModel, "size_splits has {} entries for {} outputs", sizes.size(), op.output_count());
  int64_t rest = extent;
  for (const int64_t size : sizes) {
    if (size < -1 || size > kBeyondEveryExtent)
      return Error(StatusCode::kModel, "size_splits has the out-of-range entry {}", size);
    rest -= std::max<int64_t>(size, 0);
  }
  const auto open = std::find(sizes.begin(), sizes.end(), -1);
  if (open != sizes.end() && extent < 0)
    return Error(StatusCode::kNotSupported, "size_splits with -1 along a dynamic extent is not supported");
  if (open != sizes.end()) *open = rest;
  if (open != sizes.end() && (rest < 0 || std::count(sizes.begin(), sizes.end(), -1) != 0))
    return Error(StatusCode::kModel, "size_splits does not match the extent {}", extent);
  return SplitInto(op, op.input(0), axis, std::move(sizes));
}

Status Unpack(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::UnpackOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const size_t place, op.Axis(options->axis(), rank));
  const auto axis = static_cast<int64_t>(place);
  bool stored = true;
  for (const TensorIndex output : op.outputs()) {
    DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(op.input(0), output));
    stored = stored && alike;
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId sizes, op.emit.Ints(std::vector<int64_t>(op.output_count(), 1)));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<ValueId> rows,
                          op.emit.EmitMany(OpKind::kSplit, {id, sizes}, op.output_count(), {{"axis", axis}}));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId axes, op.emit.Ints({&axis, 1}));
  for (size_t i = 0; i < rows.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kSqueeze, {rows[i], axes}));
    DEPUTY_RETURN_IF_ERROR(op.Set(made, stored, Layout::kFile, i));
  }
  return {};
}

}  // namespace deputy::host::tflite_import
