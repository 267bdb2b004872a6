#include "runtime/paths.hpp"

#include <dlfcn.h>

namespace deputy::host {

std::filesystem::path PrivateFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&PrivateFolder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  return (error ? std::filesystem::path(info.dli_fname) : library).parent_path() / "deputy";
}

}  // namespace deputy::host
