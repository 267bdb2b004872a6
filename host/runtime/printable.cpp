// deputy::Printable and DidYouMean: the host's functions, for programs.
#include "deputy/printable.hpp"

#include "base/nearest.hpp"
#include "base/printable.hpp"

namespace deputy {

std::string Printable(std::string_view text, size_t limit) { return host::Printable(text, limit); }

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  return host::DidYouMean(word, candidates);
}

}  // namespace deputy
