// The step before protobuf: reads the wire format under budgets and makes a copy without the weights. A small hostile
// file could otherwise cost a hundred times its size, and every weight would be copied to be parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"
#include "import/onnx/wire_schema.hpp"

namespace deputy::host::onnx_import {

struct Budgets {
  uint64_t nodes = 1'000'000;
  uint64_t tensors = 1'000'000;
  uint64_t messages = 4'000'000;  // of all other kinds together
  uint64_t strings = 4'000'000;   // in lists of strings: names of inputs and outputs, attributes
  uint32_t graph_depth = 32;      // graphs within nodes within graphs
};

// Contents of `raw_data` in the condensed copy: the position of the bytes in the original.
struct WeightReference {
  uint64_t offset;
  uint64_t size;
};

// Protobuf may parse the copy: it is well-formed, within the budgets, and has known fields only and singular messages
// once. Errors name the byte where the file is damaged, or the budget that it exceeds and the node nearby. [any-thread]
Result<std::string> Condense(std::span<const uint8_t> bytes, Message root, const Budgets& budgets = {});

// Fails for a field that onnx.proto had not in the newest IR version known here: a newer one may have added it, and
// what it means would be lost. Of bytes that Condense accepts. [any-thread]
Status CheckFieldsKnown(std::span<const uint8_t> bytes, Message root);

}  // namespace deputy::host::onnx_import
