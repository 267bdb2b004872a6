// Operators that change the size of images: padding, resizing, and moving between space, depth and batch.
#include <array>
#include <limits>

#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr int64_t kBehindTheLast = std::numeric_limits<int64_t>::max();

struct PadPlan {
  bool known;
  std::vector<int64_t> before, after;  // per axis of the file's order
};

Result<PadPlan> PlanOf(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  DEPUTY_ASSIGN_OR_RETURN(const Tensor constant, op.tensors.Constant(op.input(1)));
  if (constant.empty()) return PadPlan{false, {}, {}};
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, op.tensors.Ints(op.input(1), "paddings"));
  if (pads.size() != 2 * rank)
    return Error(StatusCode::kModel, "paddings has {} values for an input of rank {}, expected 2 per axis", pads.size(),
                 rank);
  PadPlan plan{true, {}, {}};
  for (size_t i = 0; i < rank; ++i) {
    if (pads[2 * i] < 0 || pads[2 * i + 1] < 0) return Error(StatusCode::kModel, "paddings must not be negative");
    plan.before.push_back(pads[2 * i]);
    plan.after.push_back(pads[2 * i + 1]);
  }
  return plan;
}

// The pads in ONNX's order: all before the elements, then all after them.
Result<ValueId> PadList(const Operation& op, const PadPlan& plan, Layout layout) {
  if (plan.known) {
    std::vector<int64_t> list;
    for (const auto& part : {plan.before, plan.after}) {
      const std::vector<int64_t> placed = layout == Layout::kFile ? part : Permuted(part, kToChannelsSecond);
      list.insert(list.end(), placed.begin(), placed.end());
    }
    return op.emit.Ints(list);
  }
  constexpr std::array<int64_t, 2> kSwapped{1, 0};
  const int64_t all = -1;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId pairs, op.tensors.Int64s(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId rows, op.emit.Transposed(pairs, kSwapped));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints({&all, 1}));
  return op.emit.Emit(OpKind::kReshape, {rows, shape});
}

// The padding value: the given one, or zero as the tensor stores it.
Result<ValueId> PadValue(const Operation& op, bool stored) {
  if (!op.has_input(2)) {
    if (!stored) return kNone;
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
    if (!info->is_quantized()) return kNone;
    return op.emit.Number(static_cast<double>(info->quantization.zero_points[0]), info->dtype);
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId value, op.Operand(2, stored));
  if (op.emit.TypeOf(value).ranked && op.emit.RankOf(value) == 0) return value;
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints({}));
  return op.emit.Emit(OpKind::kReshape, {value, shape});
}

Result<bool> PadsAlike(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool alike, op.Alike(op.input(0), op.output()));
  if (!alike || !op.has_input(2)) return alike;
  return op.Alike(op.input(2), op.output());
}

// Mirror padding that repeats the outermost element, a mode that Pad does not have.
Result<std::vector<int64_t>> Mirrored(int64_t extent, int64_t before, int64_t after) {
  constexpr int64_t kMost = 1 << 20;  // the length of the list of indices
  if (before > extent || after > extent)
    return Error(StatusCode::kModel, "paddings {} and {} exceed the extent {}", before, after, extent);
  if (extent > kMost)
    return Error(StatusCode::kNotSupported, "mirror padding of extent {} is not supported, at most {} is", extent,
                 kMost);
  std::vector<int64_t> places;
  for (int64_t i = before; i-- > 0;) places.push_back(i);
  for (int64_t i = 0; i < extent; ++i) places.push_back(i);
  for (int64_t i = 0; i < after; ++i) places.push_back(extent - 1 - i);
  return places;
}

Status ImportResize(const Operation& op, bool stored, bool align_corners, bool half_pixel, NodeAttributes attributes) {
  const std::string how = align_corners ? "align_corners" : half_pixel ? "half_pixel" : "asymmetric";
  attributes.push_back({"coordinate_transformation_mode", how});
  attributes.push_back({"axes", std::vector<int64_t>{2, 3}});
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId size, op.tensors.Int64s(op.input(1)));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kResize, {id, kNone, kNone, size}, attributes));
  return op.Set(made, stored, Layout::kChannelsSecond);
}

Status ImportBlocks(const Operation& op, OpKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::BlockOptions>());
  if (options->block_size() < 1)
    return Error(StatusCode::kModel, "block_size must be at least 1, got {}", options->block_size());
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, Layout::kChannelsSecond));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made,
                          op.emit.Emit(kind, {id}, {{"blocksize", int64_t{options->block_size()}}}));
  return op.Set(made, stored, Layout::kChannelsSecond);
}

Result<ValueId> ReshapedTo(const Operation& op, ValueId id, std::span<const int64_t> dims) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueId shape, op.emit.Ints(dims));
  return op.emit.Emit(OpKind::kReshape, {id, shape});
}

