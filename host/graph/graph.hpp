// A model as nodes and values. Nodes are in topological order; values are numbered; regions (the bodies of If, Loop and
// Scan) are nested graphs that list their captured outer values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/compressed_lists.hpp"
#include "base/status.hpp"
#include "deputy/model_value.hpp"
#include "deputy/tensor.hpp"
#include "graph/primitive.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {

using ValueId = uint32_t;
using NodeId = uint32_t;
inline constexpr uint32_t kNone = 0xffffffffu;  // no value (an omitted optional one), no node

// Element type and extents. An extent is >= 0, kUnknownDim, or a symbol (SymbolDim), which is the same unknown number
// wherever it appears in one graph. Of a sequence they are those of every element; extents in which its elements may
// differ are unknown.
struct ValueType {
  DType dtype = DType::kUndefined;
  bool ranked = false;  // without a rank `dims` is empty and means nothing
  std::vector<int64_t> dims;
  ValueKind kind = ValueKind::kTensor;

  bool is_tensor() const { return kind == ValueKind::kTensor; }
  // A tensor whose bytes can be counted.
  bool is_static() const { return is_tensor() && ranked && IsStatic(dims); }
};

// The common kind of values of both kinds, in any branch or round: a sequence may be in the place of an optional one.
// None for a tensor and a sequence.
std::optional<ValueKind> CommonKind(ValueKind a, ValueKind b);
// The common type of values of both types, as far as they agree; the kinds must have one in common.
ValueType CommonType(const ValueType& a, const ValueType& b);

constexpr int64_t SymbolDim(size_t symbol) { return -2 - static_cast<int64_t>(symbol); }
constexpr bool IsSymbol(int64_t dim) { return dim <= -2; }
constexpr size_t SymbolIndex(int64_t dim) { return static_cast<size_t>(-2 - dim); }

struct Value {
  std::string name;
  ValueType type;
  Tensor constant;  // empty unless the value never changes

  bool is_constant() const { return !constant.empty(); }
};

class Graph;

// A nested graph of a node. captures[i] is the outer value of body.captured[i].
struct Region {
  std::string name;             // the attribute: "then_branch"
  std::shared_ptr<Graph> body;  // shared by copies of the node; treat as immutable once verified
  std::vector<ValueId> captures;
};

struct Node {
  std::string name;
  Primitive primitive;
  std::vector<ValueId> inputs;   // kNone where an optional input is left out
  std::vector<ValueId> outputs;  // kNone where an optional output is left out
  std::vector<Region> regions;
  // "model.py:42", the line of the program from which the model was exported; shared by the nodes of one line. Null
  // where the model does not state it.
  std::shared_ptr<const std::string> source = {};

  OpKind kind() const { return primitive.kind(); }
  // Calls fn(ValueId) for all values that the node reads: its present inputs, then the captures of its regions.
  template <class F>
  void ForEachRead(F fn) const {
    for (const ValueId id : inputs)
      if (id != kNone) fn(id);
    for (const Region& region : regions)
      for (const ValueId id : region.captures) fn(id);
  }
};

// A whole file, mapped read-only and open: its pages can be dropped (base/file.hpp).
struct MappedBytes {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> keep;
  int descriptor = -1;
};

// The first byte of a constant in a file that is open for reading.
struct FilePlace {
  int descriptor = -1;
  uint64_t offset = 0;
};

// Whether the inputs of a model may get other extents than its file has.
enum class InputExtents : uint8_t {
  kNotStated = 0,     // by the file, which may have computed attributes
  kChangeable = 1,    // no attribute depends on them
  kComputedWith = 2,  // attributes were computed from them, such as pads
};

