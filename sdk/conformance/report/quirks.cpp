#include "report/quirks.hpp"

#include <fstream>
#include <sstream>

#include "reference/tensor.hpp"
#include "text.hpp"

namespace deputy::conformance {

bool QuirkList::Read(const std::string& path, QuirkList* list, std::string* error) {
  std::ifstream stream(path);
  list->file = path;
  if (!stream) {
    *error = path + ": cannot be read";
    return false;
  }
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line);
    std::string word, pattern, reason;
    if (!(words >> word) || word[0] == '#') continue;
    const auto wrong = [&](const std::string& text) {
      *error = path + ":" + std::to_string(number) + ": " + text;
      return false;
    };
    if (!(words >> pattern)) return wrong("'" + word + "' needs a pattern");
    std::getline(words >> std::ws, reason);
    if (reason.empty()) return wrong("an entry needs a reason");
    if (word == "computes-in") {
      for (deputy_dtype dtype = 1; dtype <= DEPUTY_DTYPE_BFLOAT16; ++dtype)
        if (reference::IsReal(dtype) && pattern == reference::NameOf(dtype)) list->computes_in = dtype;
      if (list->computes_in == DEPUTY_DTYPE_UNDEFINED) return wrong("'" + pattern + "' is no float type");
    } else if (word == "cannot" || word == "not-yet") {
      list->entries.push_back({word == "cannot", pattern, reason, number});
    } else {
      return wrong("'" + word + "' is none of cannot, not-yet, computes-in");
    }
  }
  return true;
}

Quirk* QuirkList::Find(const std::string& test, const std::string& subject) {
  for (Quirk& entry : entries)
    if (Matches(entry.pattern, test) || Matches(entry.pattern, test + "/" + subject)) return &entry;
  return nullptr;
}

}  // namespace deputy::conformance
