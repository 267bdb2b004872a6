// Reports of the C API as the structs of the C++ API, by the lists of deputy/fields.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "deputy/detail/call.hpp"
#include "deputy/detail/memory.hpp"
#include "deputy/fields/names.hpp"

namespace deputy::detail {

inline std::string TextOf(const DeputyField* field) {
  size_t size = 0;
  const char* const text = DeputyFieldText(field, &size);
  return {text, size};
}

// The report, which tensors keep: their bytes are those of a plan, which the model may drop.
using ReportOwner = std::shared_ptr<DeputyReport>;

template <class T>
T ValueOf(const DeputyField* field, const ReportOwner& report = {});

// Visits an object, and fills each member that the report has.
struct ReportReader {
  const DeputyField* map;
  const ReportOwner& report;
  template <class M>
  void operator()(const char* name, M& member) {
    if (const DeputyField* const field = DeputyFieldNamed(map, name); field != nullptr)
      member = ValueOf<std::remove_cvref_t<M>>(field, report);
  }
};

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsNamed : std::false_type {};
template <class T>
struct IsNamed<std::vector<std::pair<std::string, T>>> : std::true_type {};
template <class T>
struct IsDuration : std::false_type {};
template <class R, class P>
struct IsDuration<std::chrono::duration<R, P>> : std::true_type {};

template <class T>
struct IsVariant : std::false_type {};
template <class... T>
struct IsVariant<std::variant<T...>> : std::true_type {};

// A value of one of some types, whose name the report has beside it.
template <class V>
V VariantOf(const std::string& type, const DeputyField* value, const ReportOwner& report) {
  if (type == "int") return ValueOf<int64_t>(value);
  if (type == "float") return ValueOf<float>(value);
  if (type == "ints") return ValueOf<std::vector<int64_t>>(value);
  if (type == "floats") return ValueOf<std::vector<float>>(value);
  if (type == "texts") return ValueOf<std::vector<std::string>>(value);
  if (type == "tensor") return ValueOf<Tensor>(value, report);
  return ValueOf<std::string>(value);
}

// A list of named values: a map in a report, or where they have different types a list.
template <class T>
T NamedOf(const DeputyField* field, const ReportOwner& report) {
  using Value = typename T::value_type::second_type;
  T named;
  for (size_t i = 0; i < DeputyFieldCount(field); ++i) {
    const DeputyField* const item = DeputyFieldAt(field, i);
    if constexpr (IsVariant<Value>::value)
      named.emplace_back(
          TextOf(DeputyFieldNamed(item, "name")),
          VariantOf<Value>(TextOf(DeputyFieldNamed(item, "type")), DeputyFieldNamed(item, "value"), report));
    else
      named.emplace_back(DeputyFieldName(field, i), ValueOf<Value>(item, report));
  }
  return named;
}

template <class T>
T ValueOf(const DeputyField* field, const ReportOwner& report) {
  if constexpr (std::same_as<T, std::string>) {
    return TextOf(field);
  } else if constexpr (std::same_as<T, bool>) {
    return DeputyFieldBool(field) != 0;
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(DeputyFieldInteger(field));
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(DeputyFieldNumber(field));
  } else if constexpr (std::same_as<T, DType>) {
    return fields::FindNamed<DType>(TextOf(field)).value_or(DType::kUndefined);
  } else if constexpr (std::is_enum_v<T>) {
    const std::string text = TextOf(field);
    if (const std::optional<T> known = fields::FindNamed<T>(text)) return *known;
    if constexpr (requires { fields::Names<T>::kOther; })
      if (!text.empty()) return fields::Names<T>::kOther;
    return T{};
  } else if constexpr (std::same_as<T, Tensor>) {
    DeputyTensor tensor{};
    if (DeputyFieldArray(field, &tensor) == 0) return {};
    Tensor made = Adopt(tensor);
    made.MoveTo(made.mutable_data(), report);
    return made;
  } else if constexpr (std::same_as<T, std::chrono::system_clock::time_point>) {
    return T(std::chrono::duration_cast<std::chrono::system_clock::duration>(
        std::chrono::nanoseconds(DeputyFieldInteger(field))));
  } else if constexpr (IsDuration<T>::value) {
    return T(static_cast<typename T::rep>(DeputyFieldInteger(field)));
  } else if constexpr (IsNamed<T>::value) {
    return NamedOf<T>(field, report);
  } else if constexpr (std::same_as<T, std::map<std::string, std::string>>) {
    T map;
    for (size_t i = 0; i < DeputyFieldCount(field); ++i)
      map.emplace(DeputyFieldName(field, i), TextOf(DeputyFieldAt(field, i)));
    return map;
  } else if constexpr (IsList<T>::value) {
    T list;
    list.reserve(DeputyFieldCount(field));
    for (size_t i = 0; i < DeputyFieldCount(field); ++i)
      list.push_back(ValueOf<typename T::value_type>(DeputyFieldAt(field, i), report));
    return list;
  } else {
    T object{};
    ReportReader reader{field, report};
    Describe(reader, object);
    return object;
  }
}

// The report that `function(report)` makes.
template <class T, class F>
Result<T> Reported(const F& function) {
  DeputyReport* report = nullptr;
  DEPUTY_RETURN_IF_ERROR(StatusOf(function(&report)));
  const ReportOwner owned(report, &DeputyReportFree);
  return ValueOf<T>(DeputyReportRoot(report), owned);
}

// The same of a function without errors: what it returns, or std::bad_alloc.
template <class T, class F>
T ReportedAlways(const F& function) {
  DeputyReport* report = nullptr;
  ThrowIfOutOfMemory(function(&report));
  const ReportOwner owned(report, &DeputyReportFree);
  return ValueOf<T>(DeputyReportRoot(report), owned);
}

}  // namespace deputy::detail
