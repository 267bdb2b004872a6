// Files beside the model that hold its larger weights. The model, which is not trusted, names their paths: nothing
// outside the model's folder is opened.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/status.hpp"
#include "graph/graph.hpp"

namespace deputy::host::onnx_import {

// [one-thread]
class ExternalFiles {
 public:
  // `model` is the model's file; empty for a model from memory, which cannot have external files.
  ExternalFiles(std::filesystem::path model, FileAccess access) : model_(std::move(model)), access_(access) {}

  // The whole file; each file once. `location` is relative to the model's folder, without "..", and neither it
  // nor a folder on the way may be a symbolic link; the file must be a regular one with a single name.
  Result<MappedBytes> Open(const std::string& location);

  // Paths and bytes of the files that were opened.
  std::vector<std::string> paths() const;
  std::vector<MappedBytes> mapped() const;

 private:
  std::filesystem::path model_;
  FileAccess access_;
  std::map<std::string, MappedBytes> open_;
};

}  // namespace deputy::host::onnx_import
