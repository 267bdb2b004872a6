// The options of a session, its device, and the Deputy that they ask for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/context.hpp"
#include "deputy/status.hpp"

namespace ort_ep {

inline constexpr const char* kProviderName = "DeputyExecutionProvider";
// What begins the keys of its options in the configuration of a session: "ep.", and the name in lower case.
inline constexpr const char* kOptionPrefix = "ep.deputyexecutionprovider.";

// Keys of a device's metadata. A device without a delegate's name is for the whole configuration.
inline constexpr const char* kScopeKey = "scope";  // "configuration" or "delegate"
inline constexpr const char* kDelegateKey = "delegate";
inline constexpr const char* kDelegateIdKey = "delegate_id";
inline constexpr const char* kOptionsKey = "options";
inline constexpr const char* kOptionNames = "config, report";

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct Settings {
  std::string config;                  // path; empty: the layers of the machine
  std::string report;                  // path; empty: none is written
  std::vector<std::string> delegates;  // of the devices; empty: the whole configuration
};

// What begins the keys of dynamic options: "deputy.NAME.OPTION" is an option of delegate NAME.
inline constexpr const char* kDynamicPrefix = "deputy.";

// `entries`: all of the session's configuration. kInvalidArgument for an option that does not exist, kNotSupported
// where the session is to write a model with compiled parts.
deputy::Result<Settings> ReadSettings(const TextPairs& entries, std::vector<std::string> delegates);

// Of the configuration that these settings name, with `changes` ("path.to.key=value") over it.
deputy::Result<deputy::Context> OpenContext(const Settings& settings, const std::vector<std::string>& changes = {});

// Changes an option of a delegate for the runs that follow. Keys that are not Deputy's are not looked at: every
// provider of a session gets all. kInvalidArgument for an option of a session; else errors are those of
// Context::SetOption.
deputy::Status SetDynamicOption(deputy::Context context, const std::string& key, const std::string& value);

// What a session compiles and runs with.
struct Deputy {
  deputy::Context context;
  // Where a node that no delegate takes is an error: the same with the CPU for those, to find the delegates' nodes.
  std::optional<deputy::Context> placing = {};
  // Whether Deputy also has the nodes that no delegate takes. Otherwise ONNX Runtime runs them.
  bool has_cpu = true;
  TextPairs absent = {};  // delegates that are not used because of faults of their plugins: name, reason
};

// Opens the delegates. kNotFound for a delegate that the configuration does not have, kUnavailable for one that cannot
// be opened. A delegate of a device whose plugin has crashed, or is quarantined for it, is no error: its nodes go to
// the next one, as after a crash in a run.
deputy::Result<Deputy> OpenDeputy(const Settings& settings);

}  // namespace ort_ep
