// The fields of reports and options, each listed once, by their names in the C API (deputy.h) and in JSON.
//
// Describe(visitor, object) calls visitor(name, member) for each field, in a fixed order. Names only grow: a field is
// never renamed or given another meaning (tests/capi/golden_test.py).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "deputy/cache.hpp"
#include "deputy/compare.hpp"
#include "deputy/config.hpp"
#include "deputy/context.hpp"
#include "deputy/health.hpp"
#include "deputy/inspect.hpp"
#include "deputy/installation.hpp"
#include "deputy/model.hpp"
#include "deputy/placed_graph.hpp"
#include "deputy/placement.hpp"
#include "deputy/plugins.hpp"
#include "deputy/profile.hpp"
#include "deputy/progress.hpp"
#include "deputy/quarantine.hpp"
#include "deputy/verification.hpp"

namespace deputy::fields {

// The texts of an enumeration's values, from 0 on.
template <class E>
struct Names;
// Of stages.
template <>
struct Names<ProgressStage> {
  static constexpr std::array<std::string_view, 8> kTexts = {"scan",      "open",    "import",       "passes",
                                                             "placement", "compile", "verification", "measurement"};
};
// Of states.
template <>
struct Names<CacheEntryState> {
  static constexpr std::array<std::string_view, 5> kTexts = {"unchecked", "intact", "damaged", "other_version",
                                                             "unreadable"};
};
// Of verdicts.
template <>
struct Names<VerificationResult> {
  static constexpr std::array<std::string_view, 4> kTexts = {"right", "rounding", "wrong", "not_verified"};
};
// Of kinds.
template <>
struct Names<ValueKind> {
  static constexpr std::array<std::string_view, 4> kTexts = {"tensor", "sequence", "optional tensor",
                                                             "optional sequence"};
};

}  // namespace deputy::fields

