// BatchNormalization with constant statistics is a factor and a sum per channel, and so are Mul, Div, Add and Sub with
// a constant per channel. After a Conv, ConvTranspose or Gemm with constant weights they move into weights and bias.
#pragma once

#include "graph/graph.hpp"

namespace deputy::host {

// Needs an intermediate value without other readers. Computed in double and rounded once; left alone where a number
// would not be finite. The convolution keeps its name and its place.
void FoldBatchNorm(Graph& graph);

}  // namespace deputy::host
