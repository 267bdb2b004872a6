// CPU kernels of the operators that read or change only shapes, and of those that make tensors from shapes and scalars.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "deputy/storage.hpp"
#include "kernels/copy.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

KernelResult MakeCopy(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckMovable(spec));
  return KernelOf<OutputMemory::kView>([](const KernelArgs& args) { return CopyElements(args); });
}

// The bytes of 1 in each type, of the element's width.
Result<uint64_t> OneOf(DType dtype) {
  uint64_t bits = 0;
  if (dtype == DType::kFloat16) {
    bits = 0x3c00;
  } else if (dtype == DType::kBFloat16) {
    bits = 0x3f80;
  } else {
    const bool known = DispatchStored(dtype, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if constexpr (std::is_arithmetic_v<T>) {
        const T one{1};
        std::memcpy(&bits, &one, sizeof one);
      }
    });
    if (!known) return Error(StatusCode::kNotSupported, "EyeLike of {} is not supported", NameOf(dtype));
  }
  return bits;
}

// start + i·delta. Integers are computed as unsigned: the result is in range, but the product may overflow.
template <class T>
void WriteRange(const KernelArgs& args) {
  const T start = args.input(0).data<T>()[0], delta = args.input(2).data<T>()[0];
  T* output = args.output(0).data<T>();
  args.pool.ParallelFor(args.output(0).element_count(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        output[i] = start + static_cast<T>(i) * delta;
      } else {
        output[i] = static_cast<T>(static_cast<uint64_t>(start) +
                                   static_cast<uint64_t>(i) * static_cast<uint64_t>(static_cast<int64_t>(delta)));
      }
    }
  });
}

Half RoundTo(TypeTag<Half>, auto value) { return ToHalf(value); }
BFloat16 RoundTo(TypeTag<BFloat16>, auto value) { return ToBFloat16(value); }

// 16-bit floats are computed in a wider type and rounded once.
template <class T, class Wide>
void WriteHalfRange(const KernelArgs& args) {
  const Wide start{ToFloat(args.input(0).data<T>()[0])}, delta{ToFloat(args.input(2).data<T>()[0])};
  T* output = args.output(0).data<T>();
  args.pool.ParallelFor(args.output(0).element_count(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) output[i] = RoundTo(TypeTag<T>(), start + static_cast<Wide>(i) * delta);
  });
}

// In float, or in double by `stash_type`.
template <class T>
void WriteHalfRange(const KernelArgs& args, bool as_double) {
  as_double ? WriteHalfRange<T, double>(args) : WriteHalfRange<T, float>(args);
}

Status RunRange(const KernelArgs& args, bool as_double) {
  const ConstView start = args.input(0);
  for (size_t i = 0; i < 3; ++i) {
    const ConstView input = args.input(i);
    DEPUTY_RETURN_IF_ERROR(ElementBytes(input).status());
    if (input.dtype() != start.dtype() || input.element_count() != 1)
      return Error(StatusCode::kInvalidArgument, "start, limit and delta must be scalars of the same dtype");
  }
  DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), start.dtype(), args.output(0).dims()));
  switch (start.dtype()) {
    case DType::kInt16: WriteRange<int16_t>(args); break;
    case DType::kInt32: WriteRange<int32_t>(args); break;
    case DType::kInt64: WriteRange<int64_t>(args); break;
    case DType::kFloat16: WriteHalfRange<Half>(args, as_double); break;
    case DType::kBFloat16: WriteHalfRange<BFloat16>(args, as_double); break;
    case DType::kFloat32: WriteRange<float>(args); break;
    case DType::kFloat64: WriteRange<double>(args); break;
    default: return Error(StatusCode::kNotSupported, "Range of {} is not supported", NameOf(start.dtype()));
  }
  return {};
}

}  // namespace

KernelResult MakeReshape(const KernelSpec& spec) { return MakeCopy(spec); }
KernelResult MakeFlatten(const KernelSpec& spec) { return MakeCopy(spec); }
KernelResult MakeSqueeze(const KernelSpec& spec) { return MakeCopy(spec); }
KernelResult MakeUnsqueeze(const KernelSpec& spec) { return MakeCopy(spec); }

