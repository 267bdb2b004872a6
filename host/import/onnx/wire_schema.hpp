// The fields of ONNX's messages that are read, in the terms of protobuf's wire format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace deputy::host::onnx_import {

enum class Message : uint8_t {
  kModel,
  kOperatorSet,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSegment,
  kSparseTensor,
  kValueInfo,
  kType,
  kTensorType,
  kElementType,  // sequence or optional: one nested type
  kMapType,
  kShape,
  kDimension,
  kFunction,
  kProperty,
  kCount,
};

enum class Encoding : uint8_t {
  kMessage,
  kText,     // string or bytes
  kWeights,  // raw_data
  kVarint,
  kFixed32,
  kFixed64,
};

struct Field {
  uint32_t number;
  Encoding encoding;
  bool repeated = false;  // numbers may then be packed
  Message message = Message::kCount;
};

// In the order of the numbers.
std::span<const Field> FieldsOf(Message message);
const char* NameOf(Message message);

}  // namespace deputy::host::onnx_import
