// The objects of the C++ API as fields, by the lists of deputy/fields/fields.hpp.
#pragma once

#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "capi/error.hpp"
#include "capi/field.hpp"
#include "deputy/fields/fields.hpp"

namespace deputy::host::capi {

void Write(const std::string& text, DeputyField& field);
void Write(const Tensor& tensor, DeputyField& field);
void WriteInteger(int64_t integer, bool is_unsigned, DeputyField& field);
void WriteNumber(double number, DeputyField& field);
void WriteBool(bool value, DeputyField& field);
DeputyField& AddItem(DeputyField& field, const std::string& name);

// Visits an object, and writes it as a map.
template <class T>
void WriteMap(const T& object, DeputyField& field);

template <class T>
concept Enumerated = std::is_enum_v<T>;
template <class T>
concept Chrono = requires {
  typename T::duration;
}
|| requires { typename T::period; };

template <class T>
void Write(const T& value, DeputyField& field);
template <class T>
void Write(const std::vector<T>& list, DeputyField& field) {
  field.kind = kDeputyList;
  field.items.reserve(list.size());
  for (const auto& item : list) Write(item, field.items.emplace_back());
}
template <class T>
void Write(const std::vector<std::pair<std::string, T>>& map, DeputyField& field) {
  field.kind = kDeputyMap;
  for (const auto& [name, value] : map) Write(value, AddItem(field, name));
}
inline void Write(const std::map<std::string, std::string>& map, DeputyField& field) {
  field.kind = kDeputyMap;
  for (const auto& [name, value] : map) Write(value, AddItem(field, name));
}
template <class T>
void Write(const std::optional<T>& value, DeputyField& field) {
  if (value) Write(*value, field);
}
// Attributes have their types beside them: an empty list tells none.
void Write(const std::vector<std::pair<std::string, AttributeValue>>& attributes, DeputyField& field);

template <class T>
void Write(const T& value, DeputyField& field) {
  if constexpr (std::same_as<T, bool>) {
    WriteBool(value, field);
  } else if constexpr (std::integral<T>) {
    WriteInteger(static_cast<int64_t>(value), std::is_unsigned_v<T>, field);
  } else if constexpr (std::floating_point<T>) {
    WriteNumber(static_cast<double>(value), field);
  } else if constexpr (std::same_as<T, DType>) {
    Write(std::string(value == DType::kUndefined ? "" : NameOf(value)), field);
  } else if constexpr (Enumerated<T>) {
    const auto index = static_cast<size_t>(value);
    Write(std::string(index < fields::Names<T>::kTexts.size() ? fields::Names<T>::kTexts[index] : "unknown"), field);
  } else if constexpr (std::same_as<T, std::chrono::system_clock::time_point>) {
    WriteInteger(std::chrono::duration_cast<std::chrono::nanoseconds>(value.time_since_epoch()).count(), false, field);
  } else if constexpr (Chrono<T>) {
    WriteInteger(value.count(), false, field);
  } else {
    WriteMap(value, field);
  }
}

struct FieldWriter {
  DeputyField& map;
  template <class M>
  void operator()(const char* name, const M& member) {
    Write(member, AddItem(map, name));
  }
};

template <class T>
void WriteMap(const T& object, DeputyField& field) {
  field.kind = kDeputyMap;
  FieldWriter writer{field};
  Describe(writer, const_cast<T&>(object));  // which only reads
}

// Runs `function`, a Result, and gives its value as a report.
template <class F>
DeputyError* Report(DeputyReport** report, const F& function) {
  if (report == nullptr) return MissingArgument("report");
  return Guard([&]() -> Status {
    DEPUTY_ASSIGN_OR_RETURN(const auto value, function());
    auto made = std::make_unique<DeputyReport>();
    Write(value, made->root);
    *report = made.release();
    return {};
  });
}

// The same of a handle, which must be there; `name` is the argument's.
template <class H, class F>
DeputyError* ReportOf(const H* handle, const char* name, DeputyReport** report, const F& function) {
  return handle == nullptr ? MissingArgument(name) : Report(report, function);
}

}  // namespace deputy::host::capi
