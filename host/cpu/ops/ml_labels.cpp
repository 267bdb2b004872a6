// Operators of ai.onnx.ml that look elements up in a list on the CPU: LabelEncoder and OneHotEncoder. Strings are no
// values of a run: what has them on one side is refused by name.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

Status RefuseStrings(const Primitive& primitive, std::string_view attribute) {
  return Error(StatusCode::kNotSupported, "{} with {} is not supported: strings are no values of a run",
               primitive.op_type(), attribute);
}

// Types that a LabelEncoder has on either side.
template <class F>
bool DispatchLabels(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32: f(TypeTag<float>()); return true;
    case DType::kFloat64: f(TypeTag<double>()); return true;
    case DType::kInt16: f(TypeTag<int16_t>()); return true;
    case DType::kInt32: f(TypeTag<int32_t>()); return true;
    case DType::kInt64: f(TypeTag<int64_t>()); return true;
    default: return false;
  }
}

// The key of a map: equal elements have the same one. All NaN are one, and so are both zeros.
template <class T>
uint64_t KeyOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    const double wide = static_cast<double>(value);
    if (std::isnan(wide)) return UINT64_MAX;
    return std::bit_cast<uint64_t>(wide == 0 ? 0.0 : wide);
  } else {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

// The list that an attribute of any kind holds, as a tensor that borrows its elements; nothing where there is none.
Result<std::optional<Tensor>> ListOf(const Primitive& primitive, const std::string& side) {
  const auto wrap = [](DType dtype, const auto& values) {
    return Tensor::Wrap(dtype, {static_cast<int64_t>(values.size())},
                        const_cast<void*>(static_cast<const void*>(values.data())), values.size_bytes());
  };
  if (const std::string name = side + "_strings"; primitive.Has(name)) return RefuseStrings(primitive, name);
  std::vector<std::pair<std::string, Tensor>> given;
  if (std::optional<Tensor> tensor = primitive.GetTensor(side + "_tensor"))
    given.emplace_back(side + "_tensor", *tensor);
  if (primitive.Has(side + "_int64s")) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor list, wrap(DType::kInt64, primitive.GetInts(side + "_int64s")));
    given.emplace_back(side + "_int64s", std::move(list));
  }
  if (primitive.Has(side + "_floats")) {
    DEPUTY_ASSIGN_OR_RETURN(Tensor list, wrap(DType::kFloat32, primitive.GetFloats(side + "_floats")));
    given.emplace_back(side + "_floats", std::move(list));
  }
  if (given.size() > 1)
    return Error(StatusCode::kModel, "attributes '{}' and '{}' are both given, expected one of them", given[0].first,
                 given[1].first);
  return given.empty() ? std::optional<Tensor>() : std::optional<Tensor>(given[0].second);
}

template <class Value>
struct LabelMap {
  std::unordered_map<uint64_t, Value> values;
  Value otherwise{};
};

template <class Key, class Value>
Status Encode(const KernelArgs& args, const LabelMap<Value>& map) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<Key>));
  DEPUTY_RETURN_IF_ERROR(CheckOutput(y, kDTypeOf<Value>, x.dims()));
  args.pool.ParallelFor(x.element_count(), kGrainElements, [&](int64_t begin, int64_t end) {
    InParts(end - begin, kLongRow >> 4, [&](int64_t first, int64_t last) {
      for (int64_t i = begin + first; i < begin + last; ++i) {
        const auto found = map.values.find(KeyOf(x.data<Key>()[i]));
        y.data<Value>()[i] = found == map.values.end() ? map.otherwise : found->second;
      }
    });
  });
  return {};
}

// What an element becomes that is no key.
template <class Value>
Result<Value> DefaultOf(const Primitive& primitive) {
  if (const std::optional<Tensor> tensor = primitive.GetTensor("default_tensor")) {
    if (tensor->dtype() != kDTypeOf<Value> || tensor->element_count() != 1)
      return Error(StatusCode::kModel, "attribute 'default_tensor' has {} elements of {}, expected one of {}",
                   tensor->element_count(), NameOf(tensor->dtype()), NameOf(kDTypeOf<Value>));
    return *static_cast<const Value*>(tensor->data());
  }
  if constexpr (std::is_floating_point_v<Value>) return static_cast<Value>(primitive.GetFloat("default_float", -0.0f));
  return static_cast<Value>(primitive.GetInt("default_int64", -1));
}

// Since definition 4 the last of several equal keys counts, and a NaN is a key. Before it a NaN stands for nothing; of
// equal keys, about which the definitions are silent, the first counts, as in ONNX Runtime.
template <class Key, class Value>
Result<LabelMap<Value>> ReadMap(const Primitive& primitive, const Tensor& keys, const Tensor& values) {
  LabelMap<Value> map;
  DEPUTY_ASSIGN_OR_RETURN(map.otherwise, DefaultOf<Value>(primitive));
  const bool is_since_4 = primitive.since_version() >= 4;
  for (size_t i = 0; i < keys.values<Key>().size(); ++i) {
    const Key key = keys.values<Key>()[i];
    if (key != key && !is_since_4) continue;
    const auto [known, is_new] = map.values.emplace(KeyOf(key), values.values<Value>()[i]);
    if (!is_new && is_since_4) known->second = values.values<Value>()[i];
  }
  return map;
}

