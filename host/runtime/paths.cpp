#include "runtime/paths.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace deputy::host {

std::filesystem::path PrivateFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&PrivateFolder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, error);
  return (error ? std::filesystem::path(info.dli_fname) : library).parent_path() / "deputy";
}

std::filesystem::path ShareFolder() { return (PrivateFolder() / DEPUTY_SHARE_FROM_PRIVATE).lexically_normal(); }
std::filesystem::path WorkerProgram() { return PrivateFolder() / "deputy-worker"; }

std::optional<std::filesystem::path> CacheFolder(const std::string& setting) {
  if (setting == "off") return std::nullopt;
  if (setting != "auto") return std::filesystem::path(setting);
  // Not for programs with more rights than their caller: the caller chose the environment.
  const auto folder = [](const char* variable) {
    const char* value = secure_getenv(variable);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const std::filesystem::path cache = folder("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "deputy";
  if (const std::filesystem::path home = folder("HOME"); home.is_absolute()) return home / ".cache" / "deputy";
  return std::nullopt;
}

}  // namespace deputy::host
