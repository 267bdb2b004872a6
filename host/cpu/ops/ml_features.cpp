// Operators of ai.onnx.ml that prepare features on the CPU: scaled, normalized, replaced, selected, joined.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/ml_attributes.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"
#include "kernels/normalization.hpp"
#include "kernels/parts.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// The element types of the domain.
template <class F>
KernelResult DispatchMl(const KernelSpec& spec, F&& make) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  switch (spec.input_type(0).dtype) {
    case DType::kFloat32: return make(TypeTag<float>());
    case DType::kFloat64: return make(TypeTag<double>());
    case DType::kInt32: return make(TypeTag<int32_t>());
    case DType::kInt64: return make(TypeTag<int64_t>());
    case DType::kString: return CheckMovable(spec);
    default: return UnsupportedDType(spec);
  }
}

// Calls fn(i) for each element, on the threads.
template <class F>
void ForEach(int64_t count, ThreadPool& pool, F&& fn) {
  pool.ParallelFor(count, kGrainElements, [&](int64_t begin, int64_t end) {
    InParts(end - begin, kLongRow, [&](int64_t first, int64_t last) {
      for (int64_t i = begin + first; i < begin + last; ++i) fn(i);
    });
  });
}

// A list with one element for each feature, or one for all.
Result<int64_t> StepOf(const ConstView& x, size_t count, std::string_view attribute) {
  if (count == 1) return 1;
  DEPUTY_ASSIGN_OR_RETURN(const RowDims dims, ReadRowDims(x));
  if (count == static_cast<size_t>(dims.columns)) return dims.columns;
  return Error(StatusCode::kInvalidArgument, "X has {} features, attribute '{}' has {} elements, expected 1 or {}",
               dims.columns, attribute, count, dims.columns);
}

template <class T>
Status Scale(const KernelArgs& args, const std::vector<float>& scale, const std::vector<float>& offset) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<T>));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, DType::kFloat32, x.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t step, StepOf(x, scale.size(), "scale"));
  // In double, double is not rounded before the offset.
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  ForEach(x.element_count(), args.pool, [&, from = x.data<T>(), to = y.data<float>()](int64_t i) {
    const auto at = static_cast<size_t>(i % step);
    to[i] =
        static_cast<float>((static_cast<Wide>(from[i]) - static_cast<Wide>(offset[at])) * static_cast<Wide>(scale[at]));
  });
  return {};
}

enum class Norm : uint8_t { kMax, kL1, kL2 };

// A row whose norm is 0 stays as it is. The greatest element, not its magnitude, is the norm MAX.
template <class T>
void NormalizeRow(Norm norm, const T* from, int64_t count, float* to) {
  LineNorm divisor;
  if (norm == Norm::kMax) {
    divisor.value = std::numeric_limits<double>::lowest();
    InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) divisor.value = std::max(divisor.value, static_cast<double>(from[i]));
    });
  } else {
    divisor = NormOf(norm == Norm::kL1 ? 1 : 2, from, count, 1);
  }
  InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(from[i]);
      to[i] = static_cast<float>(divisor.value == 0 ? value : divisor.Divide(value));
    }
  });
}

template <class T>
Status Normalize(const KernelArgs& args, Norm norm) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<T>));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, DType::kFloat32, x.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const RowDims dims, ReadRowDims(x));
  const int64_t grain = kGrainElements / (dims.columns + 1) + 1;
  args.pool.ParallelFor(dims.rows, grain, [&](int64_t begin, int64_t end) {
    InParts(end - begin, grain, [&](int64_t first, int64_t last) {
      for (int64_t row = begin + first; row < begin + last; ++row)
        NormalizeRow(norm, x.data<T>() + row * dims.columns, dims.columns, y.data<float>() + row * dims.columns);
    });
  });
  return {};
}

template <class T>
Status Binarize(const KernelArgs& args, float threshold) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<T>));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, kDTypeOf<T>, x.dims()));
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  CancellationScope* const scope = CancellationScope::Current();
  for (int64_t i = 0; i < x.element_count(); ++i) {
    if (i % kGrainElements == 0 && scope != nullptr && scope->Ends()) return {};
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(from[i]))
        return Error(StatusCode::kInvalidArgument, "X has NaN at element {}, which is neither 0 nor 1", i);
    to[i] = static_cast<double>(from[i]) > static_cast<double>(threshold) ? T(1) : T(0);
  }
  return {};
}

