// What each operator becomes. For every operator two functions: may this node run here, and the steps that it becomes.
// A node that gets to Lower has been accepted.
#pragma once

#include "program.hpp"

namespace onednn {

struct Operator {
  const char* type;
  sdk::Verdict (*supports)(const sdk::NodeView& node);
  void (*lower)(const sdk::NodeView& node, ProgramBuilder& builder);
};

// One list per family; the delegate reads them all.
sdk::Span<const Operator> ConvolutionOperators();
sdk::Span<const Operator> ElementwiseOperators();
sdk::Span<const Operator> MatmulOperators();
sdk::Span<const Operator> NormalizationOperators();
sdk::Span<const Operator> PoolingOperators();

// A window over the spatial dimensions, as oneDNN wants it.
struct Window {
  memory::dims strides, dilations, pads_before, pads_after;  // dilation 0: dense
};
// From the attributes, given kernel extents; `after` follows from the output, which may have been rounded up.
Window ReadWindow(const sdk::NodeView& node, const memory::dims& kernel);

}  // namespace onednn
