// The fields of deputy/placed_graph.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/fields/placement.hpp"
#include "deputy/placed_graph.hpp"

namespace deputy {

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

}  // namespace deputy
