// What the host costs per node of a running model: a chain whose nodes have next to nothing to compute.
#include <benchmark/benchmark.h>

#include "chain_graph.hpp"
#include "cpu/delegate.hpp"
#include "execute/execution.hpp"
#include "plan/make_plan.hpp"

namespace deputy::host::benchmarks {
namespace {

Result<std::unique_ptr<Execution>> Prepare(size_t length) {
  const std::vector<HostedDelegate> delegates = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                          MakePlan(std::make_shared<Graph>(ChainGraph(length)), delegates, {}));
  return Execution::Create(std::move(plan));
}

void Dispatch(benchmark::State& state) {
  Result<std::unique_ptr<Execution>> execution = Prepare(static_cast<size_t>(state.range(0)));
  if (!execution.ok()) return state.SkipWithError(execution.status().ToString().c_str());
  const Graph& graph = *(*execution)->plan().graph;
  std::vector<float> in(4, 1.0F), out(4);
  (*execution)->Bind(graph.inputs.front(), in.data());
  (*execution)->Bind(graph.outputs.front(), out.data());
  for (auto _ : state) {
    const Status status = (*execution)->Run();
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["per_node"] = benchmark::Counter(
      static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(Dispatch)->Arg(100)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace deputy::host::benchmarks
