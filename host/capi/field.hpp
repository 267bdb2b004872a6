// Reports of the C API: trees of fields.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deputy.h"
#include "deputy/tensor.hpp"

struct DeputyField {
  std::string name;  // within a map
  DeputyFieldKind kind = kDeputyNone;
  int64_t integer = 0;  // of a bool, too
  bool is_unsigned = false;
  double number = 0;
  std::string text;
  std::vector<DeputyField> items;
  std::unique_ptr<const deputy::Tensor> tensor;
};

struct DeputyReport {
  DeputyField root;
  mutable std::once_flag once;  // of `json`, which is made when it is asked for
  mutable std::string json;
};

namespace deputy::host::capi {

// Appends the tree as JSON in one line. Bytes that are not UTF-8 become U+FFFD; numbers that JSON cannot write, null.
void AppendJson(const DeputyField& field, std::string& json);

}  // namespace deputy::host::capi
