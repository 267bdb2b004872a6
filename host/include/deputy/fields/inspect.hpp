// The fields of deputy/inspect.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/fields/model.hpp"
#include "deputy/inspect.hpp"

namespace deputy {

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

}  // namespace deputy

namespace deputy::fields {

// The options of DeputyInspectModel.
struct InspectRequest {
  NamedShapes input_shapes;
};

template <class V>
void Describe(V& v, InspectRequest& i) {
  v("input_shapes", i.input_shapes);
}

}  // namespace deputy::fields
