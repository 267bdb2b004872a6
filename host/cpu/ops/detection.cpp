// NonMaxSuppression, RoiAlign and MaxRoiPool on the CPU.
#include "kernels/detection.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/parts.hpp"
#include "kernels/sort.hpp"

namespace deputy::host {
namespace {

Result<float> FloatOr(const KernelArgs& args, size_t input, float fallback) {
  const ConstView view = args.input(input);
  if (!view.present()) return fallback;
  DEPUTY_RETURN_IF_ERROR(CheckTyped(view, DType::kFloat32));
  if (view.element_count() != 1) return Error(StatusCode::kInvalidArgument, "input {} must have one element", input);
  return *view.data<float>();
}

Status RunSuppression(const KernelArgs& args, bool centers) {
  const ConstView boxes = args.input(0), scores = args.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(boxes, DType::kFloat32));
  DEPUTY_RETURN_IF_ERROR(CheckTyped(scores, DType::kFloat32));
  if (boxes.rank() != 3 || boxes.dim(2) != 4 || scores.rank() != 3 || scores.dim(0) != boxes.dim(0) ||
      scores.dim(2) != boxes.dim(1))
    return Error(StatusCode::kInvalidArgument, "boxes {} and scores {} are not [N,B,4] and [N,C,B]",
                 ShapeToString(boxes.dims()), ShapeToString(scores.dims()));
  Suppression how;
  how.centers = centers;
  how.boxes = boxes.dim(1);
  if (how.boxes > kMostPacked) return Error(StatusCode::kNotSupported, "{} boxes; at most 2^32 are sorted", how.boxes);
  if (args.input(2).present()) {
    DEPUTY_ASSIGN_OR_RETURN(const SmallDims limit, ReadInts(args.input(2), "max_output_boxes_per_class"));
    if (limit.size() != 1) return Error(StatusCode::kInvalidArgument, "max_output_boxes_per_class must be a scalar");
    how.limit = std::clamp<int64_t>(limit[0], 0, how.boxes);
  }
  DEPUTY_ASSIGN_OR_RETURN(how.overlap_threshold, FloatOr(args, 3, 0));
  DEPUTY_ASSIGN_OR_RETURN(how.score_threshold, FloatOr(args, 4, 0));
  how.by_score = args.input(4).present();
  const int64_t classes = scores.dim(1), lists = scores.dim(0) * classes;
  // The selected boxes of every list, their number, and memory for one order.
  const std::optional<int64_t> chosen = CheckedMultiply(lists, how.limit);
  if (!chosen) return Error(StatusCode::kInvalidArgument, "the number of selected boxes overflows int64");
  DEPUTY_ASSIGN_OR_RETURN(
      void* const memory,
      args.scratch.Get((static_cast<size_t>(*chosen) + static_cast<size_t>(lists + how.boxes)) * sizeof(int64_t)));
  int64_t* const lengths = static_cast<int64_t*>(memory);
  int64_t* const order = lengths + lists;
  int64_t* const picks = order + how.boxes;
  int64_t total = 0;
  ForEachUntilEnd(0, lists, StepsOf(how.boxes, 8), [&](int64_t list) {
    lengths[list] = SuppressOverlaps(how, boxes.data<float>() + list / classes * how.boxes * 4,
                                     scores.data<float>() + list * how.boxes, order, picks + list * how.limit);
    total += lengths[list];
  });
  // The lists that were left out have no length.
  DEPUTY_RETURN_IF_ERROR(CheckComplete());
  const int64_t dims[] = {total, 3};
  DEPUTY_RETURN_IF_ERROR(args.allocator->Allocate(args.outputs[0], dims));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt64, dims));
  int64_t* to = args.output(0).data<int64_t>();
  EndCheck check;
  for (int64_t list = 0; list < lists && !check.Ends(4 * lengths[list]); ++list)
    for (int64_t i = 0; i < lengths[list]; ++i) {
      *to++ = list / classes;
      *to++ = list % classes;
      *to++ = picks[list * how.limit + i];
    }
  return {};
}

