// The fields of ONNX's messages (IR version 14) that are read, in the terms of protobuf's wire format.
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
// A field of onnx.proto that is known, but not read.
bool IsIgnored(Message message, uint64_t number);
const char* NameOf(Message message);

}  // namespace deputy::host::onnx_import
