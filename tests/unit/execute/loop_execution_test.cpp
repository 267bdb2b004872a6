// Loops and Scans over the CPU: states, sequences, captures, extents that grow.
#include "execute/loop_execution.hpp"

#include <limits>

#include "unit/execute/cpu_plan.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

using LoopExecutionTest = CpuPlanTest;

// state = [state, state + x] in each round, and x + state's sum is kept of each; x is captured. `trips` and `going` are
// inputs; the body goes on as long as its condition was true.
struct GrowingLoop {
  Graph graph;
  ValueId trips, going, x, start, last, sums;

  GrowingLoop() {
    trips = graph.AddValue("trips", {DType::kInt64, true, {}});
    going = graph.AddValue("going", {DType::kBool, true, {}});
    x = graph.AddValue("x", FloatType({1}));
    start = graph.AddValue("start", FloatType({1}));
    last = graph.AddValue("last");
    sums = graph.AddValue("sums");
    graph.inputs = {trips, going, x, start};
    graph.outputs = {last, sums};
    auto body = std::make_shared<Graph>();
    const ValueId round = body->AddValue("round", {DType::kInt64, true, {}});
    const ValueId condition = body->AddValue("condition", {DType::kBool, true, {}});
    const ValueId state = body->AddValue("state"), captured = body->AddValue("x");
    const ValueId again = body->AddValue("again"), more = body->AddValue("more"), next = body->AddValue("next");
    const ValueId sum = body->AddValue("sum"), kept = body->AddValue("kept");
    body->inputs = {round, condition, state};
    body->captured = {captured};
    body->outputs = {again, next, kept};
    body->nodes = {MakeNode("Identity", 13, {condition}, {again}), MakeNode("Add", 14, {state, captured}, {more}),
                   MakeNode(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}), {state, more}, {next}),
                   MakeNode(PrimitiveBuilder("", "ReduceSum", 13).Set("keepdims", int64_t{1}), {state}, {sum}),
                   MakeNode("Add", 14, {sum, captured}, {kept})};
    Node node = MakeNode("Loop", 13, {trips, going, start}, {last, sums});
    node.regions.push_back({"body", body, {x}});
    graph.nodes = {std::move(node)};
  }
};

TEST_F(LoopExecutionTest, StatesMayGrowFromRoundToRound) {
  GrowingLoop loop;
  ASSERT_TRUE(Prepare(loop.graph).ok());
  int64_t trips = 2;
  uint8_t going = 1;
  float x = 10, start = 1;
  execution_->Bind(loop.trips, &trips);
  execution_->Bind(loop.going, &going);
  execution_->Bind(loop.x, &x);
  execution_->Bind(loop.start, &start);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Values(loop.last), (Floats{1, 11, 11, 21}));
  EXPECT_EQ(Values(loop.sums), (Floats{11, 22}));
  EXPECT_EQ(Dims(loop.sums), (std::vector<int64_t>{2, 1}));
  trips = 1;
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Values(loop.last), (Floats{1, 11}));
  EXPECT_EQ(Values(loop.sums), (Floats{11}));
}

TEST_F(LoopExecutionTest, WithoutARoundTheStatesStayAndTheSequencesAreEmpty) {
  GrowingLoop loop;
  ASSERT_TRUE(Prepare(loop.graph).ok());
  int64_t trips = 5;
  uint8_t going = 0;
  float x = 10, start = 1;
  execution_->Bind(loop.trips, &trips);
  execution_->Bind(loop.going, &going);
  execution_->Bind(loop.x, &x);
  execution_->Bind(loop.start, &start);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Values(loop.last), (Floats{1}));
  EXPECT_EQ(Dims(loop.sums)[0], 0);
  EXPECT_TRUE(Values(loop.sums).empty());
}

