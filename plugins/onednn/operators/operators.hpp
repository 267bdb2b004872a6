// ONNX's operators as operations of a program. Every operator has two functions: `supports` decides whether a node may
// run here, `read` adds it to the program. Only accepted nodes are read.
#pragma once

#include <functional>
#include <unordered_set>

#include "program.hpp"

namespace onednn {

struct Ranks {
  uint32_t least = 0, most = 6;
};

// Element types: float32 and float16, or float32 and bytes at one side.
enum Types { kFloats, kFloatsAndBytes };

struct Operator {
  const char* type;
  size_t data_inputs;  // number of leading inputs that are real numbers; `supports` checks the others
  sdk::Verdict (*supports)(const sdk::NodeView& node);  // called only when the ranks of input and output are right
  void (*read)(const sdk::NodeView& node, Program& program);
  Ranks ranks = {};
  const char* note = "";  // for listings: further conditions of `supports`
  bool moves = false;     // only moves or reshapes elements or changes their type
  Types types = kFloats;  // `supports` checks other types
};
constexpr size_t kAllInputs = static_cast<size_t>(-1);
constexpr const char* kBeside = "beside a node that is computed here";
constexpr const char* kConstantParameters = "constant parameters";

inline sdk::Verdict SupportsAll(const sdk::NodeView&) { return sdk::Verdict::Yes(); }

// One list per family; the delegate reads them all.
sdk::Span<const Operator> BinaryOperators();
sdk::Span<const Operator> ConvolutionOperators();
sdk::Span<const Operator> ElementwiseOperators();
sdk::Span<const Operator> MatmulOperators();
sdk::Span<const Operator> MovementOperators();
sdk::Span<const Operator> NormalizationOperators();
sdk::Span<const Operator> PoolingOperators();
sdk::Span<const Operator> QuantizationOperators();
sdk::Span<const Operator> ReductionOperators();
sdk::Span<const Operator> ResizeOperators();

// Real numbers, in any mixture; all are computed in float32.
inline bool IsFloat(sdk::DType type) { return type == sdk::DType::kFloat32 || type == sdk::DType::kFloat16; }

// The operators' table for listings.
std::vector<sdk::Capability> ListCapabilities();

// The operator of a node, NULL for one that is in no list.
const Operator* FindOperator(const sdk::NodeView& node);

// Selects the nodes to accept among those that only move elements: neighbours of a computed node of this delegate,
// directly or through other such nodes. Alone they would cost a copy where the host has a view.
std::unordered_set<deputy_node_id> MoversWorthTaking(const sdk::GraphView& graph,
                                                     const std::function<bool(const sdk::NodeView&)>& accepted);

// Functions shared by families. From the attributes, given kernel extents; `after` follows from the output, which may
// have been rounded up.
Window ReadWindow(const sdk::NodeView& node, const memory::dims& kernel);
// Does a window lie in the padding alone? It has no maximum and no mean.
bool HasEmptyWindow(const Window& window, const memory::dims& kernel);
// Elements of a constant of int32 or int64; nothing if it is another value.
std::optional<std::vector<int64_t>> ConstantInts(const sdk::ValueView& value);
// The one element of a constant of any numeric type.
std::optional<float> ConstantScalar(const sdk::ValueView& value);
// An axis that may count from the end.
inline int64_t FromFront(int64_t axis, size_t rank) { return axis < 0 ? axis + static_cast<int64_t>(rank) : axis; }
// One value per channel (dimension 1) of a tensor of this rank.
memory::dims PerChannel(int64_t channels, size_t rank);
// x * scale + shift, kept as one operation.
Value AddLinear(Program& program, Value x, float scale, float shift);

}  // namespace onednn
