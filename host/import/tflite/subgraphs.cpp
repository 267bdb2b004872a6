#include "import/tflite/subgraphs.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/printable.hpp"
#include "import/tflite/operators.hpp"

namespace deputy::host::tflite_import {
namespace {

constexpr uint32_t kMany = 0xffffffffu;  // of outputs: one or more
constexpr uint32_t kAny = 0xfffffffeu;   // of outputs: any number
constexpr size_t kDeepestCall = 24;      // regions in a graph may be nested 32 deep
constexpr const char* kCustomDomain = "tflite.custom";
constexpr const char* kCustomOptions = "custom_options";
constexpr size_t kCallBytes = size_t{256};  // the cost of a call in the file's budget, beside the bytes that it reads

enum class Numbers { kReal, kComplex };

struct Importable {
  const char* name;
  fb::BuiltinOperator code;
  int32_t newest;
  uint8_t options;  // number in the union; 0: no options are read
  size_t min_inputs, max_inputs, outputs;
  Numbers numbers;
  ImportFunction function;
};

constexpr Importable kImportables[] = {
#define TFLITE_OPERATOR(name, newest, options, min_inputs, max_inputs, outputs, numbers, ...) \
  {#name, fb::BuiltinOperator_##name, newest, options, min_inputs, max_inputs, outputs, Numbers::numbers, __VA_ARGS__},
#include "import/tflite/operators.inc"
};

// Codes below 127 may be in either field; the other one is then smaller.
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

// The options of a custom operator, which only its delegate can read.
Result<std::span<const uint8_t>> CustomOptions(const ModelFile& file, const fb::Operator& table) {
  if (const auto* options = table.custom_options(); options != nullptr && options->size() != 0)
    return std::span<const uint8_t>(options->data(), options->size());
  if (table.large_custom_options_offset() <= 1) return std::span<const uint8_t>();
  return file.Outside(table.large_custom_options_offset(), table.large_custom_options_size(), "custom_options");
}

Status CheckNumbers(const TensorInfo& info) {
  if (!info.is_complex) return {};
  return Error(StatusCode::kNotSupported, "has the complex tensor '{}', which is not supported", Printable(info.name))
      .Advise("export the original model to ONNX, or apply REAL and IMAG before the operator");
}

Status CheckOperands(const Importable& op, Tensors& tensors, std::span<const TensorIndex> inputs,
                     std::span<const TensorIndex> outputs) {
  if (inputs.size() < op.min_inputs)
    return Error(StatusCode::kModel, "has {} inputs, expected at least {}", inputs.size(), op.min_inputs);
  if (inputs.size() > op.max_inputs)
    return Error(StatusCode::kModel, "has {} inputs, expected at most {}", inputs.size(), op.max_inputs);
  const bool fits = op.outputs == kAny || (op.outputs == kMany ? !outputs.empty() : outputs.size() == op.outputs);
  if (!fits) return Error(StatusCode::kModel, "has {} outputs", outputs.size());
  for (size_t i = 0; i < op.min_inputs; ++i)
    if (inputs[i] < 0) return Error(StatusCode::kModel, "input {} is missing", i);
  for (const std::span<const TensorIndex> operands : {inputs, outputs})
    for (const TensorIndex tensor : operands) {
      if (tensor == -1 && operands.data() == inputs.data()) continue;
      DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors.Info(tensor));
      if (op.numbers != Numbers::kComplex) DEPUTY_RETURN_IF_ERROR(CheckNumbers(*info));
    }
  return {};
}

Result<std::vector<TensorIndex>> Indexes(ModelFile& file, const flatbuffers::Vector<int32_t>* list) {
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<int64_t> ints, file.Ints(list));
  return std::vector<TensorIndex>(ints.begin(), ints.end());
}

}  // namespace

Status Subgraphs::ReadOperators(uint32_t index, Scope& scope, Tensors& tensors) {
  const auto* operators = file.model().subgraphs()->Get(index)->operators();
  for (flatbuffers::uoffset_t i = 0; operators != nullptr && i < operators->size(); ++i)
    DEPUTY_RETURN_IF_ERROR(ReadOperator(i, *operators->Get(i), scope, tensors));
  return {};
}

Status Subgraphs::ReadOperator(size_t index, const fb::Operator& table, Scope& scope, Tensors& tensors) {
  const auto* codes = file.model().operator_codes();
  if (codes == nullptr || table.opcode_index() >= codes->size())
    return Error(StatusCode::kModel, "operator code index {} is out of range", table.opcode_index())
        .At("operator " + std::to_string(index));
  const fb::OperatorCode& code = *codes->Get(table.opcode_index());
  Status status = ImportOperator(index, table, code, scope, tensors);
  if (status.ok()) return status;
  return std::move(status).At(fmt::format("operator {} ({} version {})", index, NameOf(code), code.version()));
}

