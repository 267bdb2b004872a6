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

WrongNodes FindWrongNodes(std::span<const uint32_t> operators, Differs differs) {
  WrongNodes found;
  std::vector<uint32_t> rest(operators.size());
  std::iota(rest.begin(), rest.end(), 0U);
  for (size_t searches = 0; !rest.empty() && differs(rest); ++searches) {
    if (searches == WrongNodes::kMostGroups) return {{}, true};
    std::vector<uint32_t> group = FindGroup(rest, differs);
    const uint32_t last = group.back();
    const bool is_single = group.size() == 1;
    std::erase_if(rest, [&](uint32_t node) { return std::binary_search(group.begin(), group.end(), node); });
    found.groups.push_back(std::move(group));
    if (!is_single) continue;
    std::erase_if(rest, [&](uint32_t node) {
      if (operators[node] != operators[last] || !differs(std::span(&node, 1))) return false;
      found.groups.push_back({node});
      return true;
    });
  }
  return found;
}

}  // namespace deputy::host
