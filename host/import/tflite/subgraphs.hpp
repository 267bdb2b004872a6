// The graphs of a file, written operator by operator where they are needed: the first is the model, others are what
// IF, WHILE and CALL_ONCE call.
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

// What a subgraph takes or returns.
struct Argument {
  ValueId value = kNone;
  std::optional<VariableId> variable;  // in place of a value, where the tensor names one
};

// [one-thread]
class Subgraphs {
 public:
  explicit Subgraphs(ModelFile& model_file) : file(model_file) {}

  ModelFile& file;
  Variables variables;

  // Writes all operators of a subgraph into the scope's graph.
  Status ReadOperators(uint32_t index, Scope& scope, Tensors& tensors);

  // Writes a subgraph with these arguments, and returns its outputs. Nodes and tensors of it get the prefix. Fails for
  // a subgraph that calls itself.
  Result<std::vector<Argument>> Call(int64_t index, Scope& scope, std::span<const Argument> arguments,
                                     const std::string& prefix);
  // Takes what a subgraph assigns for what the variables hold before the first run.
  Status RunOnce(int64_t index, Scope& scope, const std::string& prefix);

 private:
  Status ReadOperator(size_t index, const fb::Operator& table, Scope& scope, Tensors& tensors);
  Status ImportOperator(size_t index, const fb::Operator& table, const fb::OperatorCode& code, Scope& scope,
                        Tensors& tensors);
  Result<std::vector<Argument>> CallWithin(uint32_t index, Scope& scope, std::span<const Argument> arguments,
                                           const std::string& prefix);

  std::vector<uint32_t> active_;  // subgraphs that are being written, the outermost first
  std::string prefix_;
  std::set<int64_t> run_once_;
};

}  // namespace deputy::host::tflite_import
