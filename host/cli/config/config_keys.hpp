// The keys of the configuration for readers: one key explained, and the Markdown page of all of them.
#pragma once

#include <string>
#include <vector>

#include "deputy/config.hpp"
#include "deputy/context.hpp"
#include "deputy/plugins.hpp"
#include "deputy/status.hpp"

namespace deputy::cli {

// A key, or an option of a plugin.
struct ExplainedKey {
  ConfigKey key;
  std::string unit;                    // of an option; keys have theirs in the type
  std::string delegate;                // id of the delegate that publishes an option; empty for keys
  std::vector<ConfigKey> subordinate;  // of a mapping
};

// "min_nodes" of "delegates.NAME.min_nodes".
std::string LastPartOf(const std::string& path);

// Whether the path is that of an option of a delegate: "delegates.npu0.options.frequency".
bool IsOptionPath(const std::string& path);

// The key at a path as written for --set ("delegates.npu0.min_nodes", "placement.rules.to"); its last part is enough
// where only one key is called so. For an option, the plugin is found by the context and run in a helper process.
// kInvalidArgument: there is no such key, with the nearest ones.
Result<ExplainedKey> ExplainKey(const std::string& path, const Context& context);

// The tables of host/docs/configuration-reference.md: a heading for each key of the uppermost level.
std::string KeysAsMarkdown();

}  // namespace deputy::cli