namespace deputy {

template <class V>
void Describe(V& v, DeviceInfo& d) {
  v("name", d.name);
  v("delegate", d.delegate);
  v("device", d.device);
  v("device_name", d.device_name);
  v("required", d.required);
  v("options", d.options);
}

template <class V>
void Describe(V& v, DeviceReport& d) {
  v("device", d.device);
  v("level_requested", d.level_requested);
  v("level_granted", d.level_granted);
  v("frequency_requested_hz", d.frequency_requested_hz);
  v("frequency_granted_hz", d.frequency_granted_hz);
  v("busy_ns", d.busy_ns);
  v("runs", d.runs);
}

template <class V>
void Describe(V& v, DelegateReport& d) {
  v("name", d.name);
  v("id", d.id);
  v("plugin", d.plugin);
  v("nodes", d.nodes);
  v("partitions", d.partitions);
  v("multiply_adds", d.multiply_adds);
  v("options", d.options);
  v("has_device", d.has_device);
  v("device", d.device);
}

template <class V>
void Describe(V& v, AbsentDelegate& d) {
  v("name", d.name);
  v("reason", d.reason);
  v("has_failed", d.has_failed);
}

template <class V>
void Describe(V& v, DelegateListing& d) {
  v("delegates", d.delegates);
  v("absent", d.absent);
  v("threads", d.threads);
}

template <class V>
void Describe(V& v, EstimateReport& e) {
  v("latency_ns", e.latency_ns);
  v("memory_bytes", e.memory_bytes);
  v("energy_nj", e.energy_nj);
}

template <class V>
void Describe(V& v, PartitionReport& p) {
  v("name", p.name);
  v("delegate", p.delegate);
  v("region", p.region);
  v("replaces", p.replaces);
  v("nodes", p.nodes);
  v("inputs", p.inputs);
  v("outputs", p.outputs);
  v("multiply_adds", p.multiply_adds);
  v("executable", p.executable);
  v("not_cached", p.not_cached);
  v("overlaps", p.overlaps);
  v("estimated", p.estimated);
  v("estimate", p.estimate);
}

template <class V>
void Describe(V& v, RefusalReport& r) {
  v("delegate", r.delegate);
  v("reason", r.reason);
  v("detail", r.detail);
}

template <class V>
void Describe(V& v, NodeReport& n) {
  v("name", n.name);
  v("op_type", n.op_type);
  v("domain", n.domain);
  v("since_version", n.since_version);
  v("delegate", n.delegate);
  v("partition", n.partition);
  v("region", n.region);
  v("multiply_adds", n.multiply_adds);
  v("refusals", n.refusals);
}

template <class V>
void Describe(V& v, PlacementReport& p) {
  v("summary", p.summary);
  v("delegates", p.delegates);
  v("partitions", p.partitions);
  v("nodes", p.nodes);
  v("multiply_adds", p.multiply_adds);
}

template <class V>
void Describe(V& v, PlacedValue& p) {
  v("name", p.name);
  v("type", p.type);
  v("constant", p.constant);
}

template <class V>
void Describe(V& v, PlacedNode& p) {
  v("order", p.order);
  v("inputs", p.inputs);
  v("outputs", p.outputs);
  v("captured", p.captured);
  v("attributes", p.attributes);
}

template <class V>
void Describe(V& v, PlacedRegion& p) {
  v("path", p.path);
  v("inputs", p.inputs);
  v("outputs", p.outputs);
  v("captured", p.captured);
}

template <class V>
void Describe(V& v, PlacedGraph& p) {
  v("placement", p.placement);
  v("nodes", p.nodes);
  v("regions", p.regions);
}

template <class V>
void Describe(V& v, OptionReport& o) {
  v("name", o.name);
  v("type", o.type);
  v("unit", o.unit);
  v("default_value", o.default_value);
  v("choices", o.choices);
  v("help", o.help);
  v("int_minimum", o.int_minimum);
  v("int_maximum", o.int_maximum);
  v("minimum", o.minimum);
  v("maximum", o.maximum);
  v("settable", o.settable);
}

template <class V>
void Describe(V& v, CapabilityReport& c) {
  v("op_type", c.op_type);
  v("domain", c.domain);
  v("note", c.note);
  v("min_version", c.min_version);
  v("max_version", c.max_version);
  v("min_rank", c.min_rank);
  v("max_rank", c.max_rank);
  v("any_rank", c.any_rank);
  v("dtypes", c.dtypes);
  v("layouts", c.layouts);
}

template <class V>
void Describe(V& v, DeviceListing& d) {
  v("number", d.number);
  v("id", d.id);
  v("name", d.name);
  v("kind", d.kind);
  v("driver", d.driver);
  v("memory_bytes", d.memory_bytes);
  v("frequency_hz", d.frequency_hz);
}

template <class V>
void Describe(V& v, PluginDelegateReport& p) {
  v("id", p.id);
  v("description", p.description);
  v("available", p.available);
  v("unavailable", p.unavailable);
  v("options", p.options);
  v("extensions", p.extensions);
  v("capabilities", p.capabilities);
  v("enumerates", p.enumerates);
  v("devices", p.devices);
  v("used_by", p.used_by);
}

template <class V>
void Describe(V& v, PluginQuery& q) {
  v("probe", q.probe);
  v("probe_all", q.probe_all);
}

template <class V>
void Describe(V& v, OpenedLibrary& o) {
  v("name", o.name);
  v("path", o.path);
}

template <class V>
void Describe(V& v, PluginReport& p) {
  v("file", p.file);
  v("accepted", p.accepted);
  v("probed", p.probed);
  v("rule", p.rule);
  v("reason", p.reason);
  v("id", p.id);
  v("vendor", p.vendor);
  v("version", p.version);
  v("abi", p.abi);
  v("files", p.files);
  v("libraries", p.libraries);
  v("opens", p.opens);
  v("cpu_features", p.cpu_features);
  v("environment", p.environment);
  v("devices", p.devices);
  v("sandbox", p.sandbox);
  v("refused_calls", p.refused_calls);
  v("listed", p.listed);
  v("delegates", p.delegates);
  v("lock", p.lock);
  v("not_listed", p.not_listed);
}

template <class V>
void Describe(V& v, PluginListing& p) {
  v("folders", p.folders);
  v("plugins", p.plugins);
  v("notes", p.notes);
}

template <class V>
void Describe(V& v, Incident& i) {
  v("time_ns", i.time);
  v("model", i.model);
  v("delegate", i.delegate);
  v("partition", i.partition);
  v("nodes", i.nodes);
  v("failure", i.failure);
  v("taken_over", i.taken_over);
}

template <class V>
void Describe(V& v, DelegateHealthReport& d) {
  v("name", d.name);
  v("failures", d.failures);
  v("demoted_partitions", d.demoted_partitions);
  v("available", d.available);
  v("failing", d.failing);
  v("retry_in_ms", d.retry_in);
}

template <class V>
void Describe(V& v, ReloadReport& r) {
  v("generation", r.generation);
  v("since_ns", r.since);
  v("files", r.files);
  v("succeeded", r.succeeded);
  v("failed", r.failed);
  v("error", r.error);
  v("failed_at_ns", r.failed_at);
}

template <class V>
void Describe(V& v, HealthReport& h) {
  v("degraded", h.degraded);
  v("delegates", h.delegates);
  v("incidents", h.incidents);
  v("configuration", h.configuration);
}

template <class V>
void Describe(V& v, CacheEntry& c) {
  v("kind", c.kind);
  v("key", c.key);
  v("file", c.file);
  v("bytes", c.bytes);
  v("last_use_ns", c.last_use);
  v("text", c.text);
  v("state", c.state);
  v("problem", c.problem);
  v("model", c.model);
  v("plugin", c.plugin);
  v("plugin_version", c.plugin_version);
  v("plugin_file", c.plugin_file);
  v("delegate", c.delegate);
  v("device", c.device);
  v("stale", c.stale);
}

template <class V>
void Describe(V& v, CacheListing& c) {
  v("folder", c.folder);
  v("max_bytes", c.max_bytes);
  v("entries", c.entries);
  v("off_by_setting", c.off_by_setting);
}

template <class V>
void Describe(V& v, CacheFilter& c) {
  v("kinds", c.kinds);
  v("unused_for_s", c.unused_for);
}

template <class V>
void Describe(V& v, QuarantinedPlugin& q) {
  v("key", q.key);
  v("file", q.file);
  v("plugin", q.plugin);
  v("rule", q.rule);
  v("reason", q.reason);
  v("since_ns", q.since);
  v("in_force", q.in_force);
  v("part", q.part);
  v("model", q.model);
}

template <class V>
void Describe(V& v, ConfigProblem& p) {
  v("error", p.error);
  v("file", p.file);
  v("line", p.line);
  v("column", p.column);
  v("message", p.message);
  v("place", p.place);
  v("code", p.code);
}

template <class V>
void Describe(V& v, ConfigCheck& c) {
  v("files", c.files);
  v("problems", c.problems);
  v("unlisted", c.unlisted);
}

template <class V>
void Describe(V& v, ConfigKey& k) {
  v("path", k.path);
  v("type", k.type);
  v("default_value", k.default_value);
  v("meaning", k.meaning);
  v("example", k.example);
  v("available", k.available);
}

template <class V>
void Describe(V& v, TensorInfo& t) {
  v("name", t.name);
  v("dtype", t.dtype);
  v("ranked", t.ranked);
  v("shape", t.shape);
  v("dims", t.dims);
  v("kind", t.kind);
}

template <class V>
void Describe(V& v, InspectedNode& n) {
  v("name", n.name);
  v("op_type", n.op_type);
  v("domain", n.domain);
  v("since_version", n.since_version);
  v("region", n.region);
  v("inputs", n.inputs);
  v("outputs", n.outputs);
  v("types", n.types);
  v("multiply_adds", n.multiply_adds);
  v("source", n.source);
  v("on_cpu", n.on_cpu);
  v("why_not", n.why_not);
}

template <class V>
void Describe(V& v, ModelContents& m) {
  v("format", m.format);
  v("file_bytes", m.file_bytes);
  v("metadata", m.metadata);
  v("inputs", m.inputs);
  v("outputs", m.outputs);
  v("states", m.states);
  v("symbols", m.symbols);
  v("nodes", m.nodes);
  v("regions", m.regions);
  v("constants", m.constants);
  v("parameters", m.parameters);
  v("constant_bytes", m.constant_bytes);
  v("multiply_adds", m.multiply_adds);
  v("problem", m.problem);
}

template <class V>
void Describe(V& v, InstallationReport& i) {
  v("version", i.version);
  v("plugin_abi", i.plugin_abi);
  v("folder", i.folder);
  v("worker", i.worker);
  v("sandbox", i.sandbox);
  v("kernels", i.kernels);
  v("cpus", i.cpus);
  v("distrust", i.distrust);
  v("environment_warnings", i.environment_warnings);
}

template <class V>
void Describe(V& v, MeasureReport& m) {
  v("summary", m.summary);
  v("order_ns", m.order_ns);
  v("best_ns", m.best_ns);
  v("cpu_ns", m.cpu_ns);
  v("candidates", m.candidates);
  v("complete", m.complete);
}

template <class V>
void Describe(V& v, RunStatistics& r) {
  v("begin_ns", r.begin_ns);
  v("total_ns", r.total_ns);
  v("delegate_ns", r.delegate_ns);
  v("device_ns", r.device_ns);
  v("delegate_nodes", r.delegate_nodes);
  v("buffer_copies", r.buffer_copies);
  v("incidents", r.incidents);
}

template <class V>
void Describe(V& v, RunEvent& e) {
  v("name", e.name);
  v("metadata", e.metadata);
  v("delegate", e.delegate);
  v("partition", e.partition);
  v("nodes", e.nodes);
  v("op_types", e.op_types);
  v("begin_ns", e.begin_ns);
  v("end_ns", e.end_ns);
  v("is_step", e.is_step);
  v("on_device_clock", e.on_device_clock);
  v("is_related", e.is_related);
  v("bytes_in", e.bytes_in);
  v("bytes_out", e.bytes_out);
  v("bytes_moved", e.bytes_moved);
  v("copies", e.copies);
  v("bytes_copied", e.bytes_copied);
}

template <class V>
void Describe(V& v, ModelTraits& t) {
  v("nodes", t.nodes);
  v("quantized", t.quantized);
  v("drawing", t.drawing);
  v("computes_in", t.computes_in);
}

template <class V>
void Describe(V& v, PartitionVerification& p) {
  v("delegate", p.delegate);
  v("plugin", p.plugin);
  v("partition", p.partition);
  v("nodes", p.nodes);
  v("result", p.result);
  v("max_difference", p.max_difference);
  v("detail", p.detail);
  v("wrong_nodes", p.wrong_nodes);
  v("case_folders", p.case_folders);
  v("op_types", p.op_types);
}

template <class V>
void Describe(V& v, ToleranceSettings& t) {
  v("rtol", t.rtol);
  v("atol", t.atol);
  v("atol_scale", t.atol_scale);
  v("outliers", t.outliers);
  v("computes_in", t.computes_in);
}

template <class V>
void Describe(V& v, VerifyOptions& o) {
  Describe(v, o.tolerance);
  v("folder", o.folder);
}

template <class V>
void Describe(V& v, BuildOptions& b) {
  v("input_shapes", b.input_shapes);
  v("extra_outputs", b.extra_outputs);
  v("given_inputs", b.given_inputs);
}

}  // namespace deputy
