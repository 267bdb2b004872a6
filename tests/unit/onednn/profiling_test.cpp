// Events of what oneDNN does: one for each step, on the host's clock, tied to the nodes that the step does.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "unit/onednn/graphs.hpp"

namespace onednn {
namespace {

using Nodes = std::vector<deputy_node_id>;

// What the executable says of its events, in the order of their ids.
std::vector<Nodes> MapOf(const Executable& executable) {
  std::vector<Nodes> map;
  deputy_debug_map_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &map;
  sink.add = [](void* self, uint32_t id, const deputy_node_id* nodes, uint64_t count) -> deputy_status* {
    auto& kept = *static_cast<std::vector<Nodes>*>(self);
    EXPECT_EQ(id, kept.size());
    kept.emplace_back(nodes, nodes + count);
    return nullptr;
  };
  sdk::DebugMap to(&sink);
  EXPECT_TRUE(executable.DescribeEvents(to).ok());
  return map;
}

// The nodes of the steps of this kind of primitive.
std::vector<Nodes> NodesOf(const Executable& executable, dnnl::primitive::kind kind) {
  std::vector<Nodes> found;
  const std::vector<Nodes> map = MapOf(executable);
  for (size_t i = 0; i < executable.steps().size(); ++i) {
    const Step& step = executable.steps()[i];
    if (step.function == nullptr && step.primitive.get_kind() == kind) found.push_back(map[i]);
  }
  return found;
}

constexpr auto kConvolution = dnnl::primitive::kind::convolution;

deputy_value_id AddConv(Graph& graph, deputy_value_id x) {
  return graph.Add("Conv", {x, graph.Constant({4, 4, 1, 1})}, {1, 4, 6, 6});
}

deputy_value_id Normalized(Graph& graph, deputy_value_id x) {
  std::vector<deputy_value_id> inputs = {x};
  for (int i = 0; i < 3; ++i) inputs.push_back(graph.Constant({4}));
  inputs.push_back(graph.Constant({4}, {1, 1, 1, 1}));
  return graph.Add("BatchNormalization", inputs, {1, 4, 6, 6});
}

TEST(Origins, APrimitiveStandsForAllThatWasFusedIntoIt) {
  Graph graph;
  graph.Output(graph.Add("Relu", {Normalized(graph, AddConv(graph, graph.Input({1, 4, 6, 6})))}, {1, 4, 6, 6}));
  EXPECT_EQ(NodesOf(*graph.Compile(), kConvolution), (std::vector<Nodes>{{0, 1, 2}}));
}

TEST(Origins, WithoutFusionEachHasItsOwn) {
  Graph graph;
  graph.Output(graph.Add("Relu", {AddConv(graph, graph.Input({1, 4, 6, 6}))}, {1, 4, 6, 6}));
  const auto executable = graph.Compile(/*fused=*/false);
  EXPECT_EQ(NodesOf(*executable, kConvolution), (std::vector<Nodes>{{0}}));
  EXPECT_EQ(NodesOf(*executable, dnnl::primitive::kind::eltwise), (std::vector<Nodes>{{1}}));
}

TEST(Origins, WhatTwoPrimitivesReadBelongsToTheOneThatMakesIt) {
  Graph graph;
  const deputy_value_id shared = AddConv(graph, graph.Input({1, 4, 6, 6}));
  graph.Output(AddConv(graph, shared));
  graph.Output(AddConv(graph, shared));
  EXPECT_EQ(NodesOf(*graph.Compile(), kConvolution), (std::vector<Nodes>{{0}, {1}, {2}}));
}

TEST(Origins, AFunctionThatWasWrittenOutIsAllOfItsNodes) {
  Graph graph;
  const deputy_value_id x = graph.Input({8, 8});
  const deputy_value_id inner = graph.Add("Sigmoid", {x}, {8, 8});
  graph.Output(graph.Add("Mul", {x, inner}, {8, 8}));
  EXPECT_EQ(NodesOf(*graph.Compile(), dnnl::primitive::kind::eltwise), (std::vector<Nodes>{{0, 1}}));
}

TEST(Origins, ACopyAtTheBorderBelongsToWhoMadeTheElements) {
  Graph graph;
  const deputy_value_id y = graph.Add("Relu", {graph.Input({2, 6})}, {2, 6});
  graph.Output(graph.Add("Reshape", {y, graph.Constant({1})}, {12}));
  graph.Output(y);
  for (const Nodes& nodes : NodesOf(*graph.Compile(), dnnl::primitive::kind::reorder)) EXPECT_FALSE(nodes.empty());
}

// A host whose clock goes on by one with every look.
struct Ticking {
  explicit Ticking(Graph& graph) : table(*graph.host.table()) {
    table.self = this;
    table.clock_ns = [](void* self) { return ++static_cast<Ticking*>(self)->looks; };
    graph.clock = sdk::Host(&table);
  }
  deputy_host table;
  uint64_t looks = 0;
};

struct Events {
  Events() {
    sink.struct_size = sizeof sink;
    sink.self = this;
    sink.event = [](void* self, const deputy_profile_event* event) {
      auto& events = *static_cast<Events*>(self);
      events.all.push_back(*event);
      events.names.emplace_back(event->name.data, event->name.size);
      events.metadata.emplace_back(event->metadata.data, event->metadata.size);
    };
  }
  deputy_profile_sink sink{};
  std::vector<deputy_profile_event> all;
  std::vector<std::string> names, metadata;
};

// Softmax over short rows: a function, a primitive, a function.
struct ShortRows {
  ShortRows() {
    graph.Output(graph.Add("Softmax", {graph.Input({100, 4})}, {100, 4}));
    executable = graph.Compile();
    context = std::move(executable->CreateContext().value());
  }
  sdk::Status Run(uint64_t deadline_ns = 0) {
    std::vector<float> x(400, 1.0f), y(400);
    const int64_t dims[] = {100, 4};
    deputy_tensor in{}, out{};
    in.dims = out.dims = dims, in.rank = out.rank = 2, in.byte_size = out.byte_size = 1600;
    in.data = x.data(), out.data = y.data();
    const deputy_tensor* inputs[] = {&in};
    const deputy_tensor* outputs[] = {&out};
    deputy_run_args run{};
    run.struct_size = sizeof run;
    run.input_count = run.output_count = 1;
    run.inputs = inputs;
    run.outputs = outputs;
    run.deadline_ns = deadline_ns;
    return context->Execute(sdk::RunArgs(run));
  }
  Graph graph;
  Ticking ticking{graph};
  std::unique_ptr<Executable> executable;
  std::unique_ptr<sdk::ExecutionContext> context;
};

TEST(Profiling, EveryStepIsAnEventOnTheHostsClock) {
  ShortRows rows;
  Events events;
  rows.context->SetProfiler(sdk::Profiler(&events.sink));
  ASSERT_TRUE(rows.Run().ok());
  EXPECT_EQ(events.names, (std::vector<std::string>{"subtract maximum", "eltwise", "divide by sum"}));
  for (size_t i = 0; i < events.all.size(); ++i) {
    EXPECT_EQ(events.all[i].id, i);
    EXPECT_EQ(events.all[i].clock, deputy_clock{DEPUTY_CLOCK_MONOTONIC});
    EXPECT_EQ(events.all[i].begin_ns, 2 * i + 1);
    EXPECT_EQ(events.all[i].end_ns, 2 * i + 2);
  }
}

TEST(Profiling, AnEventSaysWhichImplementationRan) {
  ShortRows rows;
  Events events;
  rows.context->SetProfiler(sdk::Profiler(&events.sink));
  ASSERT_TRUE(rows.Run().ok());
  ASSERT_EQ(events.metadata.size(), 3u);
  EXPECT_EQ(events.metadata[0], R"({"implementation": "own", "threads": 1})");
  EXPECT_NE(events.metadata[1].find(R"({"implementation": "j)"), std::string::npos) << events.metadata[1];
}

TEST(Profiling, WithoutAListenerTheClockIsNotRead) {
  ShortRows rows;
  ASSERT_TRUE(rows.Run().ok());
  EXPECT_EQ(rows.ticking.looks, 0u);
}

TEST(Deadline, ARunEndsBeforeTheStepThatItPasses) {
  ShortRows rows;
  const sdk::Status status = rows.Run(2);  // the clock is at 1, 2 and 3 before the three steps
  EXPECT_EQ(status.code(), sdk::Code::kDeadlineExceeded);
  EXPECT_EQ(rows.ticking.looks, 3u);
  EXPECT_TRUE(rows.Run(1000).ok());
}

}  // namespace
}  // namespace onednn
