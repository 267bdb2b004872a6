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

std::optional<std::string> Environment(const char* variable) {
  const char* value = secure_getenv(variable);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<std::filesystem::path> UserFolder(const char* variable, const char* below_home) {
  if (std::filesystem::path folder = Environment(variable).value_or(""); folder.is_absolute()) return folder;
  if (const std::filesystem::path home = Environment("HOME").value_or(""); home.is_absolute()) return home / below_home;
  return std::nullopt;
}

std::optional<std::filesystem::path> CacheFolder(const std::string& setting) {
  if (setting == "off") return std::nullopt;
  if (setting != "auto") return std::filesystem::path(setting);
  const std::optional<std::filesystem::path> caches = UserFolder("XDG_CACHE_HOME", ".cache");
  return caches ? std::optional(*caches / "deputy") : std::nullopt;
}

}  // namespace deputy::host
