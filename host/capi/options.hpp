// Options of the C API: JSON text into the structs of the C++ API, by the lists of deputy/fields/fields.hpp.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capi/json.hpp"
#include "deputy/fields/fields.hpp"
#include "deputy/status.hpp"

namespace deputy::host::capi {

// A value in options: what was parsed, and its path for messages ("input_shapes.x[2]").
class OptionValue {
 public:
  OptionValue(std::shared_ptr<const JsonValue> json, std::string path)
      : json_(std::move(json)), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_null() const { return json_->kind == JsonValue::Kind::kNull; }
  Status AsText(std::string& text) const;
  Status AsBool(bool& value) const;
  Status AsInteger(int64_t least, int64_t most, int64_t& value) const;
  Status AsNumber(double& value) const;
  Result<std::vector<OptionValue>> AsList() const;
  // In the order of the text; a key that is given twice is an error.
  Result<std::vector<std::pair<std::string, OptionValue>>> AsMap() const;

 private:
  std::shared_ptr<const JsonValue> json_;  // a part of the whole, which it keeps
  std::string path_;
};

Result<OptionValue> ParseOptions(const char* options);

template <class T>
Status Read(const OptionValue& value, T& into);

inline Status Read(const OptionValue& value, std::string& into) { return value.AsText(into); }
inline Status Read(const OptionValue& value, bool& into) { return value.AsBool(into); }
inline Status Read(const OptionValue& value, double& into) { return value.AsNumber(into); }
template <std::integral T>
Status Read(const OptionValue& value, T& into) {
  using Limits = std::numeric_limits<T>;
  int64_t read = 0;
  DEPUTY_RETURN_IF_ERROR(value.AsInteger(
      static_cast<int64_t>(Limits::min()),
      sizeof(T) < 8 || std::is_signed_v<T> ? static_cast<int64_t>(Limits::max()) : std::numeric_limits<int64_t>::max(),
      read));
  into = static_cast<T>(read);
  return {};
}
inline Status Read(const OptionValue& value, std::chrono::seconds& into) {
  int64_t read = 0;
  DEPUTY_RETURN_IF_ERROR(value.AsInteger(0, int64_t{1} << 32, read));
  into = std::chrono::seconds(read);
  return {};
}
Status Read(const OptionValue& value, DType& into);
template <class T>
Status Read(const OptionValue& value, std::optional<T>& into) {
  if (value.is_null()) return {};
  return Read(value, into.emplace());
}
template <class T>
Status Read(const OptionValue& value, std::vector<T>& into) {
  DEPUTY_ASSIGN_OR_RETURN(const auto items, value.AsList());
  for (const OptionValue& item : items) DEPUTY_RETURN_IF_ERROR(Read(item, into.emplace_back()));
  return {};
}
template <class T>
Status Read(const OptionValue& value, std::vector<std::pair<std::string, T>>& into) {
  DEPUTY_ASSIGN_OR_RETURN(const auto items, value.AsMap());
  for (const auto& [name, item] : items) DEPUTY_RETURN_IF_ERROR(Read(item, into.emplace_back(name, T()).second));
  return {};
}
inline Status Read(const OptionValue& value, std::map<std::string, std::string>& into) {
  DEPUTY_ASSIGN_OR_RETURN(const auto items, value.AsMap());
  for (const auto& [name, item] : items) DEPUTY_RETURN_IF_ERROR(item.AsText(into[name]));
  return {};
}

// Visits an object, and reads each member that the map has.
class MapReader {
 public:
  explicit MapReader(const std::vector<std::pair<std::string, OptionValue>>& map) : map_(map) {}
  template <class M>
  void operator()(const char* name, M& member) {
    if (const OptionValue* value = Find(name); value != nullptr && status_.ok()) status_ = Read(*value, member);
  }
  // The first error, among others a key that no member has.
  Status Finish() &&;

 private:
  const OptionValue* Find(const char* name);

  const std::vector<std::pair<std::string, OptionValue>>& map_;
  std::vector<std::string> names_;
  Status status_;
};

template <class T>
Status Read(const OptionValue& value, T& into) {
  DEPUTY_ASSIGN_OR_RETURN(const auto map, value.AsMap());
  MapReader reader(map);
  Describe(reader, into);
  return std::move(reader).Finish();
}

// `options` NULL: `into` as it is.
template <class T>
Status ReadOptions(const char* options, T& into) {
  if (options == nullptr) return {};
  DEPUTY_ASSIGN_OR_RETURN(const OptionValue root, ParseOptions(options));
  return Read(root, into);
}

}  // namespace deputy::host::capi
