// A folder for the files of one command, for what the library reads from or writes into files only.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace deputy::cli {

// Removed with the object, with what is in it.
class TemporaryFolder {
 public:
  // $TMPDIR/PREFIX-XXXXXX.
  explicit TemporaryFolder(std::string_view prefix) {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / prefix).string() + "-XXXXXX";
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }  // empty: none could be made

 private:
  std::filesystem::path path_;
};

}  // namespace deputy::cli