// Case 31 of the fault catalogue.
TEST_F(LoopExecutionTest, R31_ALoopEndsAtTheLimitOfSteps) {
  GrowingLoop loop;
  ASSERT_TRUE(Prepare(loop.graph).ok());
  int64_t trips = std::numeric_limits<int64_t>::max();
  uint8_t going = 1;
  float x = 10, start = 1;
  execution_->Bind(loop.trips, &trips);
  execution_->Bind(loop.going, &going);
  execution_->Bind(loop.x, &x);
  execution_->Bind(loop.start, &start);
  LoopSteps steps{3, 0};
  CancellationToken token;
  token.loop_steps = &steps;
  const Status status = execution_->Run(token);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "iteration 3 exceeds the limit of 3 loop steps, which all Loops and Scans of a run share");
  EXPECT_NE(status.where().find("(Loop)"), std::string::npos) << status.ToString();
  EXPECT_NE(status.advice().find("loop_steps"), std::string::npos) << status.ToString();
  trips = 3;
  steps = {3, 0};
  EXPECT_TRUE(execution_->Run(token).ok());
  EXPECT_EQ(Values(loop.last).size(), 8u);
}

TEST_F(LoopExecutionTest, ALoopThatOutgrowsTheMemoryFails) {
  GrowingLoop loop;
  ASSERT_TRUE(Prepare(loop.graph).ok());
  const auto budget = std::make_shared<MemoryBudget>(size_t{1} << 20);
  Result<std::unique_ptr<Execution>> limited = Execution::Create(plan_, nullptr, {nullptr, budget});
  ASSERT_TRUE(limited.ok()) << limited.status().ToString();
  int64_t trips = 40;
  uint8_t going = 1;
  float x = 10, start = 1;
  const auto run = [&] {
    (*limited)->Bind(loop.trips, &trips);
    (*limited)->Bind(loop.going, &going);
    (*limited)->Bind(loop.x, &x);
    (*limited)->Bind(loop.start, &start);
    return (*limited)->Run();
  };
  const Status status = run();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("exceed the memory limit of the session: 1048576 bytes"), std::string::npos)
      << status.ToString();
  EXPECT_NE(status.where().find("(Loop)"), std::string::npos) << status.ToString();
  EXPECT_LE(budget->used(), budget->limit());
  trips = 2;
  EXPECT_TRUE(run().ok());
}

TEST_F(LoopExecutionTest, TheConditionOfTheBodyEndsALoopWithoutACount) {
  // state doubles while it is less than 100.
  Graph graph;
  const ValueId start = graph.AddValue("start", FloatType({})), last = graph.AddValue("last");
  graph.inputs = {start};
  graph.outputs = {last};
  auto body = std::make_shared<Graph>();
  const ValueId round = body->AddValue("round", {DType::kInt64, true, {}});
  const ValueId condition = body->AddValue("condition", {DType::kBool, true, {}});
  const ValueId state = body->AddValue("state"), next = body->AddValue("next"), again = body->AddValue("again");
  const ValueId limit =
      body->AddConstant("limit", *Tensor::FromValues<float>(DType::kFloat32, {}, std::vector<float>{100}));
  body->inputs = {round, condition, state};
  body->outputs = {again, next};
  body->nodes = {MakeNode("Add", 14, {state, state}, {next}), MakeNode("Less", 13, {next, limit}, {again})};
  Node node = MakeNode("Loop", 13, {kNone, kNone, start}, {last});
  node.regions.push_back({"body", body, {}});
  graph.nodes = {std::move(node)};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  float in = 3, out = 0;
  execution_->Bind(start, &in);
  execution_->Bind(last, &out);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(out, 192);
}

TEST_F(LoopExecutionTest, StatesMayChangePlaces) {
  Graph graph;
  const ValueId trips = graph.AddValue("trips", {DType::kInt64, true, {}});
  const ValueId a = graph.AddValue("a", FloatType({})), b = graph.AddValue("b", FloatType({}));
  const ValueId first = graph.AddValue("first"), second = graph.AddValue("second");
  graph.inputs = {trips, a, b};
  graph.outputs = {first, second};
  auto body = std::make_shared<Graph>();
  const ValueId round = body->AddValue("round", {DType::kInt64, true, {}});
  const ValueId condition = body->AddValue("condition", {DType::kBool, true, {}});
  const ValueId left = body->AddValue("left"), right = body->AddValue("right");
  body->inputs = {round, condition, left, right};
  body->outputs = {condition, right, left};
  Node node = MakeNode("Loop", 13, {trips, kNone, a, b}, {first, second});
  node.regions.push_back({"body", body, {}});
  graph.nodes = {std::move(node)};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  int64_t rounds = 3;
  float one = 1, two = 2;
  Floats made(2);
  execution_->Bind(trips, &rounds);
  execution_->Bind(a, &one);
  execution_->Bind(b, &two);
  execution_->Bind(first, &made[0]);
  execution_->Bind(second, &made[1]);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(made, (Floats{2, 1}));
}

