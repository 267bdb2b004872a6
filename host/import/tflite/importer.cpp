// The importer for TensorFlow Lite: the exported symbol, and the path from a file's bytes to a graph: operator by
// operator, in the order of the file, which is that of execution.
#include "import/importer.hpp"

#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/printable.hpp"
#include "graph/graph.hpp"
#include "import/tflite/subgraphs.hpp"

namespace deputy::host::tflite_import {
namespace {

// The first subgraph, which is the model.
class Reader {
 public:
  Reader(ModelFile& file, const ImportSource& source)
      : file_(file),
        source_(source),
        subgraph_(*file.model().subgraphs()->Get(0)),
        subgraphs_(file),
        scope_(graph_, subgraphs_.variables),
        tensors_(file, scope_, 0, "") {}

  Result<Graph> Run() {
    DEPUTY_ASSIGN_OR_RETURN(graph_.name, file_.Text(subgraph_.name()));
    DEPUTY_RETURN_IF_ERROR(ReadInputs());
    DEPUTY_RETURN_IF_ERROR(subgraphs_.ReadOperators(0, scope_, tensors_));
    scope_.emit.BeginOperator("");
    DEPUTY_RETURN_IF_ERROR(scope_.AddStateInputs());
    DEPUTY_RETURN_IF_ERROR(ReadOutputs());
    DEPUTY_RETURN_IF_ERROR(scope_.AddStateOutputs());
    DEPUTY_RETURN_IF_ERROR(ReadMetadata());
    DEPUTY_RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

 private:
  Status ReadInputs() {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> inputs, file_.Ints(subgraph_.inputs()));
    for (size_t i = 0; i < inputs.size(); ++i) {
      Status status = ReadInput(static_cast<TensorIndex>(inputs[i]), inputs.size());
      if (!status.ok()) return std::move(status).At("input " + std::to_string(i));
    }
    return {};
  }

  Status ReadInput(TensorIndex tensor, size_t count) {
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors_.Info(tensor));
    if (info->is_resource || info->is_variable)
      return Error(StatusCode::kNotSupported, "is a variable tensor, which is not supported as an input of the model");
    ValueType type{info->dtype, true, info->dims};
    for (const auto& [name, extents] : source_.input_extents)
      if (name == info->name && extents.size() == type.dims.size()) type.dims = extents;
    for (size_t axis = 0; axis < type.dims.size(); ++axis)
      if (type.dims[axis] < 0) type.dims[axis] = SymbolDim(graph_.AddSymbol(SymbolFor(info->name, axis, count)));
    const ValueId id = graph_.AddValue(info->name, std::move(type));
    graph_.inputs.push_back(id);
    return tensors_.SetInput(tensor, id);
  }

  // The file does not tell whether unknown extents of several inputs are equal.
  static std::string SymbolFor(const std::string& input, size_t axis, size_t inputs) {
    if (axis == 0 && inputs == 1) return "batch";
    return input + ".dim" + std::to_string(axis);
  }

  // Each output is a separate value with its name in the file.
  Status ReadOutputs() {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> outputs, file_.Ints(subgraph_.outputs()));
    if (outputs.empty()) return Error(StatusCode::kModel, "has no outputs");
    std::unordered_set<ValueId> taken(graph_.inputs.begin(), graph_.inputs.end());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Result<ValueId> id = Output(static_cast<TensorIndex>(outputs[i]), taken);
      if (!id.ok()) return std::move(id).status().At("output " + std::to_string(i));
      graph_.outputs.push_back(*id);
      taken.insert(*id);
    }
    return {};
  }

  Result<ValueId> Output(TensorIndex tensor, const std::unordered_set<ValueId>& taken) {
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors_.Info(tensor));
    DEPUTY_ASSIGN_OR_RETURN(const ValueId id, tensors_.Stored(tensor));
    Emitter& emit = scope_.emit;
    const bool own = taken.count(id) == 0 && emit.ConstantOf(id).empty() && graph_.values[id].name == info->name;
    if (own) return id;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId copy, emit.Emit(OpKind::kIdentity, {id}));
    emit.Name(copy, graph_.values[id].name == info->name ? info->name + ":output" : info->name);
    return copy;
  }

  // The application's names of inputs and outputs, per signature.
  Status ReadMetadata() {
    DEPUTY_ASSIGN_OR_RETURN(const std::string description, file_.Text(file_.model().description()));
    if (!description.empty()) graph_.metadata.emplace_back("producer_name", description);
    const auto* signatures = file_.model().signature_defs();
    for (flatbuffers::uoffset_t i = 0; signatures != nullptr && i < signatures->size(); ++i) {
      const fb::SignatureDef& signature = *signatures->Get(i);
      if (signature.subgraph_index() != 0) continue;
      DEPUTY_ASSIGN_OR_RETURN(const std::string key, file_.Text(signature.signature_key()));
      DEPUTY_RETURN_IF_ERROR(ReadSignature("signature." + key + ".inputs.", signature.inputs()));
      DEPUTY_RETURN_IF_ERROR(ReadSignature("signature." + key + ".outputs.", signature.outputs()));
    }
    return {};
  }

  Status ReadSignature(const std::string& prefix,
                       const flatbuffers::Vector<flatbuffers::Offset<fb::TensorMap>>* names) {
    for (flatbuffers::uoffset_t i = 0; names != nullptr && i < names->size(); ++i) {
      DEPUTY_ASSIGN_OR_RETURN(const std::string name, file_.Text(names->Get(i)->name()));
      DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info,
                              tensors_.Info(static_cast<TensorIndex>(names->Get(i)->tensor_index())));
      graph_.metadata.emplace_back(prefix + name, info->name);
    }
    return {};
  }

  ModelFile& file_;
  const ImportSource& source_;
  const fb::SubGraph& subgraph_;
  Graph graph_;
  Subgraphs subgraphs_;
  Scope scope_;
  Tensors tensors_;
};

class TfliteImporter final : public Importer {
 public:
  std::string_view format_name() const override { return "TensorFlow Lite"; }
  bool computes_with_extents() const override { return true; }

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
    const auto* subgraphs = file.model().subgraphs();
    if (subgraphs == nullptr || subgraphs->size() == 0) return Error(StatusCode::kModel, "has no graph");
    return Reader(file, source).Run();
  }
};

}  // namespace
}  // namespace deputy::host::tflite_import

extern "C" __attribute__((visibility("default"))) const deputy::host::Importer* deputy_importer_v1(const char* build) {
  static constexpr deputy::host::tflite_import::TfliteImporter kImporter;
  return std::string_view(build) == deputy::host::kImporterBuild ? &kImporter : nullptr;
}
