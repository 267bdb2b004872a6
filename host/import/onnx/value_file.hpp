// SequenceProto and OptionalProto, the formats of data files beside a model, split without protobuf into the tensors in
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "deputy/model_value.hpp"

namespace deputy::host::onnx_import {

struct ValueParts {
  bool is_there = false;                          // false: an empty optional
  std::vector<std::span<const uint8_t>> tensors;  // TensorProtos: the elements of the sequence, or the one tensor
};

// `kind` is not kTensor; it distinguishes the two messages, whose encodings are alike. A sequence is accepted as an
// optional sequence. kModel for damaged bytes, kNotSupported for a value with elements other than tensors. [any-thread]
Result<ValueParts> ReadValueParts(std::span<const uint8_t> bytes, ValueKind kind);

}  // namespace deputy::host::onnx_import
