// Nodes with one thing wrong: an attribute, a shape, an element type, a value, an input or an output. Each is a case of
// the kit, changed in one place and labelled by what was changed, so that the label of a mutant is the name of a fault.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

struct Mutant {
  std::string label;  // "Conv: plain, strides=[0,1]"
  Case made;
};

// Every mutant of one case. What is drawn, such as the place in a list, follows from the case's name and `seed`.
// `siblings` are all cases of the operator: their attributes are put on this one as well.
std::vector<Mutant> MutantsOf(const Case& original, const std::vector<Case>& siblings, uint64_t seed);

// How a mutant's operands come into its model.
enum class Form {
  kAsItIs,     // as in the case, everything declared as it was before the change
  kAtRunTime,  // each operand is an input, whose extents nobody declares
  kConstant,   // each operand is a constant, so that the node is computed when the model is loaded
};
const char* NameOf(Form form);

// A model of this one node; its outputs are declared like `declared`.
std::vector<uint8_t> GarbageModel(const Case& made, Form form, const std::vector<reference::Tensor>& declared);

}  // namespace deputy::conformance
