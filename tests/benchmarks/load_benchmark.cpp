// What loading costs, stage by stage, for chains of many nodes: each stage should take twice as long for twice as many.
#include <benchmark/benchmark.h>

#include "chain_graph.hpp"
#include "cpu/delegate.hpp"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "graph/upgrade/upgrade.hpp"
#include "partition/placer.hpp"
#include "picky_delegate.hpp"
#include "plan/plan.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host::benchmarks {
namespace {

void Finish(benchmark::State& state) { state.SetComplexityN(state.range(0)); }

void Import(benchmark::State& state) {
  test::ModelBuilder builder;
  builder.Input("input", {1, 4});
  std::string value = "input";
  for (int64_t i = 0; i < state.range(0); ++i) {
    const std::string next = "v" + std::to_string(i);
    builder.Node("Relu", {value}, {next});
    value = next;
  }
  builder.Output(value);
  const std::string bytes = builder.Bytes();
  for (auto _ : state) {
    const Result<Graph> graph = test::ModelBuilder::ImportBytes(bytes);
    if (!graph.ok()) return state.SkipWithError(graph.status().ToString().c_str());
  }
  Finish(state);
}

void VerifyUpgradeInfer(benchmark::State& state) {
  const Graph chain = ChainGraph(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    Graph graph = chain;
    state.ResumeTiming();
    Status status = VerifyGraph(graph);
    if (status.ok()) status = UpgradeGraph(graph);
    if (status.ok()) status = InferGraph(graph, {MakeCpuEvaluator()});
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  Finish(state);
}

void PlaceWith(benchmark::State& state, const std::vector<OpKind>& kinds) {
  const Graph graph = ChainGraph(static_cast<size_t>(state.range(0)));
  PickyDelegate picky("picky", kinds);
  const std::shared_ptr<Delegate> cpu = MakeCpuDelegate(std::make_shared<ThreadPool>(1));
  Delegate* const delegates[] = {&picky, cpu.get()};
  PlacementOptions options;
  options.delegates.resize(2);
  for (auto _ : state) {
    SupportMatrix support;
    Result<Placement> placement = Place(graph, delegates, options, support);
    if (!placement.ok()) return state.SkipWithError(placement.status().ToString().c_str());
  }
  Finish(state);
}
// Everything in one partition.
void PlaceWhole(benchmark::State& state) { PlaceWith(state, {OpKind::kAdd, OpKind::kRelu}); }
// Every other node: as many partitions as nodes.
void PlaceAlternating(benchmark::State& state) { PlaceWith(state, {OpKind::kRelu}); }

// Placement, kernels, memory.
void PlanAll(benchmark::State& state) {
  const auto graph = std::make_shared<const Graph>(ChainGraph(static_cast<size_t>(state.range(0))));
  const std::vector<std::shared_ptr<Delegate>> delegates = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  PlacementOptions options;
  options.delegates.resize(1);
  for (auto _ : state) {
    const auto plan = MakePlan(graph, delegates, options);
    if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
  }
  Finish(state);
}

void Lengths(benchmark::internal::Benchmark* benchmark) {
  benchmark->Unit(benchmark::kMillisecond)->Arg(100)->Arg(1000)->Arg(10000)->Arg(100000)->Complexity(benchmark::oN);
}
BENCHMARK(Import)->Apply(Lengths);
BENCHMARK(VerifyUpgradeInfer)->Apply(Lengths);
BENCHMARK(PlaceWhole)->Apply(Lengths);
BENCHMARK(PlaceAlternating)->Apply(Lengths);
BENCHMARK(PlanAll)->Apply(Lengths);

}  // namespace
}  // namespace deputy::host::benchmarks
