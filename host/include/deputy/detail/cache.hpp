// Functions of deputy/cache.hpp for programs, on the C API.
#pragma once

#include <string>
#include <vector>

#include "deputy.h"
#include "deputy/cache.hpp"
#include "deputy/detail/report_reader.hpp"

namespace deputy {

inline std::vector<std::string> CacheEntryKinds() {
  return detail::ReportedAlways<std::vector<std::string>>(&DeputyCacheKinds);
}

}  // namespace deputy
