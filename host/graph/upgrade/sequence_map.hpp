// SequenceMap is a function in ONNX's own terms: a Loop over the elements. It becomes that Loop, so that nothing behind
// the importers has to know of it.
#pragma once

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

// The body's outputs must have their element types. kNotSupported where a type is not known that decides.
Status ExpandSequenceMap(NodeRewrite& node);

}  // namespace deputy::host
