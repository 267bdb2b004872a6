// A graph of ONNX Runtime as plain data, read once. Handles and the elements of constants are those of ONNX Runtime,
// and are valid as long as it keeps the graph: during the call that passed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deputy/status.hpp"
#include "deputy/tensor.hpp"
#include "runtime.hpp"

namespace ort_ep {

// The elements of a tensor, where ONNX Runtime has them unless there is an owner.
struct Elements {
  deputy::DType dtype = deputy::DType::kUndefined;
  std::vector<int64_t> dims;
  std::string_view bytes;
  std::shared_ptr<const std::string> owner;
};

struct Value {
  std::string name;
  deputy::DType dtype = deputy::DType::kUndefined;  // kUndefined: not a tensor, or of unknown type
  bool is_tensor = false;
  bool has_shape = false;
  std::vector<int64_t> dims;         // -1: not known before the run
  std::vector<std::string> symbols;  // of `dims`, empty where there is none
  bool is_constant = false;
  Elements constant;  // of a constant
};

struct Attribute {
  std::string name;
  // An empty one is of a kind that cannot be read.
  std::variant<std::monostate, int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
               std::vector<std::string>, Elements>
      value;
};

struct Graph;

struct Node {
  const ort::Node* handle = nullptr;
  std::string name;  // unique in its graph, and not empty
  std::string op_type, domain;
  int since_version = 0;
  std::vector<size_t> inputs, outputs;  // of Graph::values; kNone: left out
  std::vector<size_t> captured;         // outer values that its subgraphs read
  std::vector<Attribute> attributes;
  std::vector<std::pair<std::string, std::shared_ptr<const Graph>>> subgraphs;  // by attribute
  std::string provider;  // to which it is assigned already, if it is
};

inline constexpr size_t kNone = SIZE_MAX;

struct Graph {
  std::string name;
  bool is_subgraph = false;  // of a node; a guess in version 23
  // Inside the subgraph of an operator that ONNX Runtime replaces by its function, such as SequenceMap.
  bool is_in_function = false;
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;
  std::vector<Value> values;
  std::vector<Node> nodes;              // in topological order
  std::vector<size_t> inputs, outputs;  // without constants
  std::vector<size_t> initializers;     // constants of a subgraph, read or not
};

// Reads a graph with its subgraphs. kModel for handles that ONNX Runtime should not give.
deputy::Result<Graph> ReadGraph(const Runtime& runtime, const ort::Graph* graph);

// Of `value`, which must be a tensor on the CPU. kNotSupported for strings.
deputy::Result<Elements> ReadElements(const Runtime& runtime, const ort::Value* value);
deputy::Result<std::string> NameOf(const Runtime& runtime, const ort::ValueInfo* value);

}  // namespace ort_ep
