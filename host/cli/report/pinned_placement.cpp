#include "cli/report/pinned_placement.hpp"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/report/json_report.hpp"
#include "deputy/printable.hpp"

namespace deputy::cli {
namespace {

constexpr std::string_view kCpu = "cpu";

// Names of entries have no spaces. Kernels of a plugin for its own operators, "npu0 kernels", are no entry: no other
// delegate has these operators.
bool IsEntry(std::string_view delegate) { return delegate != kCpu && delegate.find(' ') == std::string_view::npos; }

}  // namespace

Result<std::string> PinnedPlacement(const std::string& title, const PlacementReport& report) {
  std::map<std::string_view, std::string_view> owners;
  std::map<std::string_view, std::vector<std::string_view>> nodes;
  for (const NodeReport& node : report.nodes) {
    if (!IsEntry(node.delegate) && node.delegate != kCpu) continue;
    const auto refuse = [&](std::string_view why) {
      return Status(StatusCode::kNotSupported,
                    fmt::format("the node '{}' cannot be pinned by its name: {}", Printable(node.name), why));
    };
    if (node.name.find_first_of("*?") != std::string::npos) return refuse("'*' and '?' stand for other characters");
    if (Printable(node.name) != node.name) return refuse("it has characters that are not printable");
    const auto [owner, is_new] = owners.try_emplace(node.name, node.delegate);
    if (owner->second != node.delegate)
      return refuse(fmt::format("nodes of this name are on '{}' and on '{}'", owner->second, node.delegate));
    if (is_new) nodes[node.delegate].push_back(node.name);
  }
  std::string delegates, rules;
  for (const DelegateReport& delegate : report.delegates) {
    const auto found = nodes.find(delegate.name);
    if (found == nodes.end()) continue;
    if (IsEntry(delegate.name)) delegates += fmt::format("  - {{name: {}, required: true}}\n", delegate.name);
    rules += fmt::format("    - to: {}\n      nodes:\n", delegate.name);
    for (const std::string_view name : found->second) rules += fmt::format("        - {}\n", Json(name).dump());
  }
  return fmt::format(
      "# The placement of {}, written by 'deputy partition --pin'.\n"
      "# Over the configuration with which it was made, as the last one. A node that its delegate does not take, and "
      "a\n"
      "# required delegate that is absent or fails, are errors.\n"
      "version: 1\n"
      "{}{}"
      "placement:\n"
      "  policy: priority\n"
      "  rules:{}{}",
      title, delegates.empty() ? "" : "delegates:\n", delegates, rules.empty() ? " []\n" : "\n", rules);
}

}  // namespace deputy::cli
