// The interface between the host and a library that reads one foreign model format. The host opens an importer when a
// file needs it, and links none of the libraries of foreign formats. Both sides are of the same build: C++ types cross
// the interface, and a library of another build is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/status.hpp"
#include "deputy/model_value.hpp"
#include "deputy/tensor.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

struct ImportSource {
  std::span<const uint8_t> bytes;  // the whole file
  // Keeps `bytes` alive: constants may then point into them. Null when the caller frees them after the import;
  // constants are then copies.
  std::shared_ptr<const void> keep;
  // Names the file in errors; external weights are relative to it. Empty for a model from memory.
  std::filesystem::path path;
  // Extents for inputs of the model in place of those in the file, by name, -1 for unknown ones. Only for importers
  // that compute with extents; others ignore it.
  std::vector<std::pair<std::string, std::vector<int64_t>>> input_extents = {};
  FileAccess external = FileAccess::kMapped;  // to files beside the model
  // Names of Graph::inputs_with_default that are inputs of the graph nevertheless.
  std::vector<std::string> given_inputs = {};
};

// Stateless. Does not log. [any-thread]
class Importer {
 public:
  virtual std::string_view format_name() const = 0;  // "ONNX"
  // Whether the graph has attributes that were computed from the extents of inputs, such as pads.
  virtual bool computes_with_extents() const { return false; }
  // The graph, verified but not inferred. Code of the importer's library may manage its memory; the library must
  // therefore stay loaded.
  virtual Result<Graph> Import(const ImportSource& source) const = 0;
  // One tensor in the format's own encoding (ONNX: a TensorProto); copied.
  virtual Result<Tensor> ReadTensor(std::span<const uint8_t> bytes) const = 0;
  // The same for a value other than a tensor (ONNX: a SequenceProto or an OptionalProto). `dtype` is that of a sequence
  // without elements.
  virtual Result<ModelValue> ReadValue(std::span<const uint8_t>, ValueKind, DType) const {
    return Error(StatusCode::kNotSupported, "{} supports only tensors", format_name());
  }

  // The graph as a file of this format, and one tensor in its own encoding. kNotSupported for parts of a graph that the
  // format or its writer cannot express.
  virtual Result<std::string> Export(const Graph&) const {
    return Error(StatusCode::kNotSupported, "{} models cannot be written", format_name());
  }
  virtual Result<std::string> ExportTensor(const Tensor&, const std::string& /*name*/) const {
    return Error(StatusCode::kNotSupported, "{} tensors cannot be written", format_name());
  }

 protected:
  ~Importer() = default;
};

// The one symbol that an importer exports. Returns null when `build` is not its own kImporterBuild.
inline constexpr char kImporterSymbol[] = "deputy_importer_v1";
using ImporterFunction = const Importer* (*)(const char* build);
inline constexpr char kImporterBuild[] = DEPUTY_BUILD_VERSION " " __VERSION__;

// An error such as "is a zip archive, not a model" for bytes that begin like a well-known kind of file; OK for all
// others. The first 262 bytes are enough. [any-thread]
Status RefuseForeignFile(std::span<const uint8_t> bytes);

}  // namespace deputy::host