template <class T>
Status Impute(const KernelArgs& args, T replaced, const std::vector<T>& values, std::string_view attribute) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<T>));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, kDTypeOf<T>, x.dims()));
  DEPUTY_ASSIGN_OR_RETURN(const int64_t step, StepOf(x, values.size(), attribute));
  bool replaces_nan = false;
  if constexpr (std::is_floating_point_v<T>) replaces_nan = std::isnan(replaced);
  ForEach(x.element_count(), args.pool, [&, from = x.data<T>(), to = y.data<T>()](int64_t i) {
    const T value = from[i];
    const bool is_missing = replaces_nan ? value != value : value == replaced;
    to[i] = is_missing ? values[static_cast<size_t>(i % step)] : value;
  });
  return {};
}

template <class T, class Given>
KernelResult MakeImputer(Given replaced, std::span<const Given> given, std::string_view attribute) {
  std::vector<T> values;
  for (const Given value : given) values.push_back(static_cast<T>(value));
  return KernelOf<OutputMemory::kOverInputs>(
      [replaced = static_cast<T>(replaced), values = std::move(values), attribute](const KernelArgs& args) {
        return Impute<T>(args, replaced, values, attribute);
      });
}

// One after the other; what is missing in an input of fewer features is 0, what is beyond is left out.
Status JoinFeatures(const KernelArgs& args, const std::vector<int64_t>& columns) {
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(y, DType::kFloat32));
  if (y.rank() != 2 || args.inputs.size() != columns.size())
    return Error(StatusCode::kInvalidArgument, "{} inputs, expected {}, one for each element of inputdimensions",
                 args.inputs.size(), columns.size());
  ZeroInParts(y.data<float>(), y.byte_size());
  EndCheck check;
  int64_t at = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ConstView x = args.input(i);
    DEPUTY_RETURN_IF_ERROR(CheckStored(x));
    const ConvertFunction convert = FindConvert(x.dtype(), DType::kFloat32);
    if (convert == nullptr)
      return Error(StatusCode::kNotSupported, "input {} has dtype {}, which is not supported", i, NameOf(x.dtype()));
    if (x.rank() == 0) return Error(StatusCode::kInvalidArgument, "input {} is a scalar, expected rows", i);
    const int64_t rows = x.rank() == 1 ? 1 : x.dim(0);
    if (rows != y.dim(0))
      return Error(StatusCode::kInvalidArgument, "input {} has {} rows, input 0 has {}", i, rows, y.dim(0));
    const int64_t size = rows == 0 ? 0 : x.element_count() / rows, count = std::min(size, columns[i]);
    for (int64_t row = 0; row < rows && !check.Ends(count); ++row)
      InParts(count, kLongRow, [&](int64_t begin, int64_t end) {
        convert(x.data<char>() + static_cast<size_t>(row * size + begin) * SizeOf(x.dtype()),
                y.data<float>() + row * y.dim(1) + at + begin, end - begin);
      });
    at += columns[i];
  }
  return {};
}

template <class T>
Status Extract(const KernelArgs& args) {
  const ConstView x = args.input(0), indices = args.input(1);
  const MutableView z = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<T>));
  DEPUTY_RETURN_IF_ERROR(CheckTyped(indices, DType::kInt64));
  DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(z, kDTypeOf<T>));
  if (x.rank() == 0) return Error(StatusCode::kInvalidArgument, "X is a scalar, expected at least one axis");
  const int64_t columns = x.dim(x.rank() - 1), count = indices.element_count();
  const int64_t rows = ElementCount(x.dims().first(x.rank() - 1));
  if (z.element_count() != rows * count)
    return Error(StatusCode::kInternal, "output Z has {} elements, expected {}", z.element_count(), rows * count);
  const int64_t* const at = indices.data<int64_t>();
  for (int64_t i = 0; i < count; ++i)
    if (at[i] < 0 || at[i] >= columns)
      return Error(StatusCode::kInvalidArgument, "element {} of Y is {}, expected 0 to {}", i, at[i], columns - 1);
  const int64_t grain = kGrainElements / (count + 1) + 1;
  args.pool.ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    InParts(end - begin, grain, [&](int64_t first, int64_t last) {
      for (int64_t row = begin + first; row < begin + last; ++row)
        InParts(count, kLongRow, [&](int64_t from, int64_t to) {
          for (int64_t i = from; i < to; ++i) z.data<T>()[row * count + i] = x.data<T>()[row * columns + at[i]];
        });
    });
  });
  return {};
}

}  // namespace

