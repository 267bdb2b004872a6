// SequenceMap is a function in ONNX's own terms: a Loop over the elements. It becomes that Loop, so that only the
// importers know of it.
#pragma once

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// The body's outputs must have their element types. kNotSupported where a needed type is not known.
Status ExpandSequenceMap(NodeRewrite& node);

}  // namespace deputy::host
