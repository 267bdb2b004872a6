// What Predict costs beside the kernels of a model with many inputs and outputs, such as one with key-value caches.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "cpu/delegate.hpp"
#include "deputy/model.hpp"
#include "execute/execution.hpp"
#include "format/model_file.hpp"
#include "plan/make_plan.hpp"

namespace deputy::host::benchmarks {
namespace {

// One Relu on [1,elements] per output, each with an input of its own.
Graph ParallelGraph(size_t width, int64_t elements) {
  const ValueType type{DType::kFloat32, true, {1, elements}};
  Graph graph;
  for (size_t i = 0; i < width; ++i) {
    Node node;
    node.name = "node" + std::to_string(i);
    node.primitive = PrimitiveBuilder("", "Relu", 14).Finish();
    node.inputs = {graph.AddValue("x" + std::to_string(i), type)};
    node.outputs = {graph.AddValue("y" + std::to_string(i), type)};
    graph.inputs.push_back(node.inputs[0]);
    graph.outputs.push_back(node.outputs[0]);
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

std::vector<Tensor> Tensors(size_t count, int64_t elements) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) tensors.push_back(*Tensor::Allocate(DType::kFloat32, {1, elements}));
  return tensors;
}

// Outputs and their elements: the smallest nodes there are, and such as a small key-value cache has.
void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t elements : {4, 1024})
    for (const int64_t width : {100, 400, 800}) benchmark->Args({width, elements});
}

// The steps alone, with everything bound.
void ManyOutputsKernels(benchmark::State& state) {
  const auto width = static_cast<size_t>(state.range(0));
  const int64_t elements = state.range(1);
  const std::vector<HostedDelegate> delegates = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  Result<std::shared_ptr<const Plan>> plan =
      MakePlan(std::make_shared<Graph>(ParallelGraph(width, elements)), delegates, {});
  if (!plan.ok()) return state.SkipWithError(plan.status().ToString().c_str());
  Result<std::unique_ptr<Execution>> execution = Execution::Create(std::move(plan).value());
  if (!execution.ok()) return state.SkipWithError(execution.status().ToString().c_str());
  const Graph& graph = *(*execution)->plan().graph;
  std::vector<Tensor> inputs = Tensors(width, elements), outputs = Tensors(width, elements);
  for (size_t i = 0; i < width; ++i) {
    (*execution)->Bind(graph.inputs[i], inputs[i].mutable_data());
    (*execution)->Bind(graph.outputs[i], outputs[i].mutable_data());
  }
  for (auto _ : state) {
    const Status status = (*execution)->Run();
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
}
BENCHMARK(ManyOutputsKernels)->Apply(Sizes);

// `two_sets`: the caller has two sets of output tensors and gives them in turn, so that no check of the last run
// holds for the next.
void Predict(benchmark::State& state, bool two_sets) {
  const auto width = static_cast<size_t>(state.range(0));
  const int64_t elements = state.range(1);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("session_benchmark_" + std::to_string(getpid()) + ".dpm");
  Status status = WriteModelFile(ParallelGraph(width, elements), path);
  Model model;
  const Context context = *Context::FromYamlText("benchmark", "version: 1\ncpu: {threads: 1}\nlog: {level: error}\n");
  if (status.ok()) status = model.Build(path, context);
  std::filesystem::remove(path);
  if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return state.SkipWithError(session.status().ToString().c_str());
  const std::vector<Tensor> inputs = Tensors(width, elements);
  std::vector<Tensor> outputs[2] = {Tensors(width, elements), Tensors(width, elements)};
  size_t turn = 0;
  for (auto _ : state) {
    status = session->Predict(inputs, &outputs[turn]);
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
    if (two_sets) turn = 1 - turn;
  }
}
void ManyOutputsPredict(benchmark::State& state) { Predict(state, false); }
BENCHMARK(ManyOutputsPredict)->Apply(Sizes);
void ManyOutputsPredictInTurns(benchmark::State& state) { Predict(state, true); }
BENCHMARK(ManyOutputsPredictInTurns)->Apply(Sizes);

}  // namespace
}  // namespace deputy::host::benchmarks
