// CPU kernels of Resize and Upsample. The nearest neighbour only moves elements; the other modes compute in float
// (double for 64-bit floats and wide integers), along one axis after the other, shrinking axes first.
#include "kernels/resize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/aligned.hpp"
#include "base/cancellation.hpp"
#include "base/checked.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "graph/inference/resizing.hpp"
#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

struct ResizeAttributes {
  Primitive primitive;  // owns the axes
  ResizeMethod method;
  ResizeInputs inputs;
  AspectRatio aspect = AspectRatio::kStretch;
  std::span<const int64_t> axes;
};

template <class Enum, size_t kCount>
Result<Enum> Named(std::string_view name, const std::array<std::pair<std::string_view, Enum>, kCount>& names,
                   const char* subject) {
  for (const auto& [known, value] : names)
    if (known == name) return value;
  return Error(StatusCode::kModel, "{} '{}' is not valid", subject, name);
}

Result<ResizeMode> ModeOf(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, ResizeMode>, 4> kNames = {
      {{"nearest", ResizeMode::kNearest},
       {"linear", ResizeMode::kLinear},
       {"bilinear", ResizeMode::kLinear},  // Upsample version 1
       {"cubic", ResizeMode::kCubic}}};
  return Named(name, kNames, "mode");
}

Result<ResizeCoordinates> CoordinatesOf(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, ResizeCoordinates>, 7> kNames = {
      {{"half_pixel", ResizeCoordinates::kHalfPixel},
       {"half_pixel_symmetric", ResizeCoordinates::kHalfPixelSymmetric},
       {"pytorch_half_pixel", ResizeCoordinates::kPytorchHalfPixel},
       {"align_corners", ResizeCoordinates::kAlignCorners},
       {"asymmetric", ResizeCoordinates::kAsymmetric},
       {"tf_half_pixel_for_nn", ResizeCoordinates::kTfHalfPixelForNn},
       {"tf_crop_and_resize", ResizeCoordinates::kTfCropAndResize}}};
  return Named(name, kNames, "coordinate_transformation_mode");
}

Result<ResizeNearestMode> NearestModeOf(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, ResizeNearestMode>, 4> kNames = {
      {{"round_prefer_floor", ResizeNearestMode::kRoundPreferFloor},
       {"round_prefer_ceil", ResizeNearestMode::kRoundPreferCeil},
       {"floor", ResizeNearestMode::kFloor},
       {"ceil", ResizeNearestMode::kCeil}}};
  return Named(name, kNames, "nearest_mode");
}

Result<ResizeAttributes> ReadAttributes(const Primitive& primitive) {
  ResizeAttributes attributes;
  attributes.primitive = primitive;
  attributes.inputs = ResizeInputsOf(primitive);
  ResizeMethod& method = attributes.method;
  DEPUTY_ASSIGN_OR_RETURN(method.mode, ModeOf(primitive.GetString("mode", "nearest")));
  if (!attributes.inputs.roi) {
    method.coordinates = ResizeCoordinates::kAsymmetric;
    method.nearest = ResizeNearestMode::kFloorOrCeil;
    return attributes;
  }
  DEPUTY_ASSIGN_OR_RETURN(method.coordinates,
                          CoordinatesOf(primitive.GetString("coordinate_transformation_mode", "half_pixel")));
  DEPUTY_ASSIGN_OR_RETURN(method.nearest, NearestModeOf(primitive.GetString("nearest_mode", "round_prefer_floor")));
  DEPUTY_ASSIGN_OR_RETURN(attributes.aspect, AspectRatioOf(primitive.GetString("keep_aspect_ratio_policy", "stretch")));
  method.antialias = primitive.GetInt("antialias", 0) != 0;
  method.exclude_outside = primitive.GetInt("exclude_outside", 0) != 0;
  method.cubic_coefficient = primitive.GetFloat("cubic_coeff_a", -0.75f);
  method.extrapolation_value = primitive.GetFloat("extrapolation_value", 0);
  attributes.axes = primitive.GetInts("axes");
  return attributes;
}