// The extents that both poolings of regions have; regions are rows of `numbers` numbers.
Result<RegionShape> ShapeOf(const KernelArgs& args, int64_t numbers) {
  const ConstView x = args.input(0), regions = args.input(1);
  const MutableView y = args.output(0);
  if (x.rank() != 4 || regions.rank() != 2 || regions.dim(1) != numbers || y.rank() != 4 ||
      y.dim(0) != regions.dim(0) || y.dim(1) != x.dim(1))
    return Error(StatusCode::kInvalidArgument, "shapes of X {} and rois {} do not match each other or the output",
                 ShapeToString(x.dims()), ShapeToString(regions.dims()));
  if (x.dim(0) * x.dim(2) * x.dim(3) == 0 && y.dim(0) * y.dim(1) != 0)
    return Error(StatusCode::kInvalidArgument, "X of shape {} is empty", ShapeToString(x.dims()));
  return RegionShape{x.dim(1), x.dim(2), x.dim(3), regions.dim(0), y.dim(2), y.dim(3)};
}

template <class T>
class RegionAlignOperation {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    RegionShape shape;
    size_t workspace_bytes = 0;
  };

  explicit RegionAlignOperation(RegionAlign how) : how_(how) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    Plan plan;
    DEPUTY_ASSIGN_OR_RETURN(plan.shape, ShapeOf(args, 4));
    const ConstView batches = args.input(2);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(batches, DType::kInt64));
    if (batches.element_count() != plan.shape.regions)
      return Error(StatusCode::kInvalidArgument, "batch_indices has {} elements, expected {}, one per region",
                   batches.element_count(), plan.shape.regions);
    for (const int64_t batch : batches.values<int64_t>())
      if (batch < 0 || batch >= args.input(0).dim(0))
        return Error(StatusCode::kInvalidArgument, "batch index {} is outside [0, {}]", batch,
                     args.input(0).dim(0) - 1);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    AlignRegions(plan.shape, how_, args.input(0).data<T>(), args.input(1).data<T>(), args.input(2).data<int64_t>(),
                 args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  RegionAlign how_;
};

template <class T>
class RegionMaximum {
 public:
  static constexpr uint32_t kTypedInputs = 0b11, kTypedOutputs = 0b1;
  struct Plan {
    RegionShape shape;
    size_t workspace_bytes = 0;
  };

  explicit RegionMaximum(float scale) : scale_(scale) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    Plan plan;
    DEPUTY_ASSIGN_OR_RETURN(plan.shape, ShapeOf(args, 5));
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void*) const {
    MaxPoolRegions(plan.shape, args.input(0).dim(0), static_cast<double>(scale_), args.input(0).data<T>(),
                   args.input(1).data<T>(), args.output(0).data<T>(), args.pool);
    return Status();
  }

 private:
  float scale_;
};

}  // namespace

KernelResult MakeNonMaxSuppression(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const bool centers = spec.primitive().GetInt("center_point_box", 0) != 0;
  return KernelOf<OutputMemory::kOwn>([centers](const KernelArgs& args) { return RunSuppression(args, centers); });
}

KernelResult MakeRoiAlign(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  RegionAlign how;
  const std::string_view mode = primitive.GetString("mode", "avg");
  if (mode != "avg" && mode != "max") return Error(StatusCode::kModel, "mode must be avg or max, got '{}'", mode);
  how.pool = mode == "max" ? RegionPool::kMax : RegionPool::kAverage;
  how.sampling_ratio = primitive.GetInt("sampling_ratio", 0);
  constexpr int64_t kMostSamples = 1 << 12;  // along each axis; each bin takes their square
  if (how.sampling_ratio < 0 || how.sampling_ratio > kMostSamples)
    return Error(StatusCode::kModel, "sampling_ratio {} is out of range [0, {}]", how.sampling_ratio, kMostSamples);
  how.scale = static_cast<double>(primitive.GetFloat("spatial_scale", 1.0f));
  // The only mode up to opset 15.
  const char* const usual = primitive.since_version() < 16 ? "output_half_pixel" : "half_pixel";
  how.half_pixel = primitive.GetString("coordinate_transformation_mode", usual) == "half_pixel";
  return MakeFloatKernel<RegionAlignOperation>(spec, how);
}

KernelResult MakeMaxRoiPool(const KernelSpec& spec) {
  return MakeFloatKernel<RegionMaximum>(spec, spec.primitive().GetFloat("spatial_scale", 1.0f));
}

}  // namespace deputy::host
