#include "store/entry_origin.hpp"

#include <algorithm>
#include <array>

namespace deputy::host {
namespace {

// After the text, each field and each library begins with this byte, which no text has.
constexpr char kSeparator = '\0';

std::array<std::string EntryOrigin::*, 7> Fields() {
  return {&EntryOrigin::model, &EntryOrigin::plugin,   &EntryOrigin::version, &EntryOrigin::file,
          &EntryOrigin::build, &EntryOrigin::delegate, &EntryOrigin::device};
}

void Append(std::string_view field, std::string& text) {
  text += kSeparator;
  text += field.substr(0, field.find(kSeparator));
}

}  // namespace

std::string WithOrigin(std::string_view text, const EntryOrigin& origin, size_t limit) {
  std::string all(text);
  if (origin == EntryOrigin()) return all;
  for (const auto field : Fields()) Append(origin.*field, all);
  for (const std::string& library : origin.libraries) Append(library, all);
  return all.size() <= limit ? all : std::string(text);
}

std::pair<std::string, EntryOrigin> SplitOrigin(std::string_view stored) {
  const auto next = [&] {
    const size_t end = std::min(stored.find(kSeparator), stored.size());
    std::string field(stored.substr(0, end));
    stored.remove_prefix(std::min(end + 1, stored.size()));
    return field;
  };
  std::pair<std::string, EntryOrigin> split{next(), {}};
  for (const auto field : Fields()) split.second.*field = next();
  while (!stored.empty()) split.second.libraries.push_back(next());
  return split;
}

}  // namespace deputy::host
