// The characters that a YAML text may contain, checked before any parser sees it: UTF-8 without NUL, other control
// characters, tabs as indentation or directives. The parser accepts all of these silently.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/origin.hpp"

namespace deputy::host {

// From byte offsets to lines and columns, both from 1; columns count characters. One thread at a time.
class LineIndex {
 public:
  // `text` must outlive the index. With `lines` false (--set) all positions are 0.
  LineIndex(std::string_view text, std::string source, bool lines);

  Origin At(size_t offset) const;

 private:
  std::string_view text_;
  std::string source_;
  bool lines_;
  std::vector<size_t> starts_;
  // Where the last query ended: the next one is mostly a little further on the same line, and a file may be a single
  // line of a quarter of a megabyte.
  mutable size_t last_offset_ = 0;
  mutable int last_column_ = 1;
};

// Text after the first byte that is not UTF-8 is not checked.
void CheckText(std::string_view text, const LineIndex& index, Problems& problems);

}  // namespace deputy::host
