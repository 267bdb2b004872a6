// All that is known about one plugin, as text; and parts of it that the list of plugins shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/terminal.hpp"
#include "deputy/plugins.hpp"

namespace deputy::cli {

// The values of an option: "low|high", "1 to 64 MB"; empty for any.
std::string OptionRange(const OptionReport& option);
// The id as a name in YAML: quoted where it would be another value.
std::string YamlName(const std::string& id);

// The rows of a delegate's declared capabilities: operator, definitions, dtypes, ranks, layouts, note.
Shown OperatorTable(const std::vector<CapabilityReport>& rows, const Terminal& terminal);

// The plugin that has this id, a delegate of this id, or a file of this name or path; an accepted one goes first. Null:
// there is none.
const PluginReport* FindPlugin(const PluginListing& listing, const std::string& name);
// Names by which FindPlugin finds something, for suggestions.
std::vector<std::string> PluginNames(const PluginListing& listing);

// Whether a lock lists it, and which, or why none does: "listed in /usr/lib/deputy/plugins/SHA256SUMS".
std::string LockText(const PluginReport& plugin);
// Its rights in a process of its own: "cpu", "gpu (nvidia*)".
std::string SandboxText(const PluginReport& plugin);

// File, identity, requirements; for each delegate devices, options, operators, and the lines of the configuration that
// use it or would use it.
Shown PluginText(const PluginReport& plugin, const Terminal& terminal);

}  // namespace deputy::cli
