#include "operator_forms.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "../tflite_abi/builtin_params.hpp"

namespace deputy::tflite_delegate {
namespace {

using namespace tflite_abi;  // NOLINT(google-build-using-namespace): the structs of parameters
using Field = OptionField;

#define AT(type, field) offsetof(type, field)
constexpr Field kActivation[] = {{Field::kActivation, 0, AT(ActivationParams, activation)}};
constexpr Field kConv[] = {
    {Field::kPadding, 0, AT(ConvParams, padding)},    {Field::kInt, 1, AT(ConvParams, stride_width)},
    {Field::kInt, 2, AT(ConvParams, stride_height)},  {Field::kActivation, 3, AT(ConvParams, activation)},
    {Field::kInt, 4, AT(ConvParams, dilation_width)}, {Field::kInt, 5, AT(ConvParams, dilation_height)},
};
constexpr Field kDepthwiseConv[] = {
    {Field::kPadding, 0, AT(DepthwiseConvParams, padding)},
    {Field::kInt, 1, AT(DepthwiseConvParams, stride_width)},
    {Field::kInt, 2, AT(DepthwiseConvParams, stride_height)},
    {Field::kInt, 3, AT(DepthwiseConvParams, depth_multiplier)},
    {Field::kActivation, 4, AT(DepthwiseConvParams, activation)},
    {Field::kInt, 5, AT(DepthwiseConvParams, dilation_width)},
    {Field::kInt, 6, AT(DepthwiseConvParams, dilation_height)},
};
constexpr Field kTransposeConv[] = {
    {Field::kPadding, 0, AT(TransposeConvParams, padding)},
    {Field::kInt, 1, AT(TransposeConvParams, stride_width)},
    {Field::kInt, 2, AT(TransposeConvParams, stride_height)},
    {Field::kActivation, 3, AT(TransposeConvParams, activation)},
};
constexpr Field kPool[] = {
    {Field::kPadding, 0, AT(PoolParams, padding)},   {Field::kInt, 1, AT(PoolParams, stride_width)},
    {Field::kInt, 2, AT(PoolParams, stride_height)}, {Field::kInt, 3, AT(PoolParams, filter_width)},
    {Field::kInt, 4, AT(PoolParams, filter_height)}, {Field::kActivation, 5, AT(PoolParams, activation)},
};
constexpr Field kFullyConnected[] = {
    {Field::kActivation, 0, AT(FullyConnectedParams, activation)},
    {Field::kByte, 1, AT(FullyConnectedParams, weights_format)},
    {Field::kBool, 2, AT(FullyConnectedParams, keep_num_dims)},
};
constexpr Field kFloat[] = {{Field::kFloat, 0, AT(FloatParams, value)}};
constexpr Field kInt[] = {{Field::kInt, 0, AT(IntParams, value)}};
constexpr Field kBool[] = {{Field::kBool, 0, AT(BoolParams, value)}};
constexpr Field kConcatenation[] = {
    {Field::kInt, 0, AT(ConcatenationParams, axis)},
    {Field::kActivation, 1, AT(ConcatenationParams, activation)},
};
constexpr Field kLocalResponseNorm[] = {
    {Field::kInt, 0, AT(LocalResponseNormParams, radius)},
    {Field::kFloat, 1, AT(LocalResponseNormParams, bias)},
    {Field::kFloat, 2, AT(LocalResponseNormParams, alpha)},
    {Field::kFloat, 3, AT(LocalResponseNormParams, beta)},
};
// The file has two sizes before them, which are not used any more.
constexpr Field kResizeBilinear[] = {
    {Field::kBool, 2, AT(ResizeParams, align_corners)},
    {Field::kBool, 3, AT(ResizeParams, half_pixel_centers)},
};
constexpr Field kResizeNearest[] = {
    {Field::kBool, 0, AT(ResizeParams, align_corners)},
    {Field::kBool, 1, AT(ResizeParams, half_pixel_centers)},
};
constexpr Field kReshape[] = {
    {Field::kInts, 0, AT(ReshapeParams, shape), AT(ReshapeParams, rank), std::size(ReshapeParams().shape)}};
constexpr Field kSqueeze[] = {
    {Field::kInts, 0, AT(SqueezeParams, dims), AT(SqueezeParams, count), std::size(SqueezeParams().dims)}};
constexpr Field kGather[] = {
    {Field::kInt, 0, AT(GatherParams, axis)},
    {Field::kInt, 1, AT(GatherParams, batch_dims)},
};
constexpr Field kStridedSlice[] = {
    {Field::kInt, 0, AT(StridedSliceParams, begin_mask)},       {Field::kInt, 1, AT(StridedSliceParams, end_mask)},
    {Field::kInt, 2, AT(StridedSliceParams, ellipsis_mask)},    {Field::kInt, 3, AT(StridedSliceParams, new_axis_mask)},
    {Field::kInt, 4, AT(StridedSliceParams, shrink_axis_mask)}, {Field::kBool, 5, AT(StridedSliceParams, offset)},
};
constexpr Field kPack[] = {
    {Field::kInt, 0, AT(PackParams, count)},
    {Field::kInt, 1, AT(PackParams, axis)},
};
constexpr Field kMirrorPad[] = {{Field::kMirrorPadMode, 0, AT(MirrorPadParams, mode)}};
constexpr Field kBatchMatMul[] = {
    {Field::kBool, 0, AT(BatchMatMulParams, adj_x)},
    {Field::kBool, 1, AT(BatchMatMulParams, adj_y)},
};
constexpr Field kCumsum[] = {
    {Field::kBool, 0, AT(CumsumParams, exclusive)},
    {Field::kBool, 1, AT(CumsumParams, reverse)},
};
#undef AT

constexpr OperatorForm kForms[] = {
#define TFLITE_OPERATOR(name, number, options, fields, shaping) {#name, number, options, fields, shaping},
#define TFLITE_LEFT(name, number, reason)
#include "operators.inc"
};

constexpr LeftOperator kLeft[] = {
#define TFLITE_OPERATOR(name, number, options, fields, shaping)
#define TFLITE_LEFT(name, number, reason) {#name, number, reason},
#include "operators.inc"
};

template <class T>
T Read(const void* params, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(params) + offset, sizeof(T));
  return value;
}

bool ReadBool(const void* params, size_t offset) { return Read<uint8_t>(params, offset) != 0; }

Status Unknown(const char* subject, int number) {
  return Status(StatusCode::kNotSupported,
                std::string("has the ") + subject + " " + std::to_string(number) + ", which files cannot have");
}

// Of an enumeration: as a byte of the file.
Result<int8_t> ReadEnumeration(const OptionField& field, const void* params) {
  const int number = Read<int>(params, field.offset);
  switch (field.kind) {
    case OptionField::kPadding:
      if (number < 1 || number > 2) return Unknown("padding", number);
      return static_cast<int8_t>(number - 1);
    case OptionField::kMirrorPadMode:
      if (number < 1 || number > 2) return Unknown("padding mode", number);
      return static_cast<int8_t>(number - 1);
    case OptionField::kActivation:
      if (number < 0 || number > 5) return Unknown("activation", number);
      return static_cast<int8_t>(number);
    default:
      if (number < 0 || number > 127) return Unknown("format", number);
      return static_cast<int8_t>(number);
  }
}

bool IsEnumeration(OptionField::Kind kind) {
  return kind == OptionField::kPadding || kind == OptionField::kActivation || kind == OptionField::kMirrorPadMode ||
         kind == OptionField::kByte;
}

// The fields are checked before the first is written: a table that was begun has to be ended.
Status Check(const OperatorForm& form, const void* params) {
  for (const OptionField& field : form.fields) {
    if (IsEnumeration(field.kind)) DEPUTY_RETURN_IF_ERROR(ReadEnumeration(field, params).status());
    if (field.kind != OptionField::kInts) continue;
    const int count = Read<int>(params, field.count_offset);
    if (count < 0 || count > field.most)
      return Status(StatusCode::kInvalidArgument, "has parameters with " + std::to_string(count) + " elements");
  }
  return {};
}

}  // namespace

