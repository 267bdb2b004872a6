// The kernels of operators on the CPU: Make<Operator> reads a node once and returns an object that computes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "graph/graph.hpp"
#include "tensor/view.hpp"

namespace deputy::host {

// The memory of a kernel's output 0.
enum class OutputMemory : uint8_t {
  kPlanned,     // separate from all inputs
  kOverInputs,  // may also be that of an input of the same type: element i of each input is read before i is written
  kView,        // an alias of input 0 with the same bytes; Run copies them if they cannot share memory
  // The extents depend on the inputs' values, so that shape inference cannot compute them even if all inputs are known
  // (NonZero, Compress): Run calls allocator->Allocate for each output.
  kOwn,
};

// One run of one node. Outputs have their extents and memory already, unless the kernel has kOwn.
struct KernelArgs {
  std::span<const deputy_tensor* const> inputs;  // null where omitted
  std::span<deputy_tensor* const> outputs;       // null where omitted
  ThreadPool& pool;
  Scratch& scratch;
  OutputAllocator* allocator;

  ConstView input(size_t i) const { return ConstView(i < inputs.size() ? inputs[i] : nullptr); }
  MutableView output(size_t i) const { return MutableView(i < outputs.size() ? outputs[i] : nullptr); }
};

// Immutable; Run is called by several threads at once, each with its own args and scratch.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  virtual OutputMemory output_memory() const { return OutputMemory::kPlanned; }
  bool allocates_outputs() const { return output_memory() == OutputMemory::kOwn; }
  // Checks values that are only known in a run (index ranges); never accesses memory out of bounds for any input.
  virtual Status Run(const KernelArgs& args) const = 0;
};

// The description of a node for a maker: attributes, types as far as inferred, constants.
struct KernelSpec {
  const Node& node;
  const Graph& graph;

  const Primitive& primitive() const { return node.primitive; }
  bool has_input(size_t i) const { return i < node.inputs.size() && node.inputs[i] != kNone; }
  const ValueType& input_type(size_t i) const { return graph.values[node.inputs[i]].type; }
  const ValueType& output_type(size_t i) const { return graph.values[node.outputs[i]].type; }
  // Null when the input is not constant.
  const Tensor* constant(size_t i) const {
    return has_input(i) && graph.values[node.inputs[i]].is_constant() ? &graph.values[node.inputs[i]].constant
                                                                      : nullptr;
  }
};

// kNotSupported, with the reason, for a dtype or attribute that the CPU cannot compute.
using KernelResult = Result<std::unique_ptr<CpuKernel>>;

// By the operator's own maker.
KernelResult MakeKernel(const KernelSpec& spec);

// Make<Operator> for every operator of the list; each is defined in the file of its family. The executor runs regions
// (If), and Constant never remains after import: their makers return errors that say so. Makers run once for each node
// of a plan, and are compiled for size.
#define DEPUTY_OPERATOR_BEGIN(name, ...) [[gnu::cold]] KernelResult Make##name(const KernelSpec& spec);
#include "schema/operators.inc"

}  // namespace deputy::host
