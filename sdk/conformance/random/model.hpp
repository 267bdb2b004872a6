// Random models of one node each, by number: the operators of the list in turn, and all else from the number's own
// stream, so that a number is the same model everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "case.hpp"
#include "onnx_model.hpp"

namespace deputy::conformance {

struct RandomModel {
  Case tested;
  int32_t opset = 1;  // one in which the node's definition holds
  UnknownExtents unknown;
};

// The operators that are drawn: those that the oracle knows.
const std::vector<std::string>& RandomOperators();

// Has no operator where no family draws it.
RandomModel DrawModel(uint64_t seed);

// The model as a file; `expected` as the oracle computes it.
std::vector<uint8_t> FileOf(const RandomModel& model, const std::vector<Tensor>& expected);

}  // namespace deputy::conformance