KernelResult MakeMl_Scaler(const KernelSpec& spec) {
  const std::span<const float> scale = spec.primitive().GetFloats("scale"),
                               offset = spec.primitive().GetFloats("offset");
  if (scale.empty())
    return Error(StatusCode::kModel, "attribute 'scale' is empty, expected one element or one for each feature");
  DEPUTY_RETURN_IF_ERROR(CheckCount("offset", offset.size(), scale.size(), "as many as scale"));
  return DispatchMl(spec, [&](auto tag) {
    return KernelOf([scale = std::vector<float>(scale.begin(), scale.end()),
                     offset = std::vector<float>(offset.begin(), offset.end())](const KernelArgs& args) {
      return Scale<typename decltype(tag)::Type>(args, scale, offset);
    });
  });
}

KernelResult MakeMl_Normalizer(const KernelSpec& spec) {
  const std::string_view word = spec.primitive().GetString("norm", "MAX");
  const Norm norm = word == "L1" ? Norm::kL1 : word == "L2" ? Norm::kL2 : Norm::kMax;
  return DispatchMl(spec, [&](auto tag) {
    return KernelOf([norm](const KernelArgs& args) { return Normalize<typename decltype(tag)::Type>(args, norm); });
  });
}

KernelResult MakeMl_Binarizer(const KernelSpec& spec) {
  const float threshold = spec.primitive().GetFloat("threshold", 0);
  return DispatchMl(spec, [&](auto tag) {
    return KernelOf<OutputMemory::kOverInputs>(
        [threshold](const KernelArgs& args) { return Binarize<typename decltype(tag)::Type>(args, threshold); });
  });
}

KernelResult MakeMl_Imputer(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  if (!primitive.GetFloats("imputed_value_floats").empty() && !primitive.GetInts("imputed_value_int64s").empty())
    return Error(StatusCode::kModel,
                 "attributes 'imputed_value_floats' and 'imputed_value_int64s' are both given, expected one of them");
  return DispatchMl(spec, [&](auto tag) -> KernelResult {
    using T = typename decltype(tag)::Type;
    constexpr const char* kAttribute = std::is_floating_point_v<T> ? "imputed_value_floats" : "imputed_value_int64s";
    KernelResult made =
        Error(StatusCode::kModel, "attribute '{}' is empty, expected one element or one for each feature", kAttribute);
    if constexpr (std::is_floating_point_v<T>) {
      if (const std::span<const float> values = primitive.GetFloats(kAttribute); !values.empty())
        made = MakeImputer<T, float>(primitive.GetFloat("replaced_value_float", 0), values, kAttribute);
    } else if (const std::span<const int64_t> values = primitive.GetInts(kAttribute); !values.empty()) {
      made = MakeImputer<T, int64_t>(primitive.GetInt("replaced_value_int64", 0), values, kAttribute);
    }
    return made;
  });
}

KernelResult MakeMl_FeatureVectorizer(const KernelSpec& spec) {
  const std::span<const int64_t> columns = spec.primitive().GetInts("inputdimensions");
  for (size_t i = 0; i < spec.node.inputs.size(); ++i)
    if (!spec.has_input(i)) return Error(StatusCode::kModel, "input {} is missing", i);
  DEPUTY_RETURN_IF_ERROR(CheckCount("inputdimensions", columns.size(), spec.node.inputs.size(), "one for each input"));
  return DispatchMl(spec, [&](auto) {
    return KernelOf([columns = std::vector<int64_t>(columns.begin(), columns.end())](const KernelArgs& args) {
      return JoinFeatures(args, columns);
    });
  });
}

KernelResult MakeMl_ArrayFeatureExtractor(const KernelSpec& spec) {
  return DispatchMl(spec, [&](auto tag) {
    return KernelOf([](const KernelArgs& args) { return Extract<typename decltype(tag)::Type>(args); });
  });
}

}  // namespace deputy::host
