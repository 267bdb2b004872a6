// The fields of deputy/model.hpp in reports and options (fields.hpp).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/fields/names.hpp"
#include "deputy/model.hpp"

namespace deputy::fields {

// Of kinds.
template <>
struct Names<ValueKind> {
  static constexpr std::array<std::string_view, 4> kTexts = {"tensor", "sequence", "optional tensor",
                                                             "optional sequence"};
};

}  // namespace deputy::fields

namespace deputy {

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
void Describe(V& v, MeasureReport& m) {
  v("summary", m.summary);
  v("order_ns", m.order_ns);
  v("best_ns", m.best_ns);
  v("cpu_ns", m.cpu_ns);
  v("candidates", m.candidates);
  v("complete", m.complete);
}

template <class V>
void Describe(V& v, BuildOptions& b) {
  v("input_shapes", b.input_shapes);
  v("extra_outputs", b.extra_outputs);
  v("given_inputs", b.given_inputs);
}

}  // namespace deputy

namespace deputy::fields {

// The report of DeputyModelTraits.
struct ModelProperties {
  std::vector<std::string> inputs_with_default;
  std::vector<std::pair<std::string, std::string>> metadata;
  bool has_states = false;
};

template <class V>
void Describe(V& v, ModelProperties& m) {
  v("inputs_with_default", m.inputs_with_default);
  v("metadata", m.metadata);
  v("has_states", m.has_states);
}

}  // namespace deputy::fields
