// The importer for TensorFlow Lite: the exported symbol, and the path from a file's bytes to a graph.
#include "import/importer.hpp"

#include <string>
#include <string_view>

#include "base/printable.hpp"
#include "import/tflite/model_file.hpp"
#include "import/tflite/model_reader.hpp"

namespace deputy::host::tflite_import {
namespace {

class TfliteImporter final : public Importer {
 public:
  std::string_view format_name() const override { return "TensorFlow Lite"; }

  bool Matches(std::span<const uint8_t> head, std::string_view) const override { return IsModelFile(head); }

  Result<Graph> Import(const ImportSource& source) const override {
    Result<Graph> graph = Read(source);
    if (graph.ok()) return graph;
    const std::string place = source.path.empty() ? "the model" : source.path.string();
    return Printable(std::move(graph).status().At(place));
  }

  Result<Tensor> ReadTensor(std::span<const uint8_t>) const override {
    return Error(StatusCode::kNotSupported, "TensorFlow Lite has no encoding for single tensors");
  }

 private:
  static Result<Graph> Read(const ImportSource& source) {
    DEPUTY_ASSIGN_OR_RETURN(ModelFile file, ModelFile::Open(source));
    return ReadModel(file);
  }
};

}  // namespace
}  // namespace deputy::host::tflite_import

extern "C" __attribute__((visibility("default"))) const deputy::host::Importer* deputy_importer_v1(const char* build) {
  static constexpr deputy::host::tflite_import::TfliteImporter kImporter;
  return std::string_view(build) == deputy::host::kImporterBuild ? &kImporter : nullptr;
}
