// How an operator becomes runnable on the CPU: Make<Operator> reads a node once and returns an object that computes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "graph/graph.hpp"
#include "tensor/view.hpp"

namespace deputy::host {

// Where a kernel's output 0 lies.
enum class OutputMemory : uint8_t {
  kPlanned,     // apart from all inputs
  kOverInputs,  // also in place of an input of the same type: element i of each input is read before i is written
  kView,        // in place of input 0, whose bytes it has: Run copies them, for when it cannot lie there
  // The extents follow from the inputs' values in a way that shape inference cannot tell even when all inputs are known
  // (NonZero, Compress): Run calls allocator->Allocate for each output itself.
  kOwn,
};

// One run of one node. Outputs have their extents and memory already, unless the kernel has kOwn.
struct KernelArgs {
  std::span<const deputy_tensor* const> inputs;  // null where left out
  std::span<deputy_tensor* const> outputs;       // null where left out
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
  // Checks what only the run can know (index ranges); never reads or writes out of bounds on any input.
  virtual Status Run(const KernelArgs& args) const = 0;
};

// What a maker may know about its node: attributes, types as far as inferred, constants.
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

}  // namespace deputy::host
