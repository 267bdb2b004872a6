// An ONNX file as a tree of the fields of its wire format, to be changed and written again with right lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/random.hpp"
#include "import/onnx/wire_schema.hpp"

namespace deputy::fuzz {

struct WireField {
  uint32_t number = 0;
  uint8_t wire_type = 0;
  uint64_t value = 0;  // of wire types 0, 1 and 5
  Bytes data = {};     // of wire type 2 without fields of its own
  // Of a message: its kind and fields. kCount for everything else.
  host::onnx_import::Message message = host::onnx_import::Message::kCount;
  std::vector<WireField> fields = {};
  bool cut = false;  // written with one byte too few, so that the lengths around it are wrong
};

// Nothing for bytes that are not in the wire format. A field that is a message by its number, but not by its bytes, is
// data.
std::optional<std::vector<WireField>> ParseFields(std::span<const uint8_t> bytes, host::onnx_import::Message message);
Bytes WriteFields(const std::vector<WireField>& fields);

// One change somewhere in the tree: a field is removed, repeated, exchanged, added or takes the value or the text of
// another one; a name of an operator or of one of its attributes is given.
void ChangeFields(std::vector<WireField>& fields, host::onnx_import::Message root, Random& random);

// A change to a message of this kind, and once in a while to its bytes.
void MutateMessage(Bytes& input, host::onnx_import::Message root, Random& random, size_t limit);

}  // namespace deputy::fuzz
