// Functions of deputy/output_file.hpp for programs, on the C API.
#pragma once

#include <string>
#include <string_view>

#include "deputy.h"
#include "deputy/detail/call.hpp"
#include "deputy/output_file.hpp"

namespace deputy {

inline Status WriteOutputFile(const std::string& path, std::string_view content) {
  return detail::StatusOf(DeputyOutputFileWrite(path.c_str(), content.data(), content.size()));
}
inline Status CheckOutputFile(const std::string& path) { return detail::StatusOf(DeputyOutputFileCheck(path.c_str())); }
inline void RemoveUnfinishedFilesOnSignals() { DeputyRemoveUnfinishedFilesOnSignals(); }

}  // namespace deputy
