// The page of host/cli/page with its style and scripts, which the build puts into the program.
#pragma once

#include <string_view>

namespace deputy::cli {

// HTML with kPageData in the place of the data, which is JSON in a script element.
std::string_view PageTemplate();
inline constexpr std::string_view kPageData = "@DATA@";

}  // namespace deputy::cli
