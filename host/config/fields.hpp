// Every key of the configuration with its type and range: the one list that the reader (schema.cpp), the printer
// (show.cpp) and the JSON Schema (json_schema.cpp) walk. A visitor sees the keys in the order in which they are
// printed. A key that is planned and has no effect yet is listed as Unavailable: reader and schema refuse it by name.
// tests/integration/settings_test.py shows the effect of every other key. Words of enumerations: words.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/config.hpp"

namespace deputy::host {

// `word`, if any, is written for the value 0, which need not lie within the range; without a word 0 outside the range
// is the value of a key that is absent.
struct IntegerRange {
  int64_t min;
  int64_t max;
  std::string_view word = {};
};

struct RealRange {
  double min;
  double max;
};

struct PercentRange {
  std::string_view min;
  std::string_view max;
};

struct DurationRange {
  std::string_view min;
  std::string_view max;
};

struct SizeRange {
  std::string_view min;
  std::string_view max;
};

enum class TextKind {
  kName,        // [A-Za-z0-9_.-]+
  kPattern,     // any text but an empty one
  kDevice,      // a number, or any text but an empty one
  kPluginPath,  // a folder, or a folder under $deputy
  kPublicKey,   // the base64 line of a minisign public key
  kCacheDir     // auto, off or a folder
};

// Required keys are checked by name in schema.cpp; everything here may be absent.
template <class V, class D>
void VisitDelegate(V& v, D& d) {
  v.Text("name", d.name, TextKind::kName);
  v.Instruction("before");  // where a layer puts the delegate; gone after merging
  v.Text("delegate", d.delegate, TextKind::kName);
  v.Text("device", d.device, TextKind::kDevice);
  v.Flag("enabled", d.enabled);
  v.Flag("required", d.required);
  v.Options("options", d.options);
  v.Unavailable("precision");
  v.Group("rules", [&] {
    v.Texts("allow_ops", d.rules.allow_ops, TextKind::kPattern);
    v.Texts("deny_ops", d.rules.deny_ops, TextKind::kPattern);
    v.Texts("nodes", d.rules.nodes, TextKind::kPattern);
    v.Texts("deny_nodes", d.rules.deny_nodes, TextKind::kPattern);
  });
  v.Unavailable("shapes");
  v.Integer("min_nodes", d.min_nodes, {1, 1000000});
  v.Integer("min_flops", d.min_flops, {0, 1000000000000000000});
  v.Unavailable("isolation");
  v.Unavailable("timeout");
  v.Choice("on_failure", d.on_failure);
  v.GroupOrChoice("verify", d.verify.when, [&] {
    v.Choice("when", d.verify.when);
    v.Integer("every", d.verify.every, {1, 1000000000});
    v.Real("rtol", d.verify.rtol, {0, 1});
    v.Real("atol", d.verify.atol, {0, 1e30});
    v.Real("atol_scale", d.verify.atol_scale, {0, 1});
    v.Real("outliers", d.verify.outliers, {0, 1});
    v.Choice("on_mismatch", d.verify.on_mismatch);
  });
}

template <class V, class R>
void VisitPlacementRule(V& v, R& r) {
  v.Texts("nodes", r.nodes, TextKind::kPattern);
  v.Texts("ops", r.ops, TextKind::kPattern);
  v.Texts("domains", r.domains, TextKind::kPattern);
  v.Unavailable("regions");
  v.Text("to", r.to, TextKind::kName);
  v.Texts("avoid", r.avoid, TextKind::kName);
}

// C: Config or const Config.
template <class V, class C>
void VisitConfig(V& v, C& c) {
  v.Integer("version", c.version, {kConfigVersion, kConfigVersion});
  v.Group("plugins", [&] {
    v.Texts("paths", c.plugins.paths, TextKind::kPluginPath);
    v.Choice("trust", c.plugins.trust);
    v.Texts("trust_keys", c.plugins.trust_keys, TextKind::kPublicKey);
    v.Choice("auto", c.plugins.auto_use);
    v.Quantity("probe_timeout", c.plugins.probe_timeout, DurationRange{"10ms", "10min"});
  });
  v.Items("delegates", c.delegates, [&](auto& delegate) { VisitDelegate(v, delegate); });
  v.Group("cpu", [&] { v.Integer("threads", c.cpu.threads, {1, 1024, "auto"}); });
  v.Choice("fallback", c.fallback);
  v.Group("placement", [&] {
    v.Choice("policy", c.placement.policy);
    v.Quantity("budget", c.placement.budget, DurationRange{"1ms", "60min"});
    v.Quantity("margin", c.placement.margin, PercentRange{"0%", "90%"});
    v.Items("rules", c.placement.rules, [&](auto& rule) { VisitPlacementRule(v, rule); });
  });
  v.Group("passes", [&] {
#define DEPUTY_PASS(name, key, text) v.Flag(#key, c.passes.key);
#include "graph/passes/passes.inc"
    v.Quantity("fold_budget", c.passes.fold_budget, SizeRange{"0B", "1TB"});
  });
  v.Group("cache", [&] {
    v.Text("dir", c.cache.dir, TextKind::kCacheDir);
    v.Quantity("max", c.cache.max, SizeRange{"1MB", "1000TB"});
  });
  v.Group("log", [&] {
    v.Choice("level", c.log.level);
    v.Unavailable("format");
    v.Choices("delegates", c.log.delegates, TextKind::kName);
  });
  v.Group("debug", [&] {
    v.Flag("check", c.debug.check);
    v.Unavailable("dump");
  });
}

}  // namespace deputy::host
