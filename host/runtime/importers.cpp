#include "runtime/importers.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string_view>

#include "base/judged_file.hpp"
#include "base/memory_reserve.hpp"
#include "import/importer.hpp"
#include "runtime/paths.hpp"

namespace deputy::host {
namespace {

bool IsTflite(std::span<const uint8_t> bytes) {
  constexpr std::string_view kMagic = "TFL3";
  return bytes.size() >= 8 && std::equal(kMagic.begin(), kMagic.end(), bytes.begin() + 4);
}

// ONNX has no magic. The usual writers begin with the IR version, tag 0x08.
bool MayBeOnnx(std::span<const uint8_t> bytes, const std::filesystem::path& path) {
  return path.extension() == ".onnx" || (bytes.size() >= 2 && bytes[0] == 0x08 && bytes[1] >= 1 && bytes[1] <= 64);
}

}  // namespace

Result<const Importer*> OpenImporter(const std::string& name) {
  const std::filesystem::path path = PrivateFolder() / "importers" / ("libdeputy_import_" + name + ".so");
  DEPUTY_RETURN_IF_ERROR(CheckInstalledFile(path));
  const MemoryReserve reserve;  // for the constructors of the library of ONNX
  DEPUTY_RETURN_IF_ERROR(reserve.status());
  static std::mutex one_at_a_time;  // what another thread opens is seen whole, also by tools that do not know dlopen
  const std::lock_guard lock(one_at_a_time);
  // Its own functions are bound now, by its link options. Those within protobuf are bound when they are called, which
  // saves half a millisecond.
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    return Error(StatusCode::kNotFound, "the importer for {} models cannot be opened: {}", name, dlerror())
        .Advise("install it beside libdeputy, or convert the model to .dpm on a machine that has it");
  const auto entry = reinterpret_cast<ImporterFunction>(dlsym(library, kImporterSymbol));
  const Importer* importer = entry == nullptr ? nullptr : entry(kImporterBuild);
  if (importer == nullptr)
    return Error(StatusCode::kIncompatible, "the importer belongs to another build of Deputy").At(path.string());
  return importer;
}

Result<const Importer*> FindImporter(std::span<const uint8_t> bytes, const std::filesystem::path& path,
                                     ModelType type) {
  if (IsTflite(bytes)) {
    if (type == ModelType::kOnnx) return Error(StatusCode::kModel, "is a TensorFlow Lite model, but was given as ONNX");
    return OpenImporter("tflite");
  }
  DEPUTY_RETURN_IF_ERROR(RefuseForeignFile(bytes));
  if (type == ModelType::kTflite) return Error(StatusCode::kModel, "is not a TensorFlow Lite model");
  if (type == ModelType::kOnnx || MayBeOnnx(bytes, path)) return OpenImporter("onnx");
  return Error(StatusCode::kModel, "is not a model that Deputy can read").Advise("it reads .onnx, .tflite and .dpm");
}

}  // namespace deputy::host
