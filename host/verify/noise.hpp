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

// A copy with each finite element other than zero changed by one unit in the last place, up or down by `seed`. Other
// types than floating-point ones: the tensor itself.
Result<Tensor> Disturbed(const Tensor& tensor, uint64_t seed);

// Results of the reference that show how exact it is.
struct Evidence {
  std::optional<Tensor> exact;    // computed in float64
  std::vector<Tensor> disturbed;  // computed from disturbed inputs
};

// Whether the difference between `got` and the reference is no larger than errors of the reference explain. Floats: not
// more than kNoiseFactor times the largest error in the tensor away from the exact result, or, without one, from the
// reference where inputs are disturbed. Other types: every different element also changes by a disturbance, or is the
// exact one.
bool IsNoise(const Tensor& got, const Tensor& reference, const Evidence& evidence, const Tolerance& tolerance);
inline constexpr double kNoiseFactor = 16;

}  // namespace deputy::host
