// A line for stderr that works in a signal handler and while the process is torn down.
#pragma once

#include <unistd.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace deputy::host {

// Async-signal-safe. Longer lines are truncated.
class LastLine {
 public:
  LastLine& Add(std::string_view text) noexcept {
    for (const char c : text) {
      if (size_ == text_.size() - 1) break;
      text_[size_++] = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return *this;
  }
  void Write() noexcept {
    text_[size_++] = '\n';
    // One call, so that lines of several threads do not mix. A line that cannot be written has no other way out.
    (void)!write(STDERR_FILENO, text_.data(), size_);
    size_ = 0;
  }

 private:
  std::array<char, 1024> text_;
  size_t size_ = 0;
};

}  // namespace deputy::host
