// What placing costs: three delegates with different operators and the CPU, on graphs of 1,000 to 1,000,000 nodes.
#include <benchmark/benchmark.h>

#include <map>
#include <random>

#include "cpu/delegate.hpp"
#include "graph/graph.hpp"
#include "partition/cost_policy.hpp"
#include "partition/placer.hpp"
#include "picky_delegate.hpp"
#include "support/borrowed_delegate.hpp"

namespace deputy::host::benchmarks {
namespace {

// A graph that grows node by node; values are images.
class Builder {
 public:
  explicit Builder(size_t nodes) {
    graph.nodes.reserve(nodes);
    graph.values.reserve(nodes + 1);
    graph.inputs = {graph.AddValue("x", type_)};
  }
  ValueId Add(const char* op, std::vector<ValueId> inputs) {
    Node node;
    Primitive& primitive = primitives_[op];
    if (primitive.table() == nullptr) primitive = PrimitiveBuilder("", op, 13).Finish();
    node.primitive = primitive;
    node.name = std::to_string(graph.nodes.size());
    node.inputs = std::move(inputs);
    node.outputs = {graph.AddValue(node.name, type_)};
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().outputs[0];
  }
  // The values that are never read become outputs.
  Graph Finish() {
    std::vector<uint8_t> read(graph.values.size(), 0);
    for (const Node& node : graph.nodes) node.ForEachRead([&](ValueId id) { read[id] = 1; });
    for (const Node& node : graph.nodes)
      if (!read[node.outputs[0]]) graph.outputs.push_back(node.outputs[0]);
    return std::move(graph);
  }

  Graph graph;

 private:
  const ValueType type_{DType::kFloat32, true, {1, 16, 32, 32}};
  std::map<std::string, Primitive> primitives_;
};

// Every other node is supported by one delegate alone, the others by none.
Graph Alternating(size_t nodes) {
  Builder builder(nodes);
  ValueId last = builder.graph.inputs[0];
  for (size_t i = 0; i < nodes; ++i) last = builder.Add(i % 2 == 0 ? "Relu" : "Exp", {last});
  return builder.Finish();
}

// Every node reads one or two of the 64 values before it.
Graph RandomDag(size_t nodes) {
  static constexpr const char* kUnary[] = {"Relu", "Sigmoid", "Tanh", "Exp"};
  static constexpr const char* kBinary[] = {"Add", "Mul", "Sub"};
  Builder builder(nodes);
  std::mt19937 random(7);
  const auto draw = [&](size_t below) { return random() % below; };
  for (size_t i = 0; i < nodes; ++i) {
    const auto before = [&] { return static_cast<ValueId>(i - draw(std::min<size_t>(i + 1, 64))); };
    if (draw(2) == 0) {
      builder.Add(kUnary[draw(4)], {before()});
    } else {
      builder.Add(kBinary[draw(3)], {before(), before()});
    }
  }
  return builder.Finish();
}

// Blocks of five nodes with a connection around them.
Graph Residual(size_t nodes) {
  Builder builder(nodes);
  ValueId last = builder.graph.inputs[0];
  while (builder.graph.nodes.size() + 5 <= nodes) {
    const ValueId gate = builder.Add("Sigmoid", {builder.Add("Mul", {last, last})});
    last = builder.Add("Relu", {builder.Add("Add", {last, builder.Add("Tanh", {gate})})});
  }
  return builder.Finish();
}

void PlaceOnThree(benchmark::State& state, const Graph& graph, std::shared_ptr<const PlacementPolicy> policy) {
  PickyDelegate first("first", {OpKind::kRelu, OpKind::kAdd}),
      second("second", {OpKind::kAdd, OpKind::kMul, OpKind::kSigmoid}),
      third("third", {OpKind::kSigmoid, OpKind::kTanh, OpKind::kSub, OpKind::kMul});
  const std::shared_ptr<Delegate> cpu = MakeCpuDelegate(std::make_shared<ThreadPool>(1));
  const HostedDelegate delegates[] = {Borrowed(first), Borrowed(second), Borrowed(third), cpu};
  PlacementOptions options;
  options.policy = std::move(policy);
  size_t partitions = 0;
  for (auto _ : state) {
    SupportMatrix support;
    Result<Placement> placement = Place(graph, delegates, options, support, /*may_overlap=*/true);
    if (!placement.ok()) return state.SkipWithError(placement.status().ToString().c_str());
    partitions = placement->partitions.size();
  }
  state.counters["partitions"] = static_cast<double>(partitions);
  state.SetComplexityN(static_cast<int64_t>(graph.nodes.size()));
}

template <Graph (*kMake)(size_t)>
void PlaceByPriority(benchmark::State& state) {
  PlaceOnThree(state, kMake(static_cast<size_t>(state.range(0))), std::make_shared<PriorityPolicy>());
}

// Every delegate is the fastest for one operator, by less than a few transfers.
std::shared_ptr<const CostTable> Costs() {
  constexpr uint64_t kBytes = 16 * 32 * 32 * 4;
  static constexpr const char* kOperators[] = {"Relu", "Exp", "Add", "Mul", "Sub", "Sigmoid", "Tanh"};
  auto table = std::make_shared<CostTable>();
  std::mt19937 random(11);
  for (const char* delegate : {"first", "second", "third", "cpu"}) {
    for (const char* op : kOperators)
      for (const uint64_t values : {2, 3})
        table->Add(delegate, op, DType::kFloat32, {WorkUnit::kBytes, values * kBytes},
                   4000.0 + static_cast<double>(random() % 8000));
    table->AddTransfer(delegate, kBytes, 1500);
  }
  return table;
}

template <Graph (*kMake)(size_t)>
void PlaceByCost(benchmark::State& state) {
  PlaceOnThree(state, kMake(static_cast<size_t>(state.range(0))), std::make_shared<CostPolicy>(Costs()));
}

void NodeCounts(benchmark::internal::Benchmark* benchmark) {
  benchmark->Unit(benchmark::kMillisecond)->Arg(100)->RangeMultiplier(10)->Range(1000, 1000000);
  benchmark->Complexity(benchmark::oN);
}
BENCHMARK(PlaceByPriority<Alternating>)->Apply(NodeCounts);
BENCHMARK(PlaceByPriority<RandomDag>)->Apply(NodeCounts);
BENCHMARK(PlaceByPriority<Residual>)->Apply(NodeCounts);
BENCHMARK(PlaceByCost<Alternating>)->Apply(NodeCounts);
BENCHMARK(PlaceByCost<RandomDag>)->Apply(NodeCounts);
BENCHMARK(PlaceByCost<Residual>)->Apply(NodeCounts);

}  // namespace
}  // namespace deputy::host::benchmarks
