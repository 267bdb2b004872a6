#include "verify/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

#include "deputy/element.hpp"
#include "tensor/held_value.hpp"
#include "tensor/shape.hpp"
#include "verify/reference_run.hpp"

namespace deputy::host {
namespace {

// One unit in the last place of numbers near 1; sums of 16-bit numbers are made in float32.
double UnitOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return 0x1p-52;
    case DType::kFloat16: return 0x1p-10;
    case DType::kBFloat16: return 0x1p-7;
    default: return 0x1p-23;
  }
}
double UnitOfSums(DType dtype) { return dtype == DType::kFloat64 ? 0x1p-52 : 0x1p-23; }

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

Result<Tensor> Squared(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return tensor;
  DEPUTY_ASSIGN_OR_RETURN(Tensor squares, Tensor::Allocate(tensor.dtype(), tensor.shape()));
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const double value = ElementAt(tensor, i);
    SetElement(squares, i, value * value);
  }
  return squares;
}

// The graph of one node, and where its operands come from.
struct OneNode {
  Graph graph;
  std::vector<ValueId> read, made;  // of the whole graph
};

OneNode Alone(const Graph& whole, NodeId id) {
  OneNode one;
  const Node& node = whole.nodes[id];
  node.ForEachRead([&](ValueId value) {
    if (!whole.values[value].is_constant() && std::find(one.read.begin(), one.read.end(), value) == one.read.end())
      one.read.push_back(value);
  });
  for (const ValueId value : node.outputs)
    if (value != kNone) one.made.push_back(value);
  one.graph = Subgraph(whole, std::vector<NodeId>{id}, one.read, one.made);
  return one;
}

Result<Graph> WithSquaredConstants(Graph graph) {
  for (Value& value : graph.values) {
    if (!value.is_constant()) continue;
    DEPUTY_ASSIGN_OR_RETURN(value.constant, Squared(value.constant));
  }
  return graph;
}

// The values of all runs: those that a later node or the graph's outputs read.
class Runs {
 public:
  Runs(const Graph& graph, size_t count, const MakeExecution& make, const CancellationToken& token)
      : graph_(graph), make_(make), token_(token), values_(count) {
    for (const Node& node : graph.nodes) node.ForEachRead([&](ValueId id) { ++reads_[id]; });
    for (const ValueId id : graph.outputs) ++reads_[id];
  }

  void Give(ValueId id, const Tensor& tensor) {
    for (auto& run : values_) run.insert_or_assign(id, tensor);
  }

  Status Compute(NodeId id) {
    const OneNode one = Alone(graph_, id);
    if (one.made.empty()) return {};
    DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<Execution> execution, make_(one.graph));
    std::unique_ptr<Execution> of_squares;
    for (size_t run = 0; run < values_.size(); ++run) {
      std::vector<Tensor> inputs;
      for (const ValueId value : one.read) inputs.push_back(values_[run].at(value));
      DEPUTY_RETURN_IF_ERROR(RunWith(*execution, inputs, token_));
      DEPUTY_ASSIGN_OR_RETURN(std::vector<Tensor> results, OutputsOf(*execution));
      const std::optional<SumForm> form = FormOf(id, run, results.front());
      Tensor squares;
      if (form) {
        DEPUTY_ASSIGN_OR_RETURN(squares, SquaresOf(one, inputs, of_squares));
      }
      for (size_t i = 0; i < results.size(); ++i) {
        RoundDifferently(results[i], form, form ? &squares : nullptr, SeedOf(run, one.made[i]));
        values_[run].insert_or_assign(one.made[i], std::move(results[i]));
      }
    }
    graph_.nodes[id].ForEachRead([&](ValueId value) { Forget(value); });
    return {};
  }

  Result<std::vector<Tensor>> OutputsOfRun(size_t run) const {
    std::vector<Tensor> outputs;
    for (const ValueId id : graph_.outputs) {
      const auto found = values_[run].find(id);
      outputs.push_back(found != values_[run].end() ? found->second : graph_.values[id].constant);
    }
    return outputs;
  }

 private:
  static uint64_t SeedOf(size_t run, ValueId value) { return run << 32 | value; }

  std::optional<SumForm> FormOf(NodeId id, size_t run, const Tensor& result) const {
    std::vector<Tensor> operands;
    for (const ValueId value : graph_.nodes[id].inputs) {
      if (value == kNone) continue;
      const Value& facts = graph_.values[value];
      operands.push_back(facts.is_constant() ? facts.constant : values_[run].at(value));
    }
    return SumFormOf(graph_.nodes[id].primitive, operands, result);
  }

  Result<Tensor> SquaresOf(const OneNode& one, const std::vector<Tensor>& inputs,
                           std::unique_ptr<Execution>& execution) const {
    if (execution == nullptr) {
      DEPUTY_ASSIGN_OR_RETURN(Graph squared, WithSquaredConstants(one.graph));
      DEPUTY_ASSIGN_OR_RETURN(execution, make_(std::move(squared)));
    }
    std::vector<Tensor> squares;
    for (const Tensor& input : inputs) {
      DEPUTY_ASSIGN_OR_RETURN(Tensor square, Squared(input));
      squares.push_back(std::move(square));
    }
    DEPUTY_RETURN_IF_ERROR(RunWith(*execution, squares, token_));
    return CopyOf(execution->tensor(execution->plan().graph->outputs.front()));
  }

  void Forget(ValueId id) {
    if (--reads_[id] != 0) return;
    for (auto& run : values_) run.erase(id);
  }

  const Graph& graph_;
  const MakeExecution& make_;
  const CancellationToken& token_;
  std::vector<std::unordered_map<ValueId, Tensor>> values_;  // by run
  std::unordered_map<ValueId, size_t> reads_;                // that are still to come
};

}  // namespace

