// The texts of enumerations and element types in reports and options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "deputy/dtype.hpp"

namespace deputy::fields {

// `kTexts` has those of the enumeration's values, from 0 on.
template <class E>
struct Names;

template <class E>
std::optional<E> FindNamed(std::string_view text) {
  const auto& texts = Names<E>::kTexts;
  for (size_t i = 0; i < texts.size(); ++i)
    if (text == texts[i]) return static_cast<E>(i);
  return std::nullopt;
}

// By NameOf; kUndefined has no text.
template <>
inline std::optional<DType> FindNamed<DType>(std::string_view text) {
  for (int32_t dtype = 1; dtype <= static_cast<int32_t>(DType::kInt2); ++dtype)
    if (text == NameOf(static_cast<DType>(dtype))) return static_cast<DType>(dtype);
  return text.empty() ? std::optional(DType::kUndefined) : std::nullopt;
}

}  // namespace deputy::fields