// The blocks, and the begins and ends of the axes after the first, of SpaceToBatch and BatchToSpace.
struct Blocks {
  std::vector<int64_t> sizes, before, after;
};

Result<Blocks> BlocksOf(const Operation& op) {
  constexpr int64_t kMost = 1 << 16, kMostEdge = int64_t{1} << 32;
  Blocks blocks;
  DEPUTY_ASSIGN_OR_RETURN(blocks.sizes, op.tensors.Ints(op.input(1), "block_shape"));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> edges, op.tensors.Ints(op.input(2), "paddings or crops"));
  DEPUTY_ASSIGN_OR_RETURN(const size_t rank, op.tensors.Rank(op.input(0)));
  if (blocks.sizes.empty() || blocks.sizes.size() >= rank || edges.size() != 2 * blocks.sizes.size())
    return Error(StatusCode::kModel,
                 "block_shape with {} and paddings or crops with {} values do not match an input of rank {}",
                 blocks.sizes.size(), edges.size(), rank);
  for (size_t i = 0; i < blocks.sizes.size(); ++i) {
    const bool edged =
        edges[2 * i] >= 0 && edges[2 * i] <= kMostEdge && edges[2 * i + 1] >= 0 && edges[2 * i + 1] <= kMostEdge;
    if (blocks.sizes[i] < 1 || blocks.sizes[i] > kMost || !edged)
      return Error(StatusCode::kModel, "block_shape {} with paddings or crops {} and {} is out of range",
                   blocks.sizes[i], edges[2 * i], edges[2 * i + 1]);
    blocks.before.push_back(edges[2 * i]);
    blocks.after.push_back(edges[2 * i + 1]);
  }
  return blocks;
}

Status CheckKnown(std::span<const int64_t> dims) {
  for (const int64_t dim : dims.subspan(1))
    if (dim < 0) return Error(StatusCode::kNotSupported, "dynamic extents are only supported for the batch");
  return {};
}

}  // namespace

Status Pad(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, PadsAlike(op));
  DEPUTY_ASSIGN_OR_RETURN(const PadPlan plan, PlanOf(op));
  Layout layout = Layout::kFile;
  if (plan.known) {
    DEPUTY_ASSIGN_OR_RETURN(layout, op.CommonLayout({op.inputs().data(), 1}));
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.Operand(0, stored, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId pads, PadList(op, plan, layout));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId value, PadValue(op, stored));
  DEPUTY_ASSIGN_OR_RETURN(const ValueId made, op.emit.Emit(OpKind::kPad, {id, pads, value}));
  return op.Set(made, stored, layout);
}

Status MirrorPad(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::MirrorPadOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const PadPlan plan, PlanOf(op));
  DEPUTY_ASSIGN_OR_RETURN(const Layout layout, op.CommonLayout({op.inputs().data(), 1}));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.Operand(0, stored, layout));
  if (options->mode() == fb::MirrorPadMode_REFLECT) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId pads, PadList(op, plan, plan.known ? layout : Layout::kFile));
    if (!plan.known) {
      DEPUTY_ASSIGN_OR_RETURN(made, op.Operand(0, stored));
    }
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kPad, {made, pads}, {{"mode", std::string("reflect")}}));
    return op.Set(made, stored, plan.known ? layout : Layout::kFile);
  }
  if (!plan.known) return Error(StatusCode::kNotSupported, "paddings must be a constant");
  for (size_t axis = 0; axis < plan.before.size(); ++axis) {
    if (plan.before[axis] == 0 && plan.after[axis] == 0) continue;
    const int64_t place = AxisIn(layout, axis), extent = op.emit.DimsOf(made)[static_cast<size_t>(place)];
    if (extent < 0) return Error(StatusCode::kNotSupported, "mirror padding of a dynamic extent is not supported");
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> places, Mirrored(extent, plan.before[axis], plan.after[axis]));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(places));
    DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kGather, {made, list}, {{"axis", place}}));
  }
  return op.Set(made, stored, layout);
}

Status ResizeBilinear(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ResizeBilinearOptions>());
  return ImportResize(op, false, options->align_corners(), options->half_pixel_centers(),
                      {{"mode", std::string("linear")}});
}

// The coordinate is rounded down, or to the nearest with half-pixel centers or aligned corners.
Status ResizeNearest(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const auto* options, op.Options<fb::ResizeNearestNeighborOptions>());
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  const bool nearest = options->align_corners() || options->half_pixel_centers();
  return ImportResize(
      op, stored, options->align_corners(), options->half_pixel_centers(),
      {{"mode", std::string("nearest")}, {"nearest_mode", std::string(nearest ? "round_prefer_ceil" : "floor")}});
}

Status SpaceToDepth(const Operation& op) { return ImportBlocks(op, OpKind::kSpaceToDepth); }
Status DepthToSpace(const Operation& op) { return ImportBlocks(op, OpKind::kDepthToSpace); }

