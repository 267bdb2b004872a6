// Means to tell a wrong result from the rounding errors of a correct one: the same graph in float64, inputs that are
// disturbed in their last bit, and the judgement with both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deputy/compare.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// The graph with float64 in the place of all narrower floating-point types: values, constants, and attributes that name
// a type. None where a node has a region or a type that cannot be changed.
std::optional<Graph> WithFloat64(const Graph& graph);

// The tensor as float64 if it is of a narrower floating-point type; otherwise itself.
Result<Tensor> AsFloat64(const Tensor& tensor);

// A copy with each finite element other than zero moved up or down, by `seed`, by up to kDisturbance units in the last
// place; of 16-bit types by one. Other types than floating-point ones: the tensor itself. What is computed from it
// differs by more than rounding errors of a sum do, so that a value that they move over the edge of a quantization step
// is likely to be moved over it here as well.
Result<Tensor> Disturbed(const Tensor& tensor, uint64_t seed);
inline constexpr uint32_t kDisturbance = 8;

// The graph with all constants disturbed like inputs, except those that determine extents or powers. A rounding error
// inside of a graph that quantizes its inputs is like one of a constant, not like one of an input.
Graph WithDisturbedConstants(const Graph& graph, uint64_t seed);

// Results of the reference that show how exact it is.
struct Evidence {
  std::optional<Tensor> exact;    // computed in float64
  std::vector<Tensor> disturbed;  // computed from disturbed inputs, or with nodes that round differently
};

// Whether the difference between `got` and the reference is no larger than errors of the reference explain. Floats, and
// integers of one or two bytes, which are quantized numbers: `got` is not further from the exact result than
// kErrorFactor times the largest error of the reference in the tensor, or not further from the reference than
// kDisturbedFactor times the largest change in the tensor by a disturbance. Other types: every different element also
// changes by a disturbance, or is the exact one.
bool IsNoise(const Tensor& got, const Tensor& reference, const Evidence& evidence, const Tolerance& tolerance);
inline constexpr double kErrorFactor = 16, kDisturbedFactor = 2;

}  // namespace deputy::host
