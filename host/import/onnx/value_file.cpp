#include "import/onnx/value_file.hpp"

#include <optional>

namespace deputy::host::onnx_import {
namespace {

constexpr size_t kMostTensors = 1'000'000;

// Fields of both messages, and the values of elem_type; the numbers are those of onnx-data.proto.
enum ValueField : uint64_t { kElementType = 2, kTensorField = 3, kSequenceField = 5 };
enum ElementType : uint64_t { kUndefinedType = 0, kTensorType = 1, kSequenceType = 3 };
constexpr uint64_t kLastField = 7;

struct ValueMessage {
  uint64_t element_type = kUndefinedType;
  std::vector<std::span<const uint8_t>> tensors, sequences;
};

Status Damaged(const char* subject) { return Error(StatusCode::kModel, "is not a valid value: {}", subject); }

class Wire {
 public:
  explicit Wire(std::span<const uint8_t> bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  std::optional<uint64_t> Varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<std::span<const uint8_t>> Bytes() {
    const std::optional<uint64_t> size = Varint();
    if (!size || *size > rest_.size()) return std::nullopt;
    const std::span<const uint8_t> bytes = rest_.first(*size);
    rest_ = rest_.subspan(*size);
    return bytes;
  }

 private:
  std::span<const uint8_t> rest_;
};

Result<ValueMessage> ReadMessage(std::span<const uint8_t> bytes) {
  ValueMessage message;
  Wire wire(bytes);
  while (!wire.empty()) {
    const std::optional<uint64_t> tag = wire.Varint();
    const uint64_t field = tag.value_or(0) >> 3, type = tag.value_or(0) & 7;
    if (!tag || field == 0) return Damaged("invalid field number");
    if (type == 0) {
      const std::optional<uint64_t> number = wire.Varint();
      if (!number) return Damaged("unterminated varint");
      if (field == kElementType) message.element_type = *number;
      continue;
    }
    const std::optional<std::span<const uint8_t>> part = type == 2 ? wire.Bytes() : std::nullopt;
    if (!part) return Damaged("unexpected end of data, or an unknown wire type");
    if (field == kTensorField) {
      if (message.tensors.size() == kMostTensors)
        return Error(StatusCode::kResourceExhausted, "has more than {} tensors", kMostTensors);
      message.tensors.push_back(*part);
    } else if (field == kSequenceField) {
      message.sequences.push_back(*part);
    } else if (field > kElementType && field <= kLastField) {
      return Error(StatusCode::kNotSupported,
                   "has elements other than tensors and sequences of tensors, which is not supported");
    }
  }
  return message;
}

Result<ValueParts> SequenceOf(const ValueMessage& message) {
  if (message.element_type > kTensorType || !message.sequences.empty())
    return Error(StatusCode::kNotSupported, "is a sequence of elements other than tensors, which is not supported");
  return ValueParts{true, message.tensors};
}

}  // namespace

Result<ValueParts> ReadValueParts(std::span<const uint8_t> bytes, ValueKind kind) {
  DEPUTY_ASSIGN_OR_RETURN(const ValueMessage message, ReadMessage(bytes));
  if (kind == ValueKind::kSequence) return SequenceOf(message);
  const size_t parts = message.tensors.size() + message.sequences.size();
  if (message.element_type == kUndefinedType && parts == 0) return ValueParts();
  if (kind == ValueKind::kOptionalTensor) {
    if (message.element_type > kTensorType) return Error(StatusCode::kNotSupported, "is not an optional tensor");
    if (parts > 1 || message.tensors.size() != parts) return Damaged("an optional has more than one tensor");
    return ValueParts{parts == 1, message.tensors};
  }
  if (message.element_type == kTensorType) return SequenceOf(message);
  if (message.element_type > kSequenceType) return Error(StatusCode::kNotSupported, "is not an optional sequence");
  if (parts != 1 || message.sequences.size() != 1) return Damaged("an optional has more than one value");
  DEPUTY_ASSIGN_OR_RETURN(const ValueMessage sequence, ReadMessage(message.sequences.front()));
  return SequenceOf(sequence);
}

}  // namespace deputy::host::onnx_import