// [n, a * p, b * q, c] becomes [p * q * n, a, b, c].
Status SpaceToBatch(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(op));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.Operand(0, stored));
  const size_t rank = op.emit.RankOf(made), count = blocks.sizes.size();
  std::vector<int64_t> pads(2 * rank, 0);
  for (size_t i = 0; i < count; ++i) {
    pads[i + 1] = blocks.before[i];
    pads[rank + i + 1] = blocks.after[i];
  }
  DEPUTY_ASSIGN_OR_RETURN(const ValueId list, op.emit.Ints(pads));
  ValueId zero = kNone;
  DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, op.tensors.Info(op.input(0)));
  if (stored && info->is_quantized()) {
    DEPUTY_ASSIGN_OR_RETURN(zero, op.emit.Number(static_cast<double>(info->quantization.zero_points[0]), info->dtype));
  }
  DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kPad, {made, list, zero}));
  const std::vector<int64_t> dims = op.emit.DimsOf(made);
  DEPUTY_RETURN_IF_ERROR(CheckKnown(dims));
  std::vector<int64_t> parts{0}, perm, blocked{-1};
  for (size_t i = 0; i < count; ++i) {
    if (dims[i + 1] % blocks.sizes[i] != 0)
      return Error(StatusCode::kModel, "extent {} is not divisible by the block size {}", dims[i + 1], blocks.sizes[i]);
    parts.push_back(dims[i + 1] / blocks.sizes[i]);
    parts.push_back(blocks.sizes[i]);
    blocked.push_back(dims[i + 1] / blocks.sizes[i]);
    perm.push_back(static_cast<int64_t>(2 * i + 2));
  }
  perm.push_back(0);
  for (size_t i = 0; i < count; ++i) perm.push_back(static_cast<int64_t>(2 * i + 1));
  for (size_t i = count + 1; i < rank; ++i) {
    parts.push_back(dims[i]);
    blocked.push_back(dims[i]);
    perm.push_back(static_cast<int64_t>(i + count));
  }
  DEPUTY_ASSIGN_OR_RETURN(made, ReshapedTo(op, made, parts));
  DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Transposed(made, perm));
  DEPUTY_ASSIGN_OR_RETURN(made, ReshapedTo(op, made, blocked));
  return op.Set(made, stored);
}

// [p * q * n, a, b, c] becomes [n, a * p, b * q, c], cropped.
Status BatchToSpace(const Operation& op) {
  DEPUTY_ASSIGN_OR_RETURN(const bool stored, op.Alike(op.input(0), op.output()));
  DEPUTY_ASSIGN_OR_RETURN(const Blocks blocks, BlocksOf(op));
  DEPUTY_ASSIGN_OR_RETURN(ValueId made, op.Operand(0, stored));
  const std::vector<int64_t> dims = op.emit.DimsOf(made);
  const size_t rank = dims.size(), count = blocks.sizes.size();
  DEPUTY_RETURN_IF_ERROR(CheckKnown(dims));
  std::vector<int64_t> parts = blocks.sizes, perm{static_cast<int64_t>(count)}, whole{-1};
  parts.push_back(-1);
  parts.insert(parts.end(), dims.begin() + 1, dims.end());
  std::vector<int64_t> starts, ends, axes;
  for (size_t i = 0; i < count; ++i) {
    const int64_t extent = dims[i + 1] * blocks.sizes[i];
    if (blocks.before[i] + blocks.after[i] > extent)
      return Error(StatusCode::kModel, "crops {} and {} exceed the extent {}", blocks.before[i], blocks.after[i],
                   extent);
    perm.push_back(static_cast<int64_t>(count + 1 + i));
    perm.push_back(static_cast<int64_t>(i));
    whole.push_back(extent);
    axes.push_back(static_cast<int64_t>(i + 1));
    starts.push_back(blocks.before[i]);
    ends.push_back(blocks.after[i] == 0 ? kBehindTheLast : -blocks.after[i]);
  }
  for (size_t i = count + 1; i < rank; ++i) {
    perm.push_back(static_cast<int64_t>(i + count));
    whole.push_back(dims[i]);
  }
  DEPUTY_ASSIGN_OR_RETURN(made, ReshapedTo(op, made, parts));
  DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Transposed(made, perm));
  DEPUTY_ASSIGN_OR_RETURN(made, ReshapedTo(op, made, whole));
  std::vector<ValueId> inputs{made};
  for (const auto& list : {starts, ends, axes}) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, op.emit.Ints(list));
    inputs.push_back(id);
  }
  DEPUTY_ASSIGN_OR_RETURN(made, op.emit.Emit(OpKind::kSlice, std::move(inputs)));
  return op.Set(made, stored);
}

}  // namespace deputy::host::tflite_import