// sum += element; the sums are kept. Sequences stand along `axis`, the elements are read from the end.
struct SummingScan {
  Graph graph;
  ValueId start, sequence, last, sums;

  explicit SummingScan(int64_t axis) {
    start = graph.AddValue("start", FloatType({2}));
    sequence =
        graph.AddValue("sequence", FloatType(axis == 0 ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3}));
    last = graph.AddValue("last");
    sums = graph.AddValue("sums");
    graph.inputs = {start, sequence};
    graph.outputs = {last, sums};
    auto body = std::make_shared<Graph>();
    const ValueId sum = body->AddValue("sum"), element = body->AddValue("element");
    const ValueId next = body->AddValue("next"), kept = body->AddValue("kept");
    body->inputs = {sum, element};
    body->outputs = {next, kept};
    body->nodes = {MakeNode("Add", 14, {sum, element}, {next}), MakeNode("Identity", 13, {next}, {kept})};
    Node node = MakeNode(PrimitiveBuilder("", "Scan", 11)
                             .Set("num_scan_inputs", int64_t{1})
                             .Set("scan_input_axes", std::vector<int64_t>{axis})
                             .Set("scan_output_axes", std::vector<int64_t>{axis})
                             .Set("scan_input_directions", std::vector<int64_t>{1}),
                         {start, sequence}, {last, sums});
    node.regions.push_back({"body", body, {}});
    graph.nodes = {std::move(node)};
  }
};

class ScanTest : public CpuPlanTest {
 protected:
  void Run(int64_t axis, Floats sequence) {
    SummingScan scan(axis);
    ASSERT_TRUE(Prepare(scan.graph).ok());
    Floats start = {0, 100};
    execution_->Bind(scan.start, start.data());
    execution_->Bind(scan.sequence, sequence.data());
    execution_->Bind(scan.last, last_.data());
    execution_->Bind(scan.sums, sums_.data());
    ASSERT_TRUE(execution_->Run().ok());
  }

  Floats last_ = Floats(2), sums_ = Floats(6);
};

TEST_F(ScanTest, ReadsElementsOfItsSequences) {
  Run(0, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(last_, (Floats{9, 112}));
  EXPECT_EQ(sums_, (Floats{5, 106, 8, 110, 9, 112}));
}

TEST_F(ScanTest, SequencesMayStandAlongAnotherAxis) {
  Run(-1, {1, 3, 5, 2, 4, 6});
  EXPECT_EQ(last_, (Floats{9, 112}));
  EXPECT_EQ(sums_, (Floats{5, 8, 9, 106, 110, 112}));
}

TEST_F(LoopExecutionTest, SequencesOfDifferentLengthsAreRefused) {
  Graph graph;
  const ValueId long_one = graph.AddValue("long", FloatType({3})), short_one = graph.AddValue("short", FloatType({2}));
  const ValueId sums = graph.AddValue("sums");
  graph.inputs = {long_one, short_one};
  graph.outputs = {sums};
  auto body = std::make_shared<Graph>();
  const ValueId a = body->AddValue("a"), b = body->AddValue("b"), sum = body->AddValue("sum");
  body->inputs = {a, b};
  body->outputs = {sum};
  body->nodes = {MakeNode("Add", 14, {a, b}, {sum})};
  Node node = MakeNode(PrimitiveBuilder("", "Scan", 11).Set("num_scan_inputs", int64_t{2}), graph.inputs, {sums});
  node.regions.push_back({"body", body, {}});
  graph.nodes = {std::move(node)};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  Floats in(3), out(3);
  execution_->Bind(long_one, in.data());
  execution_->Bind(short_one, in.data());
  execution_->Bind(sums, out.data());
  EXPECT_EQ(execution_->Run().code(), StatusCode::kInvalidArgument);
}

TEST_F(LoopExecutionTest, ABodyThatDoesNotFitIsRefused) {
  GrowingLoop loop;
  loop.graph.nodes[0].inputs.pop_back();
  const Status status = Prepare(loop.graph);
  EXPECT_EQ(status.message(), "the body has 3 inputs and 3 outputs, which does not match 2 inputs of the node");
}

}  // namespace
}  // namespace deputy::host