Status Subgraphs::ImportOperator(size_t index, const fb::Operator& table, const fb::OperatorCode& code, Scope& scope,
                                 Tensors& tensors) {
  if (CodeOf(code) == fb::BuiltinOperator_CUSTOM) return ImportCustom(index, table, code, scope, tensors);
  const auto found = std::find_if(std::begin(kImportables), std::end(kImportables),
                                  [&](const Importable& it) { return it.code == CodeOf(code); });
  if (found == std::end(kImportables))
    return Error(StatusCode::kNotSupported, "is not supported")
        .Advise("export the original model to ONNX, or replace the operator in it");
  if (code.version() < 1 || code.version() > found->newest)
    return Error(StatusCode::kNotSupported, "has an unsupported version; versions 1 to {} are supported", found->newest)
        .Advise("convert the model again with an older converter, or export it to ONNX");
  if (found->options != 0 && table.builtin_options() != nullptr && table.builtin_options_type() != found->options)
    return Error(StatusCode::kModel, "has builtin_options of type {}, expected {}", table.builtin_options_type(),
                 found->options);
  DEPUTY_ASSIGN_OR_RETURN(std::vector<TensorIndex> inputs, Indexes(file, table.inputs()));
  DEPUTY_ASSIGN_OR_RETURN(std::vector<TensorIndex> outputs, Indexes(file, table.outputs()));
  DEPUTY_RETURN_IF_ERROR(CheckOperands(*found, tensors, inputs, outputs));
  scope.emit.BeginOperator(fmt::format("{}{}_{}", prefix_, found->name, index));
  return found->function(Operation(*this, table, std::move(inputs), std::move(outputs), scope, tensors));
}

// A node of the domain kCustomDomain, for the delegate that knows its type. Its operands are as they are stored, in the
// layout of the file, and its outputs have the types in the file.
Status Subgraphs::ImportCustom(size_t index, const fb::Operator& table, const fb::OperatorCode& code, Scope& scope,
                               Tensors& tensors) {
  DEPUTY_ASSIGN_OR_RETURN(const std::string type, file.Text(code.custom_code()));
  if (type.empty()) return Error(StatusCode::kModel, "is a custom operator without a name");
  if (code.version() < 1) return Error(StatusCode::kModel, "has version {}, expected 1 or more", code.version());
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<TensorIndex> inputs, Indexes(file, table.inputs()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<TensorIndex> outputs, Indexes(file, table.outputs()));
  if (outputs.empty()) return Error(StatusCode::kNotSupported, "has no outputs, which is not supported");
  PrimitiveBuilder builder(kCustomDomain, type, code.version());
  DEPUTY_ASSIGN_OR_RETURN(const std::span<const uint8_t> options, CustomOptions(file, table));
  if (!options.empty()) {
    DEPUTY_RETURN_IF_ERROR(file.SpendCopy(options.size()));
    DEPUTY_ASSIGN_OR_RETURN(
        Tensor bytes, Tensor::FromValues<uint8_t>(DType::kUint8, {static_cast<int64_t>(options.size())}, options));
    builder.Set(kCustomOptions, std::move(bytes));
  }
  std::vector<ValueId> values;
  for (const TensorIndex input : inputs) {
    values.push_back(kNone);
    if (input == -1) continue;
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors.Info(input));
    DEPUTY_RETURN_IF_ERROR(CheckNumbers(*info));
    DEPUTY_ASSIGN_OR_RETURN(values.back(), tensors.Stored(input));
  }
  while (!values.empty() && values.back() == kNone) values.pop_back();
  std::vector<ValueType> types;
  for (const TensorIndex output : outputs) {
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors.Info(output));
    DEPUTY_RETURN_IF_ERROR(CheckNumbers(*info));
    if (info->is_resource || info->is_variable)
      return Error(StatusCode::kNotSupported, "has the variable '{}' as output, which is not supported",
                   Printable(info->name));
    // Files have no extents for what only the operator knows when it runs.
    types.push_back({info->dtype, !info->dims.empty(), info->dims});
  }
  scope.emit.BeginOperator(fmt::format("{}{}_{}", prefix_, Printable(type), index));
  const std::vector<ValueId> made = scope.emit.EmitForeign(builder, std::move(values), types);
  for (size_t i = 0; i < made.size(); ++i) DEPUTY_RETURN_IF_ERROR(tensors.SetStored(outputs[i], made[i]));
  return {};
}

