#include "runtime/importers.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <string_view>

#include "import/importer.hpp"
#include "runtime/paths.hpp"

namespace deputy::host {
namespace {

// One entry per format; the library is <private folder>/importers/libdeputy_import_<name>.so. Files with a magic are
// read by that importer alone, so that a file loads no library that it does not need. ONNX has none.
struct Format {
  const char* name;
  size_t offset;
  std::string_view magic;
};
constexpr Format kFormats[] = {{"tflite", 4, "TFL3"}, {"onnx", 0, ""}};

bool Begins(std::span<const uint8_t> bytes, const Format& format) {
  return bytes.size() >= format.offset + format.magic.size() &&
         std::equal(format.magic.begin(), format.magic.end(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(format.offset));
}

}  // namespace

Result<const Importer*> OpenImporter(const std::string& name) {
  const std::filesystem::path path = PrivateFolder() / "importers" / ("libdeputy_import_" + name + ".so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    return Error(StatusCode::kNotFound, "the importer for {} models cannot be opened: {}", name, dlerror())
        .Advise("install it beside libdeputy, or convert the model to .dpm on a machine that has it");
  const auto entry = reinterpret_cast<ImporterFunction>(dlsym(library, kImporterSymbol));
  const Importer* importer = entry == nullptr ? nullptr : entry(kImporterBuild);
  if (importer == nullptr)
    return Error(StatusCode::kIncompatible, "the importer belongs to another build of Deputy").At(path.string());
  return importer;
}

Result<const Importer*> FindImporter(std::span<const uint8_t> bytes, const std::filesystem::path& path) {
  for (const Format& format : kFormats) {
    if (!Begins(bytes, format)) continue;
    if (format.magic.empty())
      DEPUTY_RETURN_IF_ERROR(RefuseForeignFile(bytes.first(std::min<size_t>(bytes.size(), 256))));
    DEPUTY_ASSIGN_OR_RETURN(const Importer* importer, OpenImporter(format.name));
    const std::string extension = path.extension().string();
    if (importer->Matches(bytes.first(std::min<size_t>(bytes.size(), 64)), extension)) return importer;
  }
  return Error(StatusCode::kModel, "is not a model that Deputy can read").Advise("it reads .onnx, .tflite and .dpm");
}

}  // namespace deputy::host
