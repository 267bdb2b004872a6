// The places of files in a bundle, as host/docs/bundle-format.md lists them.
#pragma once

#include <string>
#include <string_view>

#include "base/checksums.hpp"
#include "bundle/tools.hpp"

namespace deputy::host {

// Whether a file may be at the path: the description, config/NN-FILE, or below models/ or plugins/, where none may have
// the name of a lock or of a folder of lists, or be in such a folder: they would lock the folder. [any-thread]
inline bool IsPlaceInBundle(std::string_view path) {
  if (path == kBundleDescriptionName) return true;
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash + 1 == path.size()) return false;
  const std::string_view folder = path.substr(0, slash), file = path.substr(slash + 1);
  if (folder == kBundleConfigFolder) {
    const size_t digits = file.find_first_not_of("0123456789");
    return digits != std::string_view::npos && digits >= 2 && file[digits] == '-' && digits + 1 < file.size() &&
           file.find('/') == std::string_view::npos;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return (folder == kBundleModelFolder || folder == kBundlePluginFolder) && name != kChecksumsName &&
         name != kChecksumsSignatureName &&
         (std::string(path) + "/").find(std::string("/") + kChecksumsFolderName + "/") == std::string::npos;
}

}  // namespace deputy::host
