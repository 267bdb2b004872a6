// The ONNX importer: the exported symbol, and the path from a file's bytes to a graph.
#include "import/importer.hpp"

#include <fmt/format.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/printable.hpp"
#include "import/onnx/condense.hpp"
#include "import/onnx/exporter.hpp"
#include "import/onnx/external_files.hpp"
#include "import/onnx/model_reader.hpp"
#include "import/onnx/proto.hpp"
#include "import/onnx/tensors.hpp"
#include "import/onnx/value_file.hpp"

namespace deputy::host::onnx_import {
namespace {

// Three messages per nested graph: protobuf's own limit of 100 would end at 33 graphs with a bare failure.
constexpr int kRecursionLimit = 256;

template <class Proto>
Status Parse(std::span<const uint8_t> bytes, Message root, Proto& proto) {
  DEPUTY_ASSIGN_OR_RETURN(const std::string copy, Condense(bytes, root));
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(copy.data()),
                                                static_cast<int>(copy.size()));
  stream.SetRecursionLimit(kRecursionLimit);
  if (proto.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return {};
  return Error(StatusCode::kModel, "is not a valid ONNX file: protobuf cannot parse it");
}

class OnnxImporter final : public Importer {
 public:
  std::string_view format_name() const override { return "ONNX"; }

  Result<Graph> Import(const ImportSource& source) const override {
    Result<Graph> graph = ReadModel(source);
    if (graph.ok()) return graph;
    const std::string place = source.path.empty() ? "the model" : source.path.string();
    return Printable(std::move(graph).status().At(place));
  }

  Result<Tensor> ReadTensor(std::span<const uint8_t> bytes) const override {
    Result<Tensor> tensor = ParseTensor(bytes);
    if (tensor.ok()) return tensor;
    return Printable(tensor.status());
  }

  Result<ModelValue> ReadValue(std::span<const uint8_t> bytes, ValueKind kind, DType dtype) const override {
    Result<ModelValue> value = ParseValue(bytes, kind, dtype);
    if (value.ok()) return value;
    return Printable(value.status());
  }

  Result<std::string> Export(const Graph& graph) const override { return ExportModel(graph); }
  Result<std::string> ExportTensor(const Tensor& tensor, const std::string& name) const override {
    return onnx_import::ExportTensor(tensor, name);
  }

 private:
  static Result<Graph> ReadModel(const ImportSource& source) {
    google::protobuf::ArenaOptions blocks;
    blocks.max_block_size = size_t{1} << 20;
    google::protobuf::Arena arena(blocks);  // a message in it is not freed piece by piece
    pb::ModelProto& model = *google::protobuf::Arena::CreateMessage<pb::ModelProto>(&arena);
    DEPUTY_RETURN_IF_ERROR(Parse(source.bytes, Message::kModel, model));
    ExternalFiles files(source.path, source.external);
    TensorReader tensors(source.bytes, source.keep, files);
    if (model.ir_version() > kNewestIrVersion)
      DEPUTY_RETURN_IF_ERROR(OfNewerVersion(CheckFieldsKnown(source.bytes, Message::kModel), model.ir_version()));
    Result<Graph> graph = ModelReader(model, tensors, source.given_inputs).Read();
    if (!graph.ok()) return OfNewerVersion(graph.status(), model.ir_version());
    graph->external_files = files.paths();
    graph->mapped = files.mapped();
    return graph;
  }

  static Status OfNewerVersion(Status status, int64_t version) {
    if (status.ok() || version <= kNewestIrVersion || !status.advice().empty()) return status;
    return std::move(status).Advise(
        fmt::format("the file has IR version {}, which is newer than {}, known up to here: export an older one",
                    version, kNewestIrVersion));
  }

  static Result<Tensor> ParseTensor(std::span<const uint8_t> bytes) {
    pb::TensorProto proto;
    DEPUTY_RETURN_IF_ERROR(Parse(bytes, Message::kTensor, proto));
    if (proto.data_location() == pb::TensorProto::EXTERNAL)
      return Error(StatusCode::kModel,
                   "the elements are in another file, which is only supported for weights of a model")
          .Advise("store the elements in the tensor file");
    ExternalFiles files({}, FileAccess::kMapped);
    return TensorReader(bytes, nullptr, files).Read(proto);
  }

  static Result<ModelValue> ParseValue(std::span<const uint8_t> bytes, ValueKind kind, DType dtype) {
    DEPUTY_ASSIGN_OR_RETURN(const ValueParts parts, ReadValueParts(bytes, kind));
    if (!parts.is_there) return ModelValue();
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < parts.tensors.size(); ++i) {
      Result<Tensor> tensor = ParseTensor(parts.tensors[i]);
      if (!tensor.ok()) return std::move(tensor).status().At("element " + std::to_string(i));
      tensors.push_back(std::move(tensor).value());
    }
    if (kind == ValueKind::kOptionalTensor) return ModelValue(std::move(tensors.front()));
    const DType of_elements = tensors.empty() ? dtype : tensors.front().dtype();
    return ModelValue::Sequence(of_elements, std::move(tensors));
  }
};

}  // namespace
}  // namespace deputy::host::onnx_import

extern "C" __attribute__((visibility("default"))) const deputy::host::Importer* deputy_importer_v1(const char* build) {
  static constexpr deputy::host::onnx_import::OnnxImporter kImporter;
  return std::string_view(build) == deputy::host::kImporterBuild ? &kImporter : nullptr;
}
