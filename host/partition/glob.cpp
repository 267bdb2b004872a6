#include "partition/placement.hpp"

namespace deputy::host {

bool MatchesGlob(std::string_view glob, std::string_view text) {
  // Remembers the last '*' and the length it has matched: linear for one star, quadratic at worst, no recursion.
  size_t g = 0, t = 0, star = std::string_view::npos, eaten = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      ++g;
      ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      eaten = t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++eaten;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace deputy::host
