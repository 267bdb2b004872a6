// The whole configuration as plain data: the YAML files, --set and the application's settings, checked and merged, each
// value with its origin. Everything here has an effect; planned keys are only in the list of fields.hpp. Made by
// ConfigLoader (loader.hpp), which knows the defaults: a Config made by hand is empty, not default.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "config/origin.hpp"
#include "config/scalar.hpp"

namespace deputy::host {

// A value with its origin, a list of values, a value under a name that the writer chose. Comparison ignores origins:
// two configurations are equal when they mean the same, wherever they were written.
template <class T>
struct Setting {
  T value{};
  Origin origin{};

  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
  friend bool operator==(const Setting& a, const Setting& b) { return a.value == b.value; }
};

template <class T>
struct List {
  std::vector<T> items{};
  Origin origin{};  // of the list; an empty one has no other

  auto begin() const { return items.begin(); }
  auto end() const { return items.end(); }
  size_t size() const { return items.size(); }
  bool empty() const { return items.empty(); }
  const T& operator[](size_t index) const { return items[index]; }
  friend bool operator==(const List& a, const List& b) { return a.items == b.items; }
};

template <class T>
struct Named {
  std::string name;
  Setting<T> setting;
  Origin name_origin{};

  const T& operator*() const { return setting.value; }
  const T* operator->() const { return &setting.value; }
  const Origin& origin() const { return setting.origin; }
  friend bool operator==(const Named& a, const Named& b) { return a.name == b.name && a.setting == b.setting; }
};

// Version of the keys and their meaning: the value of `version:` in every file.
inline constexpr int64_t kConfigVersion = 1;
// The one delegate that is never listed and always last.
inline constexpr std::string_view kCpuName = "cpu";
// At the beginning of a plugin path: the folder of libdeputy.
inline constexpr std::string_view kDeputyPrefix = "$deputy";

// What `debug: {dump}` writes into files.
inline constexpr std::string_view kDumpWords[] = {"graph", "placement", "plan", "tensors"};

enum class Trust { kListed, kProbe, kAny };
enum class AutoUse { kOff, kLast };
enum class Fallback { kCpu, kDisabled };
enum class OnFailure { kNext, kFail };
enum class Isolation { kAuto, kInProcess, kProcess };
enum class Precision { kOwn, kFloat32, kFloat16, kBfloat16 };
enum class Policy { kPriority, kCost, kMeasured };
enum class VerifyWhen { kAuto, kNever, kFirstRun, kAlways };

struct PluginsConfig {
  // Each absolute (relative ones were resolved against the folder of their file) or beginning with "$deputy".
  List<Setting<std::string>> paths;
  Setting<Trust> trust;
  List<Setting<std::string>> trust_keys;   // one of them must have signed the lock of `trust: listed`
  Setting<AutoUse> auto_use;               // YAML: auto
  Setting<bool> sandbox{true, {}};         // of processes that run plugins
  List<Setting<std::string>> environment;  // patterns of variables that these get in a sandbox
  List<Setting<std::string>> readable;     // folders that these may read in a sandbox; of the form of `paths`
  Setting<Duration> probe_timeout{std::chrono::seconds(2), {}};  // also where that of a file is wrong
  bool operator==(const PluginsConfig&) const = default;
};

// As written. The plugin's schema gives it a type, through the functions of scalar.hpp; a quoted "5" is text.
struct OptionValue {
  std::string text;
  bool quoted = false;
  bool operator==(const OptionValue&) const = default;
};

// Empty lists mean no restriction. A node must satisfy all of them to be offered to the delegate.
struct DelegateRules {
  List<Setting<std::string>> allow_ops;
  List<Setting<std::string>> deny_ops;
  List<Setting<std::string>> nodes;  // globs: only these
  List<Setting<std::string>> deny_nodes;
  bool operator==(const DelegateRules&) const = default;
};

// The comparison of a delegate's results with the CPU's. Tolerances that are not given follow from element types.
struct VerifyConfig {
  Setting<VerifyWhen> when{VerifyWhen::kAuto, {}};
  Setting<int64_t> every;  // 0: not given; n: the first run of a session and each n-th after it
  Setting<std::optional<double>> rtol, atol, atol_scale, outliers;
  Setting<OnFailure> on_mismatch{OnFailure::kNext, {}};
  bool operator==(const VerifyConfig&) const = default;
};

struct DelegateConfig {
  Setting<std::string> name;             // unique; rules, reports and caches use it
  Setting<std::string> delegate;         // the id that a plugin publishes; default: the name
  Setting<std::string> device{"0", {}};  // its number, or its name
  Setting<bool> enabled{true};
  Setting<bool> required{false};
  const std::string& id() const { return delegate->empty() ? *name : *delegate; }
  Setting<Precision> precision{Precision::kOwn, {}};  // in which its nodes compute
  Setting<int64_t> priority{0};                       // of its work on a device that others use, too
  List<Named<OptionValue>> options;  // in the order written; nested mappings have dotted names ("misbehave.stage")
  DelegateRules rules;
  Setting<int64_t> min_nodes{1};
  Setting<int64_t> min_flops{0};
  Setting<Isolation> isolation{Isolation::kAuto, {}};
  Setting<Duration> timeout{kAutomatic, {}};                     // of a run of a partition; 0: none
  Setting<Duration> call_timeout{std::chrono::seconds(30), {}};  // of any other call, or between two steps of progress
  Setting<Duration> call_timeout_total{std::chrono::minutes(10), {}};  // of all steps together
  Setting<Duration> spin{std::chrono::microseconds(50), {}};           // of both sides of a run, before they sleep
  Setting<Bytes> memory_limit{Bytes{0}, {}};                           // of its process; 0: none
  Setting<OnFailure> on_failure{OnFailure::kNext, {}};
  VerifyConfig verify;
  bool operator==(const DelegateConfig&) const = default;
};

struct CpuConfig {
  Setting<int64_t> threads;  // 0: as many as the machine has
  bool operator==(const CpuConfig&) const = default;
};

// Nodes that match every given selector go to `to`, or never to any of `avoid`; exactly one of the two is set.
struct PlacementRule {
  List<Setting<std::string>> nodes;  // globs of node names
  List<Setting<std::string>> ops;
  List<Setting<std::string>> domains;
  Setting<std::string> to;
  List<Setting<std::string>> avoid;
  bool operator==(const PlacementRule&) const = default;
};

struct PlacementConfig {
  Setting<Policy> policy;
  Setting<Duration> budget;  // of measurements for one set of shapes
  Setting<Percent> margin;   // the least gain for which a measurement changes the order
  List<PlacementRule> rules;
  bool operator==(const PlacementConfig&) const = default;
};

// The passes over a graph before it is partitioned; a switch per entry of the list of passes.
struct PassesConfig {
#define DEPUTY_PASS(name, key, text) Setting<bool> key{true};
#include "graph/passes/passes.inc"
  Setting<Bytes> fold_budget;
  bool operator==(const PassesConfig&) const = default;
};

struct ModelsConfig {
  Setting<bool> map_files{true};
  Setting<int64_t> plans{16};
  bool operator==(const ModelsConfig&) const = default;
};

// Of one session; 0: no limit.
struct LimitsConfig {
  Setting<int64_t> loop_steps;
  Setting<Duration> timeout;
  Setting<Bytes> memory;
  bool operator==(const LimitsConfig&) const = default;
};

struct CacheConfig {
  Setting<std::string> dir;  // "auto", "off" or an absolute path
  Setting<Bytes> max;
  bool operator==(const CacheConfig&) const = default;
};

struct LogConfig {
  Setting<LogLevel> level{LogLevel::kInfo};
  Setting<LogFormat> format{LogFormat::kAuto};
  List<Named<LogLevel>> delegates;
  bool operator==(const LogConfig&) const = default;
};

struct DebugConfig {
  Setting<bool> check, abort_on_hang;
  List<Setting<std::string>> dump;  // words of kDumpWords
  Setting<std::string> dump_dir;    // "auto" or an absolute path
  bool operator==(const DebugConfig&) const = default;
};

struct Config {
  Setting<int64_t> version;
  PluginsConfig plugins;
  List<DelegateConfig> delegates;  // in order of priority; empty: the CPU alone
  CpuConfig cpu;
  Setting<Fallback> fallback;
  PlacementConfig placement;
  ModelsConfig models;
  PassesConfig passes;
  LimitsConfig limits;
  CacheConfig cache;
  LogConfig log;
  DebugConfig debug;
  bool operator==(const Config&) const = default;
};

}  // namespace deputy::host
