// JSON texts that an application gives.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "deputy/status.hpp"

namespace deputy::host::capi {

struct JsonValue {
  enum class Kind { kNull, kBool, kNumber, kText, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;  // of a number and a bool as they are written
  std::vector<JsonValue> items;
  std::vector<std::string> names;  // of the items of a map, as they are written: one may be there twice
};

// Bytes of texts that are not UTF-8 stay as they are, as in names of files; numbers may be NaN, Infinity and -Infinity.
Result<JsonValue> ParseJson(std::string_view text);

}  // namespace deputy::host::capi
