// The fields of deputy/quarantine.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/quarantine.hpp"

namespace deputy {

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

}  // namespace deputy
