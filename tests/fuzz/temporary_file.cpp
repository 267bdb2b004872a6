#include "fuzz/temporary_file.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace deputy::fuzz {
namespace {

struct Folder {
  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    const bool in_memory = access(memory.c_str(), W_OK) == 0;
    std::string name = ((in_memory ? memory : std::filesystem::temp_directory_path()) / "deputy-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path;
};

}  // namespace

const std::filesystem::path& TemporaryFolder() {
  static const Folder folder;
  return folder.path;
}

void WriteFile(const std::filesystem::path& path, std::span<const uint8_t> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) std::abort();
}

Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(std::filesystem::file_size(path));
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) std::abort();
  return bytes;
}

}  // namespace deputy::fuzz
