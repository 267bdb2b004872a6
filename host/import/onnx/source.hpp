// The line of a program from which a node was exported, out of the stack traces that exporters write into models.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace deputy::host::onnx_import {

// In bytes. Of longer paths the end is kept.
inline constexpr size_t kLongestSource = 120;

// "model.py:42" for a stack trace as PyTorch's exporters write it: the innermost line of the user's own code, or of a
// library where there is none, but rather not of PyTorch. Empty for any other text. Linear in its length.
std::string SourceOf(std::string_view trace);

// The value of a metadata property (StringStringEntryProto) that is a stack trace; empty for any other property.
std::string_view StackTraceOf(std::string_view property);

}  // namespace deputy::host::onnx_import
