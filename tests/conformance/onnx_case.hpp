// A case of ONNX's own test suite as the oracle can run it: the nodes of a model in their order, and the tensors that
// go in and must come out.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "case.hpp"

namespace deputy::conformance {

struct OnnxNode {
  reference::Node node;
  std::vector<std::string> inputs, outputs;  // "" where left out
};

struct OnnxCase {
  std::vector<OnnxNode> nodes;
  std::map<std::string, reference::Tensor> known;                   // initializers and inputs
  std::vector<std::pair<std::string, reference::Tensor>> expected;  // outputs
};

// Why the oracle has no say in a case: an operator that it does not know, an element type that it does not have.
struct NotApplicable {
  std::string reason;
};

// The folder holds model.onnx and test_data_set_0 with input_I.pb and output_I.pb. Throws NotApplicable; a file that
// cannot be read is a std::runtime_error.
OnnxCase ReadOnnxCase(const std::filesystem::path& folder);

// What the oracle makes of the outputs, one after the other as in `expected`.
std::vector<reference::Tensor> RunOnOracle(const OnnxCase& tested);

}  // namespace deputy::conformance
