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

#include "base/status.hpp"

namespace deputy::host::onnx_import {

struct ExternalBytes {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> keep;
};

// [one-thread]
class ExternalFiles {
 public:
  // `model` is the model's file; empty for a model from memory, which cannot have external files.
  explicit ExternalFiles(std::filesystem::path model) : model_(std::move(model)) {}

  // The whole file, mapped; each file once. `location` is relative to the model's folder, without "..", and neither it
  // nor a folder on the way may be a symbolic link; the file must be a regular one with a single name.
  Result<ExternalBytes> Open(const std::string& location);

  // Paths of the files that were opened.
  std::vector<std::string> paths() const;

 private:
  std::filesystem::path model_;
  std::map<std::string, ExternalBytes> open_;
};

}  // namespace deputy::host::onnx_import