template <class Key, class Value>
KernelResult MakeEncoder(const Primitive& primitive, const Tensor& keys, const Tensor& values) {
  DEPUTY_ASSIGN_OR_RETURN(LabelMap<Value> map, (ReadMap<Key, Value>(primitive, keys, values)));
  return KernelOf([shared = std::make_shared<const LabelMap<Value>>(std::move(map))](const KernelArgs& args) {
    return Encode<Key, Value>(args, *shared);
  });
}

Result<std::unordered_map<int64_t, int64_t>> ReadCategories(const Primitive& primitive) {
  if (!primitive.GetStrings("cats_strings").empty()) return RefuseStrings(primitive, "cats_strings");
  const std::span<const int64_t> list = primitive.GetInts("cats_int64s");
  if (list.empty()) return Error(StatusCode::kModel, "attribute 'cats_int64s' is empty, expected the categories");
  std::unordered_map<int64_t, int64_t> categories;  // the last of several equal ones counts
  for (size_t i = 0; i < list.size(); ++i) categories[list[i]] = static_cast<int64_t>(i);
  return categories;
}

struct OneHot {
  std::unordered_map<int64_t, int64_t> categories;
  int64_t width = 0;
  bool refuses_others = false;
};

template <class T>
Status EncodeOneHot(const KernelArgs& args, const OneHot& encoder) {
  const ConstView x = args.input(0);
  const MutableView y = args.output(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, kDTypeOf<T>));
  DEPUTY_RETURN_IF_ERROR(CheckTypedOutput(y, DType::kFloat32));
  if (y.element_count() != x.element_count() * encoder.width)
    return Error(StatusCode::kInternal, "output Y has {} elements, expected {}", y.element_count(),
                 x.element_count() * encoder.width);
  ZeroInParts(y.data<float>(), y.byte_size());
  CancellationScope* const scope = CancellationScope::Current();
  for (int64_t i = 0; i < x.element_count(); ++i) {
    if (i % kGrainElements == 0 && scope != nullptr && scope->Ends()) return {};
    int64_t category = 0;
    const T value = x.data<T>()[i];
    bool is_known = true;
    if constexpr (std::is_floating_point_v<T>) {
      is_known = value > T(-0x1p63) && value < T(0x1p63);
      category = is_known ? static_cast<int64_t>(value) : 0;
    } else {
      category = value;
    }
    const auto found = encoder.categories.find(category);
    is_known = is_known && found != encoder.categories.end();
    if (is_known) y.data<float>()[i * encoder.width + found->second] = 1;
    if (!is_known && encoder.refuses_others)
      return Error(StatusCode::kInvalidArgument, "element {} of X is no category, and attribute 'zeros' is 0", i);
  }
  return {};
}

}  // namespace

KernelResult MakeMl_LabelEncoder(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  const Primitive& primitive = spec.primitive();
  if (primitive.since_version() < 2) return RefuseStrings(primitive, "classes_strings");
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<Tensor> keys, ListOf(primitive, "keys"));
  DEPUTY_ASSIGN_OR_RETURN(const std::optional<Tensor> values, ListOf(primitive, "values"));
  if (!keys || !values)
    return Error(StatusCode::kModel, "has no attribute '{}', expected the {} of the map", keys ? "values_*" : "keys_*",
                 keys ? "values" : "keys");
  if (keys->element_count() != values->element_count())
    return Error(StatusCode::kModel, "{} keys and {} values, expected a value for each key", keys->element_count(),
                 values->element_count());
  const DType dtype = spec.input_type(0).dtype;
  if (keys->dtype() != dtype)
    return Error(StatusCode::kModel, "input 'X' has element type {}, expected {}, that of the keys", NameOf(dtype),
                 NameOf(keys->dtype()));
  KernelResult made = UnsupportedDType(spec);
  DispatchLabels(dtype, [&](auto key) {
    DispatchLabels(values->dtype(), [&](auto value) {
      made = MakeEncoder<typename decltype(key)::Type, typename decltype(value)::Type>(primitive, *keys, *values);
    });
  });
  return made;
}

KernelResult MakeMl_CategoryMapper(const KernelSpec& spec) { return RefuseStrings(spec.primitive(), "cats_strings"); }

KernelResult MakeMl_OneHotEncoder(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  OneHot encoder;
  DEPUTY_ASSIGN_OR_RETURN(encoder.categories, ReadCategories(spec.primitive()));
  encoder.width = static_cast<int64_t>(spec.primitive().GetInts("cats_int64s").size());
  encoder.refuses_others = spec.primitive().GetInt("zeros", 1) == 0;
  KernelResult made = UnsupportedDType(spec);
  DispatchLabels(spec.input_type(0).dtype, [&](auto tag) {
    made = KernelOf([shared = std::make_shared<const OneHot>(encoder)](const KernelArgs& args) {
      return EncodeOneHot<typename decltype(tag)::Type>(args, *shared);
    });
  });
  return made;
}

}  // namespace deputy::host