Result<std::vector<Argument>> Subgraphs::Call(int64_t index, Scope& scope, std::span<const Argument> arguments,
                                              const std::string& prefix) {
  if (index < 1 || index >= static_cast<int64_t>(file.model().subgraphs()->size()))
    return Error(StatusCode::kModel, "subgraph index {} is out of range, expected 1 to {}", index,
                 file.model().subgraphs()->size() - 1);
  const auto called = static_cast<uint32_t>(index);
  if (std::find(active_.begin(), active_.end(), called) != active_.end())
    return Error(StatusCode::kModel, "subgraph {} calls itself", index);
  if (active_.size() >= kDeepestCall)
    return Error(StatusCode::kModel, "subgraph calls are nested deeper than {}", kDeepestCall);
  DEPUTY_RETURN_IF_ERROR(file.Spend(kCallBytes + scope.emit.graph().symbols.size() * sizeof(std::string)));
  const std::string outer_prefix = std::exchange(prefix_, prefix);
  Emitter::Place place = scope.emit.TakePlace();
  active_.push_back(called);
  Result<std::vector<Argument>> outputs = CallWithin(called, scope, arguments, prefix);
  active_.pop_back();
  scope.emit.ReturnTo(std::move(place));
  prefix_ = outer_prefix;
  if (outputs.ok()) return outputs;
  return std::move(outputs).status().At(fmt::format("subgraph {}", index));
}

Result<std::vector<Argument>> Subgraphs::CallWithin(uint32_t index, Scope& scope, std::span<const Argument> arguments,
                                                    const std::string& prefix) {
  const fb::SubGraph& table = *file.model().subgraphs()->Get(index);
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<TensorIndex> inputs, Indexes(file, table.inputs()));
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<TensorIndex> outputs, Indexes(file, table.outputs()));
  if (inputs.size() != arguments.size())
    return Error(StatusCode::kModel, "has {} inputs, but is called with {}", inputs.size(), arguments.size());
  if (table.tensors() != nullptr) DEPUTY_RETURN_IF_ERROR(file.Spend(table.tensors()->size() * sizeof(Argument)));
  Tensors tensors(file, scope, index, prefix);
  for (size_t i = 0; i < inputs.size(); ++i) {
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors.Info(inputs[i]));
    if (arguments[i].variable) {
      DEPUTY_RETURN_IF_ERROR(tensors.SetVariable(inputs[i], *arguments[i].variable));
      continue;
    }
    if (info->is_resource || scope.emit.TypeOf(arguments[i].value).dtype != info->dtype)
      return Error(StatusCode::kModel, "the element type of input {} differs from that of its argument", i);
    DEPUTY_RETURN_IF_ERROR(tensors.SetInput(inputs[i], arguments[i].value));
  }
  DEPUTY_RETURN_IF_ERROR(ReadOperators(index, scope, tensors));
  std::vector<Argument> results;
  for (const TensorIndex output : outputs) {
    Argument& result = results.emplace_back();
    DEPUTY_ASSIGN_OR_RETURN(const TensorInfo* info, tensors.Info(output));
    if (info->is_resource) {
      DEPUTY_ASSIGN_OR_RETURN(result.variable, tensors.VariableOf(output));
    } else {
      DEPUTY_ASSIGN_OR_RETURN(result.value, tensors.Stored(output));
    }
  }
  return results;
}

Status Subgraphs::RunOnce(int64_t index, Scope& scope, const std::string& prefix) {
  if (scope.is_region()) return Error(StatusCode::kNotSupported, "is in a branch or a loop, which is not supported");
  if (!run_once_.insert(index).second) return {};
  Graph graph;
  Scope first(graph, variables, /*first_run_only=*/true);
  DEPUTY_RETURN_IF_ERROR(Call(index, first, {}, prefix).status());
  for (const auto& [variable, value] : first.Assigned()) {
    const std::string name = Printable(variables[variable].name);
    if (scope.IsTouched(variable))
      return Error(StatusCode::kNotSupported, "initializes variable '{}' after it was used", name);
    const Tensor& constant = first.emit.ConstantOf(value);
    if (constant.empty())
      return Error(StatusCode::kNotSupported, "initializes variable '{}' with a computed value, which is not supported",
                   name)
          .Advise("convert the model again with its variables initialized by constants");
    variables[variable].initial = constant;
  }
  return {};
}

}  // namespace deputy::host::tflite_import
