// The importer libraries of this installation, opened when a file needs them and never closed.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "deputy/model.hpp"
#include "import/importer.hpp"

namespace deputy::host {

// The importer of one format, "onnx", from <private folder>/importers/libdeputy_import_<name>.so; kNotFound when that
// is missing.
Result<const Importer*> OpenImporter(const std::string& name);

// The importer of `type`, or under kAuto the one of the format that the bytes and the name of the file show; only that
// library is opened. kModel where there is none, or for data that is recognized as another format than `type`. Not for
// .dpm, which needs no importer.
Result<const Importer*> FindImporter(std::span<const uint8_t> bytes, const std::filesystem::path& path, ModelType type);

}  // namespace deputy::host
