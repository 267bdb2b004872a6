// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on the CPU.
#include <vector>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "cpu/ops/quantized.hpp"
#include "kernels/cast.hpp"
#include "kernels/quantize.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

Result<const float*> ReadScales(const KernelArgs& args, size_t input, float* memory) {
  const ConstView scales = args.input(input);
  DEPUTY_RETURN_IF_ERROR(ElementBytes(scales).status());
  if (scales.dtype() == DType::kFloat32) return scales.data<float>();
  if (!IsFloating(scales.dtype()))
    return Error(StatusCode::kNotSupported, "scale of dtype {} is not supported", NameOf(scales.dtype()));
  FindConvert(scales.dtype(), DType::kFloat32)(scales.data<char>(), memory, scales.element_count());
  return memory;
}

Result<float> ReadScale(const KernelArgs& args, size_t input) {
  float value = 0;
  if (!args.input(input).present() || args.input(input).element_count() != 1)
    return Error(StatusCode::kNotSupported, "input {} must be one scale", input);
  DEPUTY_ASSIGN_OR_RETURN(const float* const scale, ReadScales(args, input, &value));
  return *scale;
}

Result<const void*> ReadZeroPoints(const KernelArgs& args, size_t input, DType dtype, int64_t count) {
  const ConstView zero_points = args.input(input);
  if (!zero_points.present()) return nullptr;
  DEPUTY_RETURN_IF_ERROR(CheckTyped(zero_points, dtype));
  if (zero_points.element_count() != count)
    return Error(StatusCode::kInvalidArgument, "zero point has {} elements, expected {}", zero_points.element_count(),
                 count);
  return zero_points.data<void>();
}

namespace {

struct QuantizationAttributes {
  int64_t axis, block;
};

// The inputs after the first, which quantization and dequantization share.
struct QuantizationInputs {
  ScaleLayout layout;
  const float* scales;
  const void* zero_points;
};

Result<QuantizationInputs> ReadInputs(const KernelArgs& args, QuantizationAttributes attributes, DType quantized) {
  const ConstView x = args.input(0), scales = args.input(1);
  DEPUTY_RETURN_IF_ERROR(CheckStored(x));
  DEPUTY_RETURN_IF_ERROR(CheckStored(scales));
  QuantizationInputs inputs;
  Result<ScaleLayout> layout = LayOutScales(x.dims(), scales.dims(), attributes.axis, attributes.block);
  if (!layout.ok()) return std::move(layout).status().WithCode(StatusCode::kInvalidArgument);
  inputs.layout = *layout;
  DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                          args.scratch.Get(static_cast<size_t>(scales.element_count()) * sizeof(float)));
  DEPUTY_ASSIGN_OR_RETURN(inputs.scales, ReadScales(args, 1, static_cast<float*>(memory)));
  DEPUTY_ASSIGN_OR_RETURN(inputs.zero_points, ReadZeroPoints(args, 2, quantized, scales.element_count()));
  return inputs;
}

QuantizationAttributes AttributesOf(const Primitive& primitive) {
  return {primitive.GetInt("axis", 1), primitive.GetInt("block_size", 0)};
}

Status CannotQuantize(DType from, DType to) {
  return Error(StatusCode::kNotSupported, "conversion of {} to {} is not supported", NameOf(from), NameOf(to));
}

}  // namespace

KernelResult MakeQuantizeLinear(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const QuantizationAttributes attributes = AttributesOf(spec.primitive());
  const bool saturate = spec.primitive().GetInt("saturate", 1) != 0;
  return KernelOf([attributes, saturate](const KernelArgs& args) -> Status {
    const MutableView output = args.output(0);
    DEPUTY_ASSIGN_OR_RETURN(const QuantizationInputs inputs, ReadInputs(args, attributes, output.dtype()));
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), x.dims()));
    const bool known = IsStorage(output.dtype())
                           ? QuantizeStorage(inputs.layout, x.dtype(), x.data<void>(), inputs.scales, output.dtype(),
                                             inputs.zero_points, saturate, output.data<void>(), args.pool)
                           : Quantize(inputs.layout, x.dtype(), x.data<void>(), inputs.scales, output.dtype(),
                                      inputs.zero_points, output.data<void>(), args.pool);
    return known ? Status() : CannotQuantize(x.dtype(), output.dtype());
  });
}

KernelResult MakeDequantizeLinear(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const QuantizationAttributes attributes = AttributesOf(spec.primitive());
  return KernelOf([attributes](const KernelArgs& args) -> Status {
    const ConstView x = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_ASSIGN_OR_RETURN(const QuantizationInputs inputs, ReadInputs(args, attributes, x.dtype()));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, output.dtype(), x.dims()));
    const bool known = Dequantize(inputs.layout, x.dtype(), x.data<void>(), inputs.scales, inputs.zero_points,
                                  output.dtype(), output.data<void>(), args.pool);
    return known ? Status() : CannotQuantize(x.dtype(), output.dtype());
  });
}

KernelResult MakeDynamicQuantizeLinear(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  return KernelOf([](const KernelArgs& args) -> Status {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, DType::kFloat32));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kUint8, x.dims()));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(1), DType::kFloat32, {}));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(2), DType::kUint8, {}));
    QuantizeDynamically(x.data<float>(), x.element_count(), args.output(0).data<uint8_t>(),
                        *args.output(1).data<float>(), *args.output(2).data<uint8_t>(), args.pool);
    return {};
  });
}

}  // namespace deputy::host
