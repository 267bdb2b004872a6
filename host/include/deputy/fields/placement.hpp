// The fields of deputy/placement.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/placement.hpp"

namespace deputy {

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

}  // namespace deputy
