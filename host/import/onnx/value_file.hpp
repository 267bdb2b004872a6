// SequenceProto and OptionalProto, in which data beside a model is written: taken apart here, without protobuf, down to
// the tensors within.
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

// `kind` is not kTensor; it tells the two messages apart, which look alike. A sequence may stand where an optional one
// is read. kModel for what is damaged, kNotSupported for a value of other parts than tensors. [any-thread]
Result<ValueParts> ReadValueParts(std::span<const uint8_t> bytes, ValueKind kind);

}  // namespace deputy::host::onnx_import
