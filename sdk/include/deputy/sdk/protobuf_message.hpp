// Messages in the wire format of protobuf (https://protobuf.dev/programming-guides/encoding), written field by field
// without a library.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace deputy::sdk {

// Appends fields in the order of the calls. `field` is the field's number.
class ProtobufMessage {
 public:
  ProtobufMessage& Number(uint32_t field, int64_t value) {
    Varint(field << 3);
    Varint(static_cast<uint64_t>(value));
    return *this;
  }
  ProtobufMessage& Float(uint32_t field, float value) {
    Varint(field << 3 | 5u);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    bytes_.append(bytes, sizeof bytes);
    return *this;
  }
  ProtobufMessage& Chunk(uint32_t field, std::string_view bytes) {
    BeginChunk(field, bytes.size());
    bytes_ += bytes;
    return *this;
  }
  ProtobufMessage& Part(uint32_t field, const ProtobufMessage& message) { return Chunk(field, message.bytes_); }
  // The head of a chunk of `size` bytes, which the caller appends to bytes().
  ProtobufMessage& BeginChunk(uint32_t field, uint64_t size) {
    Varint(field << 3 | 2u);
    Varint(size);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  std::string& bytes() { return bytes_; }

 private:
  void Varint(uint64_t value) {
    for (; value > 0x7f; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace deputy::sdk