Result<float> FloatAt(const ConstView& tensor, size_t i) {
  const ConvertFunction convert = FindConvert(tensor.dtype(), DType::kFloat32);
  const size_t size = SizeOf(tensor.dtype());
  if (convert == nullptr || (i + 1) * size > tensor.byte_size())
    return Error(StatusCode::kInvalidArgument, "roi has {} elements, expected a start and an end for each axis",
                 size == 0 ? 0 : tensor.byte_size() / size);
  float value = 0;
  convert(tensor.data<char>() + i * size, &value, 1);
  return value;
}

// One run: the axes that change, and memory for their tables.
class ResizeRun {
 public:
  ResizeRun(const ResizeAttributes& attributes, const KernelArgs& args)
      : attributes_(attributes), method_(attributes.method), args_(args), input_(args.input(0)) {}

  Status Run() {
    DEPUTY_ASSIGN_OR_RETURN(element_bytes_, ElementBytes(input_));
    DEPUTY_RETURN_IF_ERROR(ReadRequest());
    for (size_t axis = 0; axis < input_.rank(); ++axis) {
      DEPUTY_ASSIGN_OR_RETURN(const ResizeAxis resized, AxisOf(axis));
      dims_.push_back(resized.output);
      if (ResizeChanges(method_, resized)) changing_.push_back(static_cast<int64_t>(axis));
    }
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args_.output(0), input_.dtype(), dims_));
    if (args_.output(0).byte_size() == 0) return {};
    if (changing_.empty()) return CopyElements(args_);
    if (method_.mode == ResizeMode::kNearest) return RunNearest();
    if (!IsNumeric(input_.dtype()))
      return Error(StatusCode::kNotSupported, "{} is supported with mode nearest only", NameOf(input_.dtype()));
    const bool wide = input_.dtype() == DType::kFloat64 || (!IsFloating(input_.dtype()) && element_bytes_ >= 4);
    return wide ? Interpolate<double>() : Interpolate<float>();
  }

 private:
  Status ReadRequest() {
    request_.axes = attributes_.axes;
    request_.aspect = attributes_.aspect;
    const ConstView scales = args_.input(attributes_.inputs.scales);
    if (scales.present()) {
      DEPUTY_RETURN_IF_ERROR(ElementBytes(scales).status());
      if (scales.dtype() != DType::kFloat32)
        return Error(StatusCode::kInvalidArgument, "scales has dtype {}, expected float32", NameOf(scales.dtype()));
      request_.scales = scales.values<float>();
    }
    if (attributes_.inputs.sizes && args_.input(*attributes_.inputs.sizes).present()) {
      DEPUTY_ASSIGN_OR_RETURN(sizes_, ReadInts(args_.input(*attributes_.inputs.sizes), "sizes"));
      if (!request_.scales.empty() && !sizes_.empty())
        return Error(StatusCode::kInvalidArgument, "scales and sizes are both given, expected one of them");
      request_.sizes = {sizes_.data(), sizes_.size()};
    }
    return {};
  }

  Result<ResizeAxis> AxisOf(size_t axis) const {
    Result<ResizedAxis> resolved = ResolveResize(request_, input_.dims(), axis);
    if (!resolved.ok()) return std::move(resolved).status().WithCode(StatusCode::kInvalidArgument);
    ResizeAxis resized{input_.dim(axis), resolved->extent, resolved->scale, resolved->length, 0, 1};
    if (method_.coordinates == ResizeCoordinates::kTfCropAndResize && resolved->position) {
      const ConstView roi = args_.input(*attributes_.inputs.roi);
      if (!roi.present()) return Error(StatusCode::kInvalidArgument, "tf_crop_and_resize requires roi");
      const size_t count = attributes_.axes.empty() ? input_.rank() : attributes_.axes.size();
      DEPUTY_ASSIGN_OR_RETURN(resized.region_begin, FloatAt(roi, *resolved->position));
      DEPUTY_ASSIGN_OR_RETURN(resized.region_end, FloatAt(roi, count + *resolved->position));
    }
    return resized;
  }

  bool extrapolates() const { return method_.coordinates == ResizeCoordinates::kTfCropAndResize; }

  // Memory for lists along every axis.
  int64_t TotalLength() const {
    int64_t length = 0;
    for (const int64_t extent : dims_) length += extent;
    return length;
  }

  Status RunNearest() {
    const int64_t length = TotalLength();
    DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                            args_.scratch.Get(static_cast<size_t>(length) * (sizeof(int64_t) + sizeof(uint8_t))));
    int64_t* const maps = static_cast<int64_t*>(memory);
    int64_t* map = maps;
    for (size_t axis = 0; axis < input_.rank(); ++axis) {
      DEPUTY_ASSIGN_OR_RETURN(const ResizeAxis resized, AxisOf(axis));
      if (ResizeChanges(method_, resized)) {
        ResizeNeighbours(method_, resized, map);
      } else {
        InParts(resized.output, kLongRow, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) map[i] = i;
        });
      }
      map += resized.output;
    }
    ResizeByMaps(input_.dims(), dims_, maps, input_.data<char>(), args_.output(0).data<char>(), element_bytes_,
                 args_.pool);
    return extrapolates() ? Extrapolate(reinterpret_cast<uint8_t*>(maps + length)) : Status();
  }

  Status Extrapolate(uint8_t* const lists) const {
    uint8_t* list = lists;
    for (size_t axis = 0; axis < input_.rank(); ++axis) {
      DEPUTY_ASSIGN_OR_RETURN(const ResizeAxis resized, AxisOf(axis));
      ResizeOutside(method_, resized, list);
      list += resized.output;
    }
    uint64_t bits = 0;
    const auto convert = FindConvert(DType::kFloat32, input_.dtype());
    if (convert == nullptr)
      return Error(StatusCode::kNotSupported, "extrapolation for dtype {} is not supported", NameOf(input_.dtype()));
    convert(&method_.extrapolation_value, &bits, 1);
    FillOutside(dims_, lists, &bits, args_.output(0).data<char>(), element_bytes_);
    return {};
  }

  // Memory for one pass after the other: two alternating buffers, and the tables of the current axis.
  struct Layout {
    size_t buffer_bytes = 0, neighbour_bytes = 0, weight_bytes = 0, flag_bytes = 0;
    size_t total() const { return 2 * buffer_bytes + neighbour_bytes + weight_bytes + flag_bytes; }
  };

  template <class T>
  Result<Layout> Lay() const {
    Layout layout;
    SmallDims dims(input_.dims());
    std::optional<int64_t> largest = CheckedElementCount(dims);
    for (const int64_t axis : changing_) {
      DEPUTY_ASSIGN_OR_RETURN(const ResizeAxis resized, AxisOf(static_cast<size_t>(axis)));
      dims[static_cast<size_t>(axis)] = resized.output;
      const std::optional<int64_t> count = CheckedElementCount(dims);
      if (!count || !largest) return Error(StatusCode::kInvalidArgument, "the intermediate tensor is too large");
      largest = std::max(*largest, *count);
      const size_t taps = static_cast<size_t>(ResizeTaps(method_, resized) * resized.output);
      layout.neighbour_bytes = std::max(layout.neighbour_bytes, taps * sizeof(int64_t));
      layout.weight_bytes = std::max(layout.weight_bytes, AlignUp(taps * sizeof(T)));
    }
    layout.buffer_bytes = AlignUp(static_cast<size_t>(*largest) * sizeof(T));
    layout.neighbour_bytes = AlignUp(layout.neighbour_bytes);
    layout.flag_bytes = extrapolates() ? static_cast<size_t>(TotalLength()) : 0;
    return layout;
  }

  // Axes that shrink most are first: less work is left for the others.
  void SortAxes() {
    std::sort(changing_.begin(), changing_.end(), [this](int64_t a, int64_t b) {
      const size_t i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      const double left = static_cast<double>(dims_[i]) / static_cast<double>(input_.dim(i));
      const double right = static_cast<double>(dims_[j]) / static_cast<double>(input_.dim(j));
      return left != right ? left < right : a > b;
    });
  }

  template <class T>
  Status Interpolate() {
    SortAxes();
    DEPUTY_ASSIGN_OR_RETURN(const Layout layout, Lay<T>());
    DEPUTY_ASSIGN_OR_RETURN(void* const memory, args_.scratch.Get(layout.total()));
    char* const base = static_cast<char*>(memory);
    const std::array<T*, 2> buffers = {reinterpret_cast<T*>(base), reinterpret_cast<T*>(base + layout.buffer_bytes)};
    int64_t* const neighbours = reinterpret_cast<int64_t*>(base + 2 * layout.buffer_bytes);
    T* const weights = reinterpret_cast<T*>(base + 2 * layout.buffer_bytes + layout.neighbour_bytes);

    const bool native = input_.dtype() == kDTypeOf<T>;
    const T* source = input_.data<T>();
    size_t turn = 0;
    if (!native) {
      Cast(input_.dtype(), input_.data<char>(), kDTypeOf<T>, buffers[0], input_.element_count(), args_.pool);
      source = buffers[0];
      turn = 1;
    }
    SmallDims dims(input_.dims());
    for (size_t i = 0; i < changing_.size(); ++i) {
      const size_t axis = static_cast<size_t>(changing_[i]);
      DEPUTY_ASSIGN_OR_RETURN(const ResizeAxis resized, AxisOf(axis));
      const std::span<const int64_t> all(dims.data(), dims.size());
      const ResizeExtents extents{ElementCount(all.first(axis)), resized.input, resized.output,
                                  ElementCount(all.subspan(axis + 1))};
      ResizeWeights(method_, resized, neighbours, weights);
      T* const target = native && i + 1 == changing_.size() ? args_.output(0).data<T>() : buffers[turn];
      ResizeAlong(extents, ResizeTaps(method_, resized), neighbours, weights, source, target, args_.pool);
      dims[axis] = resized.output;
      source = target;
      turn = 1 - turn;
    }
    if (!native) Narrow(source, buffers[turn]);
    if (!extrapolates()) return {};
    return Extrapolate(reinterpret_cast<uint8_t*>(base + layout.total() - layout.flag_bytes));
  }

  // Integers are truncated, but rounded after a filter that sums many of them.
  template <class T>
  void Narrow(const T* source, T* rounded) const {
    const MutableView output = args_.output(0);
    if (method_.antialias && !IsFloating(input_.dtype())) {
      InParts(output.element_count(), kLongRow, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) rounded[i] = std::round(source[i]);
      });
      source = rounded;
    }
    Cast(kDTypeOf<T>, source, output.dtype(), output.data<char>(), output.element_count(), args_.pool);
  }

  const ResizeAttributes& attributes_;
  const ResizeMethod& method_;
  const KernelArgs& args_;
  const ConstView input_;
  size_t element_bytes_ = 0;
  ResizeRequest request_;
  SmallDims sizes_, dims_, changing_;
};

}  // namespace

KernelResult MakeResize(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  DEPUTY_ASSIGN_OR_RETURN(ResizeAttributes attributes, ReadAttributes(spec.primitive()));
  return KernelOf([attributes](const KernelArgs& args) { return ResizeRun(attributes, args).Run(); });
}

KernelResult MakeUpsample(const KernelSpec& spec) { return MakeResize(spec); }

}  // namespace deputy::host
