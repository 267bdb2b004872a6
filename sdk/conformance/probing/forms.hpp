// Cases of an operator in a given form: one element type and one shape of its data. A delegate with narrow limits
// (images of float16 with channels in eights, constant weights) takes none of the fixed cases; a form that it takes is
// found by asking. Forms also make the sizes at which index arithmetic and vector loops go wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

struct Form {
  deputy_dtype dtype = kF32;
  Dims dims;  // of the first input

  // "shape=[1,8,4,4] dtype=float16"
  std::string ToString() const;
};

// Nothing where the operator has no such form. Weights are constant.
std::optional<Case> CaseIn(const std::string& op_type, const Form& form, uint64_t seed);

// The form of a case: its first input.
std::optional<Form> FormOf(const Case& tested);

// Forms in the order in which they are asked for: common ones first.
std::vector<Form> CommonForms();

// From a form that is taken, of the same type and rank: with the last extent from 1 on, around the widths of vector
// registers.
std::vector<Form> TailsOf(const Form& form);
// With an odd first extent and rows that are wider than a tile.
std::vector<Form> WideOf(const Form& form);
// With areas of more elements than 15 bits count, and 16. Those of one area are alternatives: one channel, the channels
// of the form, extents in sixteens.
std::vector<std::vector<Form>> AreasOf(const Form& form);

}  // namespace deputy::conformance