std::optional<SumForm> SumFormOf(const Primitive& primitive, const std::vector<Tensor>& operands,
                                 const Tensor& result) {
  const std::string_view type = primitive.op_type();
  if (!primitive.domain().empty() || operands.empty() || result.element_count() == 0 || !IsFloat(result.dtype()))
    return std::nullopt;
  const Shape& x = operands[0].shape();
  const auto shared_among = [&](const Tensor& whole) { return whole.element_count() / result.element_count(); };
  if (type == "ReduceSum") return SumForm{shared_among(operands[0])};
  if (type == "ReduceMean" || type == "GlobalAveragePool") return SumForm{shared_among(operands[0]), true};
  if (type == "AveragePool") {
    SumForm window{1, true};
    for (const int64_t extent : primitive.GetInts("kernel_shape")) window.terms *= extent;
    return window;
  }
  if (operands.size() < 2 || x.empty() || operands[1].shape().empty()) return std::nullopt;
  const Shape& w = operands[1].shape();
  if (type == "MatMul") return SumForm{x.back()};
  if (type == "Gemm") return SumForm{x[primitive.GetInt("transA", 0) != 0 ? 0 : 1]};
  if (type == "Conv") return SumForm{ElementCount(std::span(w).subspan(1))};
  if (type == "ConvTranspose")
    return SumForm{w[0] / std::max<int64_t>(1, primitive.GetInt("group", 1)) * ElementCount(std::span(w).subspan(2))};
  return std::nullopt;
}

void RoundDifferently(Tensor& result, const std::optional<SumForm>& form, const Tensor* squares, uint64_t seed) {
  if (!IsFloat(result.dtype())) return;
  const double unit = UnitOf(result.dtype()), unit_of_sums = UnitOfSums(result.dtype());
  const double terms = form ? static_cast<double>(std::max<int64_t>(1, form->terms)) : 1;
  for (int64_t i = 0; i < result.element_count(); ++i) {
    const double value = ElementAt(result, i);
    if (!std::isfinite(value)) continue;
    seed = seed * 6364136223846793005U + 1442695040888963407U;           // Knuth's linear congruential generator, MMIX
    const double share = static_cast<double>(seed >> 11) * 0x1p-52 - 1;  // from -1 to 1
    double error = unit * std::fabs(value);
    if (form) {
      const double square = std::fabs(ElementAt(*squares, i)) / (form->mean ? terms : 1);
      // 2.5 times the average error, so that the largest of some runs is near the largest of an engine.
      error += 2.5 * unit_of_sums * std::sqrt(terms * (value * value / 36 + square / 24));
      error += unit_of_sums * terms * std::fabs(value) / 8;
    }
    if (const double moved = value + share * error; std::isfinite(moved)) SetElement(result, i, moved);
  }
}

Result<std::vector<std::vector<Tensor>>> RunsRoundedDifferently(const Graph& graph, const std::vector<Tensor>& inputs,
                                                                size_t count, const MakeExecution& make,
                                                                const CancellationToken& token) {
  Runs runs(graph, count, make, token);
  for (size_t i = 0; i < graph.captured.size(); ++i) runs.Give(graph.captured[i], inputs[i]);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) DEPUTY_RETURN_IF_ERROR(runs.Compute(id));
  std::vector<std::vector<Tensor>> outputs;
  for (size_t run = 0; run < count; ++run) {
    DEPUTY_ASSIGN_OR_RETURN(std::vector<Tensor> made, runs.OutputsOfRun(run));
    outputs.push_back(std::move(made));
  }
  return outputs;
}

}  // namespace deputy::host
