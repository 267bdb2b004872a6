// The fields of deputy/profile.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/fields/health.hpp"
#include "deputy/profile.hpp"

namespace deputy {

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

}  // namespace deputy
