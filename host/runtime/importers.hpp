// The importer libraries of this installation, opened when a file needs them and never closed.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "import/importer.hpp"

namespace deputy::host {

// The importer of one format, "onnx", from <private folder>/importers/libdeputy_import_<name>.so; kNotFound when that
// is missing.
Result<const Importer*> OpenImporter(const std::string& name);

// Recognizes the format of a file by its bytes and name, and opens its importer alone; kModel when there is none.
Result<const Importer*> FindImporter(std::span<const uint8_t> bytes, const std::filesystem::path& path);

}  // namespace deputy::host
