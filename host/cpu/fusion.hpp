// Operators between DequantizeLinear and QuantizeLinear, computed with the integers: the form in which quantizers write
// models, as opposed to QLinearConv and its like.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cpu/kernel.hpp"

namespace deputy::host {

// What computes the node at `place` and the nodes around it: a kernel and, for its inputs and outputs, a node.
struct QuantizedGroup {
  NodeId place = 0;
  Node node;
  std::vector<ValueId> inputs;  // of the node without constants, each once
  std::unique_ptr<CpuKernel> kernel;
};

// Calls `add` for each QuantizeLinear on offer whose input can be computed from integers, together with a graph that
// has the values of the original and further constants. Products, convolutions and averages are those of the QLinear
// operators: the sums are exact, and their scaling to the result may round otherwise than the operators of floats where
// the result lies between two integers. Everything else gives the same bits.
void FuseQuantized(const GraphView& view, const std::function<void(QuantizedGroup&&, const Graph&)>& add);

}  // namespace deputy::host
