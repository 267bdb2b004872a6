#include "verify/wrong_nodes.hpp"

#include <algorithm>
#include <numeric>

namespace deputy::host {
namespace {

constexpr size_t kMostShrunk = 64;  // larger groups are reported as they are

using Nodes = std::span<const uint32_t>;

// A smallest group within `nodes`, which differ together.
std::vector<uint32_t> FindGroup(Nodes nodes, Differs differs) {
  size_t right = 0, wrong = nodes.size();  // lengths of prefixes
  while (wrong - right > 1) {
    const size_t middle = right + (wrong - right) / 2;
    (differs(nodes.first(middle)) ? wrong : right) = middle;
  }
  const Nodes prefix = nodes.first(wrong);
  if (differs(prefix.last(1))) return {prefix.back()};
  size_t begins = 0, ends = prefix.size() - 1;  // from `begins` on they differ, from `ends` on they do not
  while (ends - begins > 1) {
    const size_t middle = begins + (ends - begins) / 2;
    (differs(prefix.subspan(middle)) ? begins : ends) = middle;
  }
  std::vector<uint32_t> group(prefix.begin() + static_cast<ptrdiff_t>(begins), prefix.end());
  if (group.size() > kMostShrunk) return group;
  for (size_t i = 0; i < group.size() && group.size() > 1;) {
    std::vector<uint32_t> fewer = group;
    fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
    if (differs(fewer)) {
      group = std::move(fewer);
    } else {
      ++i;
    }
  }
  return group;
}

}  // namespace

WrongNodes FindWrongNodes(size_t count, Differs differs) {
  WrongNodes found;
  std::vector<uint32_t> rest(count);
  std::iota(rest.begin(), rest.end(), 0U);
  while (!rest.empty() && differs(rest)) {
    if (found.groups.size() == WrongNodes::kMostGroups) return {};
    found.groups.push_back(FindGroup(rest, differs));
    const std::vector<uint32_t>& group = found.groups.back();
    std::erase_if(rest, [&](uint32_t node) { return std::binary_search(group.begin(), group.end(), node); });
  }
  return found;
}

}  // namespace deputy::host
