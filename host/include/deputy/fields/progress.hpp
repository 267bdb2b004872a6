// The fields of deputy/progress.hpp in reports and options (fields.hpp).
#pragma once

#include <array>
#include <string_view>

#include "deputy/fields/names.hpp"
#include "deputy/progress.hpp"

namespace deputy::fields {

// Of stages.
template <>
struct Names<ProgressStage> {
  static constexpr std::array<std::string_view, 8> kTexts = {"scan",      "open",    "import",       "passes",
                                                             "placement", "compile", "verification", "measurement"};
};

}  // namespace deputy::fields
