// The fields of deputy/health.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/health.hpp"

namespace deputy {

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

}  // namespace deputy
