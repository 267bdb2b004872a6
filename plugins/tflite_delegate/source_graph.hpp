// Nodes of an interpreter that are to be run by Deputy, with their tensors, as plain data. Names, shapes and
// quantization are copies; the elements of constants and the parameters of nodes stay in the interpreter, whose nodes
// and file outlive the nodes that replace them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "operator_forms.hpp"

namespace deputy::tflite_delegate {

struct SourceTensor {
  std::string name;
  tflite_abi::Type type = tflite_abi::kNoType;
  std::vector<int32_t> shape;
  std::vector<float> scales;  // none: not quantized
  std::vector<int32_t> zero_points;
  int32_t axis = 0;  // of the scales, where there are several
  const void* constant = nullptr;
  size_t bytes = 0;  // of the constant
};

struct SourceNode {
  int index = 0;  // in the interpreter
  const OperatorForm* form = nullptr;
  int version = 1;
  std::vector<int32_t> inputs, outputs, intermediates;  // tensors; -1: an omitted input
  const void* params = nullptr;
  std::string custom_name;  // of CUSTOM
  const void* custom_options = nullptr;
  size_t custom_size = 0;
};

// A node that stays with the interpreter.
struct LeftNode {
  int index = 0;
  std::string op, reason;
};

struct SourceGraph {
  std::vector<SourceNode> nodes;  // in the order of execution
  std::map<int32_t, SourceTensor> tensors;
  std::vector<LeftNode> left;
  size_t plan_size = 0;

  // Moves the node to the left ones.
  void Leave(int index, const std::string& reason);
};

// Reads the execution plan. Nodes that cannot be written to a file, whose results have shapes that depend on values, or
// that compute such shapes are left. Fails where the interpreter does.
Result<SourceGraph> ReadGraph(tflite_abi::Context* context);

}  // namespace deputy::tflite_delegate
