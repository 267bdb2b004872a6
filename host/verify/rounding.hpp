// Runs of a graph whose nodes round differently: what another engine, which adds in another order, may make of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "execute/execution.hpp"
#include "graph/graph.hpp"

namespace deputy::host {

// How many products or elements one element of a node's result is the sum of, given its operands; none for other nodes.
struct SumForm {
  int64_t terms = 1;
  bool mean = false;  // divided by their number
};
std::optional<SumForm> SumFormOf(const Primitive& primitive, const std::vector<Tensor>& operands, const Tensor& result);

// Moves each finite element of a floating-point result by up to one unit in the last place, and by what the rounding of
// `form`'s partial sums may amount to. For a sum r of K terms that are added one after the other, the squared error is
// on average eps^2 (K r^2 / 36 + K Q / 24), where Q is the sum of the squared terms: partial sums grow to r, and by
// their spread, and each addition is off by up to half a unit of its partial sum. Of equal terms all additions may be
// off in one direction: by eps K r / 4 at most, of which half is taken. `squares`: the node's result from squared
// operands; null without a form.
void RoundDifferently(Tensor& result, const std::optional<SumForm>& form, const Tensor* squares, uint64_t seed);

// An execution, on the CPU, of a part of the graph.
using MakeExecution = std::function<Result<std::unique_ptr<Execution>>(Graph)>;

// The graph's outputs of `count` runs, node by node, each of which rounds in its own way. `inputs` in the order of its
// captures. An error where a node cannot be run by itself.
Result<std::vector<std::vector<Tensor>>> RunsRoundedDifferently(const Graph& graph, const std::vector<Tensor>& inputs,
                                                                size_t count, const MakeExecution& make,
                                                                const CancellationToken& token);

}  // namespace deputy::host