class Graph {
 public:
  std::string name;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<ValueId> inputs, outputs;
  std::vector<ValueId> captured;     // in a region: outer values
  std::vector<std::string> symbols;  // names of the symbolic extents; shared numbering with regions
  std::vector<std::pair<std::string, std::string>> metadata;
  // Initial values of states, which pass from run to run of a session without the caller: the last inputs read the last
  // outputs of the previous run, in the same order; in the first run, these values. A region has none.
  std::vector<Tensor> initial_states;
  InputExtents input_extents = InputExtents::kNotStated;
  std::vector<std::string> warnings;  // of the importer, for the log; not written to files
  // Per output, the element type that the imported file states; undefined where it states none. Not written to files.
  std::vector<DType> stated_outputs;
  // Inputs of the imported file that are constants of the graph, because the file has a default for each.
  std::vector<std::string> inputs_with_default;
  std::vector<std::string> external_files;  // files beside the model's own that constants are mapped from
  std::vector<MappedBytes> mapped;          // in which constants lie

  // Inputs and outputs without the states.
  std::span<const ValueId> caller_inputs() const { return {inputs.data(), inputs.size() - initial_states.size()}; }
  std::span<const ValueId> caller_outputs() const { return {outputs.data(), outputs.size() - initial_states.size()}; }

  ValueId AddValue(std::string value_name, ValueType type = {});
  ValueId AddConstant(std::string value_name, Tensor tensor);
  // Index of the symbol; made when new.
  size_t AddSymbol(const std::string& symbol);

  bool is_mapped(const Tensor& constant) const { return FileOf(constant).has_value(); }
  // Nothing for a constant that is not mapped from a file.
  std::optional<FilePlace> FileOf(const Tensor& constant) const;
  // Takes the pages of all mapped constants out of the memory of the process until they are read again.
  void DropPages() const;

  // Node that makes each value; kNone for inputs, captures and constants.
  std::vector<NodeId> Producers() const;
  // Nodes that read each value, captures included; each node once per value.
  CompressedLists Consumers() const;
};

// The key of metadata in which importers say what a model's outputs are instead of what it declares; one entry for
// each. They are logged when the model is read.
inline constexpr const char* kNoteKey = "deputy.note";

// The name of a node in rules and reports: "node 17" where it has none, the number of the node in its graph.
inline constexpr std::string_view kUnnamedNode = "node ";
std::string NodeName(const Graph& graph, NodeId node);
// "node 'conv1' (Conv)" or "node 17 (Conv)" for a nameless one; ", exported at model.py:42" follows where that is
// known.
std::string Describe(const Graph& graph, NodeId node);
// "float32 [N,3,?,320]", "optional sequence of float32 of unknown rank"
std::string Describe(const Graph& graph, const ValueType& type);
// ONNX's own notation of types, "seq(tensor(float))", in which an attribute that is a type is stored: kind and element
// type, without extents.
std::string NotationOf(const ValueType& type);
// ONNX's name of an element type that Deputy's tensors do not have; null for all other numbers.
const char* NameOfUnsupportedType(int64_t number);
// kModel for text that is not a type of a value.
Result<ValueType> ParseNotation(std::string_view text);

// A part of a graph. The nodes, in topological order, with the values that they read and make. `inputs` become captures
// and `outputs` outputs, in their order, without those that are kNone. Constants and bodies of regions are shared.
Graph Subgraph(const Graph& whole, std::span<const NodeId> nodes, std::span<const ValueId> inputs,
               std::span<const ValueId> outputs);

// Multiply-adds of one node: convolutions, matrix products and recurrent layers; 0 for everything else and while
// extents are unknown. Regions are not counted.
uint64_t MultiplyAdds(const Graph& graph, const Node& node);

// Axes that a tensor may have. Makers of tensors refuse more: the file readers, shape inference, a run.
inline constexpr size_t kMostAxes = 64;
// kModel for a type with more axes, or whose known extents make more than kMostElements elements.
Status CheckExtents(const ValueType& type);

// Ids in range, one producer per value, nodes in topological order, arities as in the operator list, captures of
// regions match, element counts of constants fit their types. Errors name the node. Regions are verified too.
Status VerifyGraph(const Graph& graph);

}  // namespace deputy::host
