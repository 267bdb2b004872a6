// How each operator of operators.inc is written to a file: its numbers, and its options, which the interpreter has as a
// C struct and the file as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "deputy/status.hpp"
#include "flatbuffers/flatbuffers.h"

namespace deputy::tflite_delegate {

inline constexpr int32_t kCustomOperator = 32, kDelegateOperator = 51, kShapeOperator = 77, kRankOperator = 110;

// A field of an options table, and where its value is in the struct.
struct OptionField {
  enum Kind : uint8_t { kInt, kFloat, kBool, kPadding, kActivation, kMirrorPadMode, kByte, kInts } kind;
  uint16_t id;                          // in the table
  uint16_t offset;                      // in the struct, in bytes
  uint16_t count_offset = 0, most = 0;  // kInts: of the number of elements, and the most that the struct has room for
};

struct OperatorForm {
  const char* name;
  int32_t number;
  uint8_t options;  // 0: none
  std::span<const OptionField> fields;
  uint32_t shaping;  // bits of inputs
};

// Null for an operator that is not listed.
const OperatorForm* FormOf(int32_t number);

// An operator that always stays with the interpreter.
struct LeftOperator {
  const char* name;
  int32_t number;
  const char* reason;
};

// Null for an operator that is not listed as such.
const LeftOperator* LeftOperatorOf(int32_t number);

// The options of a node with these parameters; 0 where the operator has none. kNotSupported for a value that the file
// format has no number for, kInvalidArgument for missing parameters. Writes nothing on failure.
Result<flatbuffers::Offset<void>> WriteOptions(flatbuffers::FlatBufferBuilder& builder, const OperatorForm& form,
                                               const void* params);

}  // namespace deputy::tflite_delegate
