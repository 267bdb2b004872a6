#include "import/tflite/model_reader.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/printable.hpp"
#include "graph/verify.hpp"
#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr uint32_t kMany = 0xffffffffu;

struct Importable {
  const char* name;
  fb::BuiltinOperator code;
  int32_t newest;
  uint8_t options;  // number in the union; 0: nothing is read of them
  size_t min_inputs, max_inputs, outputs;
  ImportFunction function;
};

constexpr Importable kImportables[] = {
#define TFLITE_OPERATOR(name, newest, options, min_inputs, max_inputs, outputs, ...) \
  {#name, fb::BuiltinOperator_##name, newest, options, min_inputs, max_inputs, outputs, __VA_ARGS__},
#include "import/tflite/operators.inc"
};

// Codes below 127 may stand in either field; the other then holds less.
int32_t CodeOf(const fb::OperatorCode& code) {
  return std::max<int32_t>(code.deprecated_builtin_code(), code.builtin_code());
}

std::string NameOf(const fb::OperatorCode& code) {
  const auto builtin = static_cast<fb::BuiltinOperator>(CodeOf(code));
  if (builtin == fb::BuiltinOperator_CUSTOM && code.custom_code() != nullptr)
    return "custom operator '" + Printable(code.custom_code()->string_view()) + "'";
  const std::string name = fb::EnumNameBuiltinOperator(builtin);
  return name.empty() ? "operator code " + std::to_string(CodeOf(code)) : name;
}

class Reader {
 public:
  Reader(ModelFile& file, const fb::SubGraph& subgraph)
      : file_(file), subgraph_(subgraph), emitter_(graph_), tensors_(file, subgraph, emitter_) {}

  Result<Graph> Run() {
    DEPUTY_ASSIGN_OR_RETURN(graph_.name, file_.Text(subgraph_.name()));
    DEPUTY_RETURN_IF_ERROR(ReadInputs());
    const auto* operators = subgraph_.operators();
    for (flatbuffers::uoffset_t i = 0; operators != nullptr && i < operators->size(); ++i)
      DEPUTY_RETURN_IF_ERROR(ReadOperator(i, *operators->Get(i)));
    DEPUTY_RETURN_IF_ERROR(ReadOutputs());
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
    ValueType type{info->dtype, true, info->dims};
    for (size_t axis = 0; axis < type.dims.size(); ++axis)
      if (type.dims[axis] < 0) type.dims[axis] = SymbolDim(graph_.AddSymbol(SymbolFor(info->name, axis, count)));
    const ValueId id = graph_.AddValue(info->name, std::move(type));
    graph_.inputs.push_back(id);
    return tensors_.SetInput(tensor, id);
  }

  // The file does not say whether open extents of several inputs are the same.
  static std::string SymbolFor(const std::string& input, size_t axis, size_t inputs) {
    if (axis == 0 && inputs == 1) return "batch";
    return input + ".dim" + std::to_string(axis);
  }

  Status ReadOperator(size_t index, const fb::Operator& table) {
    const auto* codes = file_.model().operator_codes();
    if (codes == nullptr || table.opcode_index() >= codes->size())
      return Error(StatusCode::kModel, "names operator code {}, which does not exist", table.opcode_index())
          .At("operator " + std::to_string(index));
    const fb::OperatorCode& code = *codes->Get(table.opcode_index());
    Status status = ImportOperator(index, table, code);
    if (status.ok()) return status;
    return std::move(status).At(fmt::format("operator {} ({} version {})", index, NameOf(code), code.version()));
  }

  Status ImportOperator(size_t index, const fb::Operator& table, const fb::OperatorCode& code) {
    const auto found = std::find_if(std::begin(kImportables), std::end(kImportables),
                                    [&](const Importable& it) { return it.code == CodeOf(code); });
    if (found == std::end(kImportables))
      return Error(StatusCode::kNotSupported, "is not supported")
          .Advise("export the model to ONNX where it comes from, or replace the operator there");
    if (code.version() < 1 || code.version() > found->newest)
      return Error(StatusCode::kNotSupported, "has a version that is not known; versions 1 to {} are", found->newest)
          .Advise("convert the model again with an older converter, or export it to ONNX");
    if (found->options != 0 && table.builtin_options() != nullptr && table.builtin_options_type() != found->options)
      return Error(StatusCode::kModel, "has the options of another operator (type {}, not {})",
                   table.builtin_options_type(), found->options);
    DEPUTY_ASSIGN_OR_RETURN(std::vector<TensorIndex> inputs, Indexes(table.inputs()));
    DEPUTY_ASSIGN_OR_RETURN(std::vector<TensorIndex> outputs, Indexes(table.outputs()));
    DEPUTY_RETURN_IF_ERROR(CheckOperands(*found, inputs, outputs));
    emitter_.BeginOperator(fmt::format("{}_{}", found->name, index));
    return found->function(Operation(file_, table, std::move(inputs), std::move(outputs), emitter_, tensors_));
  }

  Status CheckOperands(const Importable& op, std::span<const TensorIndex> inputs,
                       std::span<const TensorIndex> outputs) {
    if (inputs.size() < op.min_inputs || inputs.size() > op.max_inputs)
      return Error(StatusCode::kModel, "has {} inputs", inputs.size());
    if (outputs.empty() || (op.outputs != kMany && outputs.size() != op.outputs))
      return Error(StatusCode::kModel, "has {} outputs", outputs.size());
    for (size_t i = 0; i < op.min_inputs; ++i)
      if (inputs[i] < 0) return Error(StatusCode::kModel, "lacks input {}", i);
    for (const TensorIndex tensor : inputs)
      if (tensor != -1) DEPUTY_RETURN_IF_ERROR(tensors_.Info(tensor).status());
    for (const TensorIndex tensor : outputs) DEPUTY_RETURN_IF_ERROR(tensors_.Info(tensor).status());
    return {};
  }

  Result<std::vector<TensorIndex>> Indexes(const flatbuffers::Vector<int32_t>* list) {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> ints, file_.Ints(list));
    return std::vector<TensorIndex>(ints.begin(), ints.end());
  }

  // Each output is a value of its own, with the name that it has in the file.
  Status ReadOutputs() {
    emitter_.BeginOperator("");
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
    const bool own = taken.count(id) == 0 && emitter_.ConstantOf(id).empty() && graph_.values[id].name == info->name;
    if (own) return id;
    DEPUTY_ASSIGN_OR_RETURN(const ValueId copy, emitter_.Emit(OpKind::kIdentity, {id}));
    emitter_.Name(copy, graph_.values[id].name == info->name ? info->name + ":output" : info->name);
    return copy;
  }

  // What the application calls inputs and outputs, per signature.
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
  const fb::SubGraph& subgraph_;
  Graph graph_;
  Emitter emitter_;
  Tensors tensors_;
};

}  // namespace

Result<Graph> ReadModel(ModelFile& file) {
  const auto* subgraphs = file.model().subgraphs();
  if (subgraphs == nullptr || subgraphs->size() == 0) return Error(StatusCode::kModel, "has no graph");
  return Reader(file, *subgraphs->Get(0)).Run();
}

}  // namespace deputy::host::tflite_import
