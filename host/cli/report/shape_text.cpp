#include "cli/report/shape_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>

namespace deputy::cli {
namespace {

std::string JoinShape(const Shape& shape, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : separator, shape[i]);
  return text;
}

}  // namespace

Result<NamedValue> ParseNamedValue(std::string_view flag, std::string_view form, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Status(StatusCode::kInvalidArgument, fmt::format("'{}' is not of the form {}", text, form))
        .At(std::string(flag));
  return NamedValue{text.substr(0, equals), text.substr(equals + 1)};
}

Result<Shape> ParseShape(std::string_view text) {
  if (text == "scalar") return Shape();
  const auto refuse = [&] {
    return Status(StatusCode::kInvalidArgument, fmt::format("'{}' is not a shape", text))
        .Advise("write the extents with an x between them, as in 1x3x224x224, or scalar");
  };
  Shape shape;
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    int64_t extent = 0;
    const std::from_chars_result read = std::from_chars(at, end, extent);
    if (read.ec != std::errc() || extent < 0 || *at == '-') return refuse();
    shape.push_back(extent);
    if (read.ptr == end) return shape;
    if (*read.ptr != 'x') return refuse();
    at = read.ptr + 1;
    if (at == end) return refuse();
  }
}

std::string ShapeText(const Shape& shape) { return "[" + JoinShape(shape, ",") + "]"; }

std::string TypedShape(const Shape& shape) { return shape.empty() ? "scalar" : JoinShape(shape, "x"); }

std::string TypeText(const Tensor& tensor) {
  return fmt::format("{} {}", NameOf(tensor.dtype()), ShapeText(tensor.shape()));
}

std::string TypeText(const TensorInfo& info) {
  const std::string type = fmt::format("{}{}{}", IsOptional(info.kind) ? "optional " : "",
                                       HoldsSequence(info.kind) ? "sequence of " : "", NameOf(info.dtype));
  if (!info.ranked) return type + " of any rank";
  std::string text = type + " [";
  for (size_t i = 0; i < info.shape.size(); ++i) {
    if (i != 0) text += ',';
    const bool named = i < info.dims.size() && !info.dims[i].empty();
    text += named ? info.dims[i] : info.shape[i] < 0 ? std::string("?") : fmt::format("{}", info.shape[i]);
  }
  return text + "]";
}

}  // namespace deputy::cli