const LeftOperator* LeftOperatorOf(int32_t number) {
  const auto* found =
      std::find_if(std::begin(kLeft), std::end(kLeft), [&](const LeftOperator& left) { return left.number == number; });
  return found != std::end(kLeft) ? found : nullptr;
}

const OperatorForm* FormOf(int32_t number) {
  const auto* found = std::lower_bound(std::begin(kForms), std::end(kForms), number,
                                       [](const OperatorForm& form, int32_t wanted) { return form.number < wanted; });
  return found != std::end(kForms) && found->number == number ? found : nullptr;
}

Result<flatbuffers::Offset<void>> WriteOptions(flatbuffers::FlatBufferBuilder& builder, const OperatorForm& form,
                                               const void* params) {
  if (form.options == 0) return flatbuffers::Offset<void>();
  if (params == nullptr) return Status(StatusCode::kInvalidArgument, "has no parameters");
  DEPUTY_RETURN_IF_ERROR(Check(form, params));
  flatbuffers::Offset<flatbuffers::Vector<int32_t>> list;  // no operator has two
  for (const OptionField& field : form.fields) {
    if (field.kind != OptionField::kInts) continue;
    std::vector<int32_t> values(static_cast<size_t>(Read<int>(params, field.count_offset)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = Read<int32_t>(params, field.offset + i * sizeof(int32_t));
    list = builder.CreateVector(values);
  }
  const flatbuffers::uoffset_t start = builder.StartTable();
  for (const OptionField& field : form.fields) {
    const flatbuffers::voffset_t place = flatbuffers::FieldIndexToOffset(field.id);
    if (IsEnumeration(field.kind)) {
      builder.AddElement<int8_t>(place, *ReadEnumeration(field, params));
      continue;
    }
    switch (field.kind) {
      case OptionField::kInt: builder.AddElement<int32_t>(place, Read<int>(params, field.offset)); break;
      case OptionField::kFloat: builder.AddElement<float>(place, Read<float>(params, field.offset)); break;
      case OptionField::kBool: builder.AddElement<uint8_t>(place, ReadBool(params, field.offset)); break;
      default: builder.AddOffset(place, list); break;
    }
  }
  return flatbuffers::Offset<void>(builder.EndTable(start));
}

}  // namespace deputy::tflite_delegate
