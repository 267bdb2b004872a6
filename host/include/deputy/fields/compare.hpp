// The fields of deputy/compare.hpp in reports and options (fields.hpp).
#pragma once

#include "deputy/compare.hpp"

namespace deputy {

template <class V>
void Describe(V& v, Comparison& c) {
  v("ok", c.ok);
  v("misfit", c.misfit);
  v("elements", c.elements);
  v("wrong", c.wrong);
  v("outliers", c.outliers);
  v("max_difference", c.max_difference);
  v("worst_index", c.worst_index);
  v("worst_got", c.worst_got);
  v("worst_want", c.worst_want);
  v("worst_difference", c.worst_difference);
  v("worst_allowed", c.worst_allowed);
  v("description", c.description);
}

template <class V>
void Describe(V& v, Tolerance& t) {
  v("rtol", t.rtol);
  v("atol", t.atol);
  v("atol_scale", t.atol_scale);
  v("least_magnitude", t.least_magnitude);
  v("outliers", t.outliers);
  v("step", t.step);
  v("step_scale", t.step_scale);
}

template <class V>
void Describe(V& v, ModelTraits& t) {
  v("nodes", t.nodes);
  v("quantized", t.quantized);
  v("drawing", t.drawing);
  v("computes_in", t.computes_in);
}

template <class V>
void Describe(V& v, ToleranceSettings& t) {
  v("rtol", t.rtol);
  v("atol", t.atol);
  v("atol_scale", t.atol_scale);
  v("outliers", t.outliers);
  v("computes_in", t.computes_in);
}

}  // namespace deputy

namespace deputy::fields {

// The options of DeputyToleranceFor.
struct ToleranceRequest {
  ToleranceSettings given;
  DType output = DType::kUndefined;
  ModelTraits model;
};

template <class V>
void Describe(V& v, ToleranceRequest& t) {
  v("given", t.given);
  v("output", t.output);
  v("model", t.model);
}

}  // namespace deputy::fields
