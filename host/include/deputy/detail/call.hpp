// What the C++ API needs of the C API everywhere: errors as Status, texts, options as JSON.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/dtype.hpp"
#include "deputy/status.hpp"

namespace deputy::detail {

inline Status CopyOf(const DeputyError* error) {
  Status status(static_cast<StatusCode>(DeputyErrorCode(error)), DeputyErrorMessage(error));
  if (*DeputyErrorPlace(error) != 0) status = std::move(status).At(DeputyErrorPlace(error));
  if (*DeputyErrorAdvice(error) != 0) status = std::move(status).Advise(DeputyErrorAdvice(error));
  return status;
}
// Takes the error over.
inline Status StatusOf(DeputyError* error) {
  if (error == nullptr) [[likely]]
    return {};
  const std::unique_ptr<DeputyError, decltype(&DeputyErrorFree)> owned(error, &DeputyErrorFree);
  return CopyOf(error);
}

// Of a call that has no other error.
inline void ThrowIfOutOfMemory(DeputyError* error) {
  if (error == nullptr) [[likely]]
    return;
  DeputyErrorFree(error);
  throw std::bad_alloc();
}

// Of what the library keeps for the program.
template <class T>
void Delete(void* object) {
  delete static_cast<T*>(object);
}

inline std::vector<const char*> PointersTo(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

// Writes options as JSON, by the lists of deputy/fields.
class OptionsWriter {
 public:
  template <class T>
  static std::string Json(const T& options) {
    OptionsWriter writer;
    writer.Write(options);
    return std::move(writer.json_);
  }

  template <class M>
  void operator()(const char* name, M& member) {
    Begin(name);
    Write(member);
  }

 private:
  void Begin(std::string_view name) {
    if (json_.back() != '{') json_ += ", ";
    Write(std::string(name));
    json_ += ": ";
  }
  void Write(const std::string& text) {
    static constexpr char kDigits[] = "0123456789abcdef";
    json_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\')
        (json_ += '\\') += c;
      else if (static_cast<unsigned char>(c) < 0x20)
        ((json_ += "\\u00") += kDigits[c >> 4]) += kDigits[c & 15];
      else
        json_ += c;
    }
    json_ += '"';
  }
  void Write(bool value) { json_ += value ? "true" : "false"; }
  void Write(double value) {
    if (std::isnan(value) || std::isinf(value)) {
      json_ += std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
      return;
    }
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    json_.append(text, error == std::errc() ? end : text);
  }
  void Write(DType dtype) { Write(std::string(dtype == DType::kUndefined ? "" : NameOf(dtype))); }
  template <std::integral T>
  void Write(const T& value) {
    json_ += std::to_string(value);
  }
  void Write(const std::chrono::seconds& duration) {
    constexpr int64_t kMost = int64_t{1} << 32;  // what the library reads; more is as much
    json_ += std::to_string(std::clamp<int64_t>(duration.count(), 0, kMost));
  }
  template <class T>
  void Write(const std::vector<T>& list) {
    json_ += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i != 0) json_ += ", ";
      Write(list[i]);
    }
    json_ += ']';
  }
  template <class T>
  void Write(const std::vector<std::pair<std::string, T>>& map) {
    json_ += '{';
    for (const auto& [name, value] : map) {
      Begin(name);
      Write(value);
    }
    json_ += '}';
  }
  void Write(const std::map<std::string, std::string>& map) {
    json_ += '{';
    for (const auto& [name, value] : map) {
      Begin(name);
      Write(value);
    }
    json_ += '}';
  }
  template <class T>
  void Write(const std::optional<T>& value) {
    if (value)
      Write(*value);
    else
      json_ += "null";
  }
  template <class T>
  void Write(const T& object) {
    json_ += '{';
    Describe(*this, const_cast<T&>(object));  // which only reads
    json_ += '}';
  }

  std::string json_;
};

}  // namespace deputy::detail
