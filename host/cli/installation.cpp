#include "cli/installation.hpp"

#include <system_error>

namespace deputy::cli {

std::filesystem::path ShareFolder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : program.parent_path().parent_path() / "share" / "deputy";
}

}  // namespace deputy::cli
