// The layers of a configuration, the check of all of them at once, their values, and the list of keys.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "deputy/status.hpp"

namespace deputy {

// The layers of a configuration. Later ones override earlier ones: the built-in defaults; the system's
// /etc/deputy/deputy.yaml, its conf.d/*.yaml and those of packages in share/deputy/conf.d; the user's
// $XDG_CONFIG_HOME/deputy/deputy.yaml (~/.config without it) and conf.d/*.yaml; $DEPUTY_CONFIG; `files`; `settings`. If
// there is neither a deputy.yaml nor $DEPUTY_CONFIG nor a file, the default configuration of the installation is the
// layer above the built-in defaults. DEPUTY_SYSTEM_CONFIG in the environment replaces the path of the system's file; if
// it is empty, there is none, and no drop-in of a package.
struct ConfigSources {
  std::vector<std::string> files;     // paths, or names of shipped configurations ("npu-first")
  std::vector<std::string> settings;  // "path.to.key=value"
};

// An error or a warning, and its place.
struct ConfigProblem {
  bool error = true;         // false: a warning
  std::string file;          // or another source: "--set cpu.threads"
  int line = 0, column = 0;  // from 1; 0: the source has no lines
  std::string message;
  std::string place;  // "file:line:column", or the source
  // Stable, for programs: "unknown-key", "value", "absent"; host/docs/troubleshooting.md lists them.
  std::string code;
};

// The extent of CheckConfig.
struct ConfigCheckOptions {
  bool offline = false;  // true: plugins are neither found nor run, so that options and devices are not checked
  std::string model;     // the file whose nodes the rules are compared with; empty: none
};

// The result of CheckConfig.
struct ConfigCheck {
  std::vector<std::string> files;       // that were read, lowest layer first
  std::vector<ConfigProblem> problems;  // by file, line and column
  size_t unlisted = 0;                  // problems beyond the first hundred of the files
};

// All problems of a configuration at once: those of the files; rules that name no delegate, no operator or no domain;
// and unless `offline`, plugin folders that are absent, plugins and delegates that cannot be used (errors where
// `required`), wrong options and devices, for which the plugins that it names are run in a helper process. With a
// model: globs that match none of its nodes. Fails only if the model cannot be read. [load-time]
Result<ConfigCheck> CheckConfig(const ConfigSources& sources, const ConfigCheckOptions& options = {});

// A key of the configuration. The path has NAME for the name of an entry and [] for an item of a list:
// "delegates.NAME.options", "placement.rules[].to".
struct ConfigKey {
  std::string path;
  std::string type;           // "integer from 1 to 1024, or auto", "probe | any", "mapping"
  std::string default_value;  // as in the YAML; empty: none
  std::string meaning, example;
  bool available = true;  // false: planned, and refused in this version
};

// In the order in which `deputy config show` prints them. [any-thread]
std::vector<ConfigKey> ConfigKeys();

// A layer that is not in a file; `name` is its file's in messages.
struct ConfigText {
  std::string name, text;

  bool operator==(const ConfigText&) const = default;
};

// A value as `deputy config show` prints it, by its path as behind --set: "delegates.npu0.options.frequency", "high". A
// list of single values is one value, "Conv, Relu"; "delegates" has the names in their order; of `placement.rules` the
// path has the number of a rule, from 0.
struct ConfigValue {
  std::string path, value;
};

// All values of these layers over the built-in defaults, later layers over earlier ones, without those of this machine
// and user. kConfig with all errors, as of a Context. [any-thread]
Result<std::vector<ConfigValue>> ConfigValues(const std::vector<ConfigText>& layers);

// The names of the shipped configurations, sorted, and the file of one; empty: the installation has none of that name.
// [any-thread]
std::vector<std::string> ShippedConfigs();
std::string ShippedConfigFile(const std::string& name);

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/config.hpp"  // IWYU pragma: export
#endif
