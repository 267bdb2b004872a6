// The importer libraries of this installation, opened when a file needs them and never closed.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "import/importer.hpp"

namespace deputy::host {

// The importer of one format, "onnx"; kNotFound when its library is missing.
Result<const Importer*> OpenImporter(const std::string& name);

// The importer for a file that begins with `bytes`; kModel when there is none.
Result<const Importer*> FindImporter(std::span<const uint8_t> bytes, const std::filesystem::path& path);

}  // namespace deputy::host
