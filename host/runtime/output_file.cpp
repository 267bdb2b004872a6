// deputy::WriteOutputFile and RemoveUnfinishedFilesOnSignals: the host's file writer for programs.
#include "deputy/output_file.hpp"

#include <cstdint>

#include "base/file_writer.hpp"

namespace deputy {

Status WriteOutputFile(const std::string& path, std::string_view content) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(content.data()), content.size());
  return host::WriteFileAtomically(path, {&bytes, 1});
}

Status CheckOutputFile(const std::string& path) { return host::CheckTarget(path); }

void RemoveUnfinishedFilesOnSignals() { host::RemoveTemporariesOnSignals(); }

}  // namespace deputy
