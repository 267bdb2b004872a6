// The graphs of a file, written operator by operator at each use: the first one is the model, others are called by IF,
// WHILE and CALL_ONCE.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "import/tflite/model_file.hpp"
#include "import/tflite/scope.hpp"
#include "import/tflite/tensors.hpp"

namespace deputy::host::tflite_import {

// An argument or a result of a subgraph.
struct Argument {
  ValueId value = kNone;
  std::optional<VariableId> variable;  // instead of a value, if the tensor names a variable
};

// [one-thread]
class Subgraphs {
 public:
  explicit Subgraphs(ModelFile& model_file) : file(model_file) {}

  ModelFile& file;
  Variables variables;

  // Writes all operators of a subgraph to the scope's graph.
  Status ReadOperators(uint32_t index, Scope& scope, Tensors& tensors);

  // Writes a subgraph with these arguments, and returns its outputs. Its nodes and tensors have the prefix. Fails for a
  // subgraph that calls itself.
  Result<std::vector<Argument>> Call(int64_t index, Scope& scope, std::span<const Argument> arguments,
                                     const std::string& prefix);
  // The assignments of a subgraph become the initial values of the variables.
  Status RunOnce(int64_t index, Scope& scope, const std::string& prefix);

 private:
  Status ReadOperator(size_t index, const fb::Operator& table, Scope& scope, Tensors& tensors);
  Status ImportOperator(size_t index, const fb::Operator& table, const fb::OperatorCode& code, Scope& scope,
                        Tensors& tensors);
  Status ImportCustom(size_t index, const fb::Operator& table, const fb::OperatorCode& code, Scope& scope,
                      Tensors& tensors);
  Result<std::vector<Argument>> CallWithin(uint32_t index, Scope& scope, std::span<const Argument> arguments,
                                           const std::string& prefix);

  std::vector<uint32_t> active_;  // subgraphs that are being written, the outermost first
  std::string prefix_;
  std::set<int64_t> run_once_;
};

}  // namespace deputy::host::tflite_import