KernelResult MakeShape(const KernelSpec& spec) {
  const int64_t start = spec.primitive().GetInt("start", 0), end = spec.primitive().GetInt("end", INT64_MAX);
  return KernelOf([start, end](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const int64_t rank = static_cast<int64_t>(input.rank());
    const auto clamp = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
    const int64_t first = clamp(start), count = std::max<int64_t>(clamp(end) - first, 0);
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt64, {&count, 1}));
    for (int64_t i = 0; i < count; ++i) args.output(0).data<int64_t>()[i] = input.dim(static_cast<size_t>(first + i));
    return {};
  });
}

KernelResult MakeSize(const KernelSpec&) {
  return KernelOf([](const KernelArgs& args) -> Status {
    int64_t count = 1;
    for (const int64_t extent : args.input(0).dims()) count *= extent;
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), DType::kInt64, {}));
    *args.output(0).data<int64_t>() = count;
    return {};
  });
}

KernelResult MakeConstantOfShape(const KernelSpec& spec) {
  const std::optional<Tensor> value = spec.primitive().GetTensor("value");
  const DType dtype = value ? value->dtype() : DType::kFloat32;
  if (value && value->element_count() != 1)
    return Error(StatusCode::kModel, "attribute 'value' has {} elements, expected 1", value->element_count());
  uint64_t bits = 0;
  if (value) std::memcpy(&bits, value->data(), value->byte_size());
  return KernelOf([dtype, bits](const KernelArgs& args) -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const SmallDims dims, ReadInts(args.input(0), "input"));
    const MutableView output = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, dtype, dims));
    if (IsPacked(dtype)) {
      if (output.byte_size() != 0) output.data<uint8_t>()[output.byte_size() - 1] = 0;
      InParts(output.element_count(), kLongRow, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) SetCode(dtype, output.data<void>(), i, static_cast<uint8_t>(bits));
      });
      return {};
    }
    Fill(&bits, output.data<void>(), output.element_count(), SizeOf(dtype), args.pool);
    return {};
  });
}

KernelResult MakeEyeLike(const KernelSpec& spec) {
  // A diagonal outside the matrix is empty at any distance.
  const int64_t k = std::clamp<int64_t>(spec.primitive().GetInt("k", 0), -(int64_t{1} << 40), int64_t{1} << 40);
  const int64_t asked = spec.primitive().GetInt("dtype", 0);
  return KernelOf([k, asked](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    const DType dtype = asked == 0 ? input.dtype() : static_cast<DType>(asked);
    DEPUTY_RETURN_IF_ERROR(CheckOutput(output, dtype, input.dims()));
    DEPUTY_ASSIGN_OR_RETURN(const uint64_t one, OneOf(dtype));
    if (input.rank() != 2) return Error(StatusCode::kInvalidArgument, "input must have rank 2");
    const size_t bytes = SizeOf(dtype);
    FillZero(output.data<char>(), output.byte_size(), args.pool);
    const int64_t rows = input.dim(0), columns = input.dim(1), first = std::max<int64_t>(0, -k);
    InParts(std::max<int64_t>(0, std::min(rows, columns - k) - first), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t row = first + begin; row < first + end; ++row)
        std::memcpy(output.data<char>() + static_cast<size_t>(row * columns + row + k) * bytes, &one, bytes);
    });
    return {};
  });
}

KernelResult MakeRange(const KernelSpec& spec) {
  const int64_t stash = spec.primitive().GetInt("stash_type", 1);
  const bool as_double = stash == static_cast<int64_t>(DType::kFloat64);
  if (IsFloat16(spec.input_type(0).dtype) && stash != static_cast<int64_t>(DType::kFloat32) && !as_double)
    return Error(StatusCode::kNotSupported, "stash_type {} is not supported, expected 1 (float32) or 11 (float64)",
                 stash);
  return KernelOf([as_double](const KernelArgs& args) { return RunRange(args, as_double); });
}

KernelResult MakeConstant(const KernelSpec&) {
  return Error(StatusCode::kNotSupported, "a Constant is a value of the graph, not a node that runs");
}

KernelResult MakeIf(const KernelSpec&) {
  return Error(StatusCode::kNotSupported, "the branches of an If are run by the executor, not by a kernel");
}

KernelResult MakeLoop(const KernelSpec&) {
  return Error(StatusCode::kNotSupported, "the body of a Loop is run by the executor, not by a kernel");
}

KernelResult MakeScan(const KernelSpec&) {
  return Error(StatusCode::kNotSupported, "the body of a Scan is run by the executor, not by a kernel");
}

}  // namespace deputy::host
