// What loading costs, stage by stage, for chains of many nodes: each stage should take twice as long for twice as many.
#include <benchmark/benchmark.h>

#include "chain_graph.hpp"
#include "cpu/delegate.hpp"
#include "execute/execution.hpp"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "graph/passes/passes.hpp"
#include "graph/upgrade/upgrade.hpp"
#include "partition/placer.hpp"
#include "picky_delegate.hpp"
#include "plan/arena.hpp"
#include "plan/make_plan.hpp"
#include "support/borrowed_delegate.hpp"
#include "unit/import/model_builder.hpp"

namespace deputy::host::benchmarks {
namespace {

void Finish(benchmark::State& state) { state.SetComplexityN(state.range(0)); }

std::string ChainBytes(int64_t length) {
  test::ModelBuilder builder;
  builder.Input("input", {1, 4});
  std::string value = "input";
  for (int64_t i = 0; i < length; ++i) {
    const std::string next = "v" + std::to_string(i);
    builder.Node("Relu", {value}, {next});
    value = next;
  }
  builder.Output(value);
  return builder.Bytes();
}

void Import(benchmark::State& state) {
  const std::string bytes = ChainBytes(state.range(0));
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
  const HostedDelegate delegates[] = {Borrowed(picky), cpu};
  for (auto _ : state) {
    SupportMatrix support;
    Result<Placement> placement = Place(graph, delegates, {}, support, /*may_overlap=*/true);
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
  const std::vector<HostedDelegate> delegates = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  for (auto _ : state) {
    const auto plan = MakePlan(graph, delegates, {});
    if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
  }
  Finish(state);
}

// From the bytes of a file to what a session runs. A million nodes, the most that a model may have, take seconds.
Status LoadOnce(const std::string& bytes) {
  DEPUTY_ASSIGN_OR_RETURN(Graph graph, test::ModelBuilder::ImportBytes(bytes));
  PassOptions passes;
  passes.evaluator = MakeCpuEvaluator();
  DEPUTY_RETURN_IF_ERROR(RunPasses(graph, passes));
  const std::vector<HostedDelegate> delegates = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                          MakePlan(std::make_shared<const Graph>(std::move(graph)), delegates, {}));
  return Execution::Create(std::move(plan)).status();
}

void LoadChain(benchmark::State& state) {
  const std::string bytes = ChainBytes(state.range(0));
  for (auto _ : state) {
    const Status status = LoadOnce(bytes);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  Finish(state);
}

// Half of the small values die at once and leave holes, into which none of the larger ones fits that follow.
void AssignAroundHoles(benchmark::State& state) {
  const uint32_t count = static_cast<uint32_t>(state.range(0)), steps = 2 * count;
  std::vector<Slot> slots(2 * count);
  std::vector<uint32_t> first(slots.size()), last(slots.size());
  for (uint32_t i = 0; i < slots.size(); ++i) {
    slots[i].storage = StorageClass::kArena;
    slots[i].bytes = i < count ? 64 : 128;
    first[i] = i;
    last[i] = i >= count ? std::min(i + 1, steps - 1) : i % 2 == 0 ? i : steps - 1;
  }
  for (auto _ : state) benchmark::DoNotOptimize(AssignOffsets(slots, first, last, steps));
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
BENCHMARK(LoadChain)->Apply(Lengths)->Arg(1000000);
BENCHMARK(AssignAroundHoles)->Apply(Lengths);

}  // namespace
}  // namespace deputy::host::benchmarks
