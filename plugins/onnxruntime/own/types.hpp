// Types and extents of tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/types.hpp"

namespace ort {

struct TensorTypeAndShapeInfo {
  ElementType type = 0;
  bool has_shape = true;
  std::vector<int64_t> dims = {};         // -1: not known
  std::vector<std::string> symbols = {};  // one for each extent, "" for those without one; or none at all
  bool is_kept = false;                   // owned by another object: releasing it has no effect
};

struct TypeInfo {
  ValueKind kind = kTensorKind;
  TensorTypeAndShapeInfo tensor = {};
  bool is_kept = false;
};

namespace own {

// Bytes of so many elements, of types of less than a byte too. Nothing: a type without a size, or extents that cannot
// be counted.
std::optional<size_t> BytesOf(ElementType type, const std::vector<int64_t>& dims);

}  // namespace own
}  // namespace ort
