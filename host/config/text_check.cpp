#include "config/text_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/printable.hpp"

namespace deputy::host {
namespace {

unsigned char ByteAt(std::string_view text, size_t i) {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

bool IsContinuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// False: stop, the other checks do not apply to this text.
bool CheckCharacters(std::string_view text, const LineIndex& index, Problems& problems) {
  if (text.substr(0, 2) == "\xff\xfe" || text.substr(0, 2) == "\xfe\xff") {
    problems.Add(index.At(0), "this is UTF-16; save the file as UTF-8", ProblemCode::kSyntax);
    return false;
  }
  if (text.substr(0, 3) == "\xef\xbb\xbf") {
    problems.Add(index.At(0), "the file begins with a byte order mark; save it as UTF-8 without one",
                 ProblemCode::kSyntax);
    return false;
  }
  for (size_t i = 0; i < text.size();) {
    const unsigned char byte = ByteAt(text, i);
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0) {
      problems.Add(index.At(i), fmt::format("byte 0x{:02x} is not valid UTF-8", byte), ProblemCode::kSyntax);
      return false;
    }
    if (byte == 0) {
      problems.Add(index.At(i), "a NUL byte; this is not a text file, or not UTF-8", ProblemCode::kSyntax);
      return false;
    }
    if (byte == '\r' && ByteAt(text, i + 1) != '\n') {
      problems.Add(index.At(i), "a carriage return without a line feed", ProblemCode::kSyntax);
    } else if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f) {
      problems.Add(index.At(i), fmt::format("control character 0x{:02x}", byte), ProblemCode::kSyntax);
    } else if (byte == 0xc2 && ByteAt(text, i + 1) < 0xa0) {
      problems.Add(index.At(i), fmt::format("control character U+{:04X}", ByteAt(text, i + 1)), ProblemCode::kSyntax);
    }
    i += length;
  }
  return true;
}

void CheckLine(std::string_view text, size_t begin, size_t end, const LineIndex& index, Problems& problems) {
  size_t first = begin, tab = end;
  for (; first < end && (text[first] == ' ' || text[first] == '\t' || text[first] == '\r'); ++first)
    if (text[first] == '\t') tab = std::min(tab, first);
  if (first == end) return;
  if (tab != end) problems.Add(index.At(tab), "a tab as indentation; use spaces", ProblemCode::kSyntax);
  if (text[begin] == '%')
    problems.Add(index.At(begin), "directives (%YAML, %TAG) are not accepted", ProblemCode::kSyntax);
}

}  // namespace

LineIndex::LineIndex(std::string_view text, std::string source, bool lines)
    : text_(text), source_(std::move(source)), lines_(lines), starts_{0} {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') starts_.push_back(i + 1);
}

Origin LineIndex::At(size_t offset) const {
  if (!lines_) return {source_, 0, 0};
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const size_t start = *(after - 1);
  const bool further = last_offset_ >= start && last_offset_ <= offset;
  size_t from = further ? last_offset_ : start;
  int column = further ? last_column_ : 1;
  for (; from < offset; ++from)
    if (!IsContinuation(ByteAt(text_, from))) ++column;
  last_offset_ = offset;
  last_column_ = column;
  return {source_, static_cast<int>(after - starts_.begin()), column};
}

void CheckText(std::string_view text, const LineIndex& index, Problems& problems) {
  if (!CheckCharacters(text, index, problems)) return;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    CheckLine(text, begin, end, index, problems);
    begin = end + 1;
  }
}

}  // namespace deputy::host
