// Types of what goes round in Loops.
#include <gtest/gtest.h>

#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

// A Loop in `graph` whose state starts as `start` and doubles in each round; in its body stands another such Loop, and
// so on `depth` times. The last state.
ValueId AddLoops(Graph& graph, ValueId start, int depth) {
  auto body = std::make_shared<Graph>();
  const ValueId round = body->AddValue("round", {DType::kInt64, true, {}});
  const ValueId condition = body->AddValue("condition", {DType::kBool, true, {}});
  const ValueId state = body->AddValue("state"), captured = body->AddValue("start");
  const ValueId again = body->AddValue("again"), twice = body->AddValue("twice");
  body->inputs = {round, condition, state};
  body->captured = {captured};
  if (depth > 1) AddLoops(*body, captured, depth - 1);
  body->nodes.push_back(MakeNode(PrimitiveBuilder("", "Identity", 13), {condition}, {again}));
  body->nodes.push_back(MakeNode(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}), {state, state}, {twice}));
  body->outputs = {again, twice};
  const ValueId last = graph.AddValue("last");
  Node loop = MakeNode(PrimitiveBuilder("", "Loop", 13), {kNone, kNone, start}, {last});
  loop.regions.push_back({"body", body, {start}});
  graph.nodes.push_back(std::move(loop));
  return last;
}

ValueType TypeOfLast(int depth) {
  Graph graph;
  const ValueId start = graph.AddValue("start", {DType::kFloat32, true, {1, 4}});
  graph.inputs = {start};
  graph.outputs = {AddLoops(graph, start, depth)};
  EXPECT_TRUE(VerifyGraph(graph).ok());
  InferenceOptions options;
  options.drop_unused = false;
  EXPECT_TRUE(InferGraph(graph, options).ok());
  return graph.values[graph.outputs[0]].type;
}

TEST(InferLoop, AnExtentThatARoundChangesIsNotKnown) {
  EXPECT_EQ(TypeOfLast(1).dims, (std::vector<int64_t>{kUnknownDim, 4}));
  EXPECT_EQ(TypeOfLast(2).dims, (std::vector<int64_t>{kUnknownDim, 4}));
}

// The first state of two changes, the last one does not.
TEST(InferLoop, AnyStateThatChangesTypesTheBodyAgain) {
  Graph graph;
  const ValueId start = graph.AddValue("start", {DType::kFloat32, true, {1, 4}});
  const ValueId grown = graph.AddValue("grown"), kept = graph.AddValue("kept");
  auto body = std::make_shared<Graph>();
  const ValueId round = body->AddValue("round"), condition = body->AddValue("condition");
  const ValueId state = body->AddValue("state"), other = body->AddValue("other"), twice = body->AddValue("twice");
  body->inputs = {round, condition, state, other};
  body->nodes = {MakeNode(PrimitiveBuilder("", "Concat", 13).Set("axis", int64_t{0}), {state, state}, {twice})};
  body->outputs = {condition, twice, other};
  Node loop = MakeNode("Loop", 13, {kNone, kNone, start, start}, {grown, kept});
  loop.regions.push_back({"body", body, {}});
  graph.nodes = {std::move(loop)};
  graph.inputs = {start};
  graph.outputs = {grown, kept};
  ASSERT_TRUE(InferGraph(graph, {}).ok());
  const Graph& typed = *graph.nodes[0].regions[0].body;
  EXPECT_EQ(typed.values[typed.inputs[2]].type.dims, (std::vector<int64_t>{kUnknownDim, 4}));
  EXPECT_EQ(typed.values[typed.inputs[3]].type.dims, (std::vector<int64_t>{1, 4}));
}

// Each level is typed twice, which would be 2^30 times in all: this ends because less is said then.
TEST(InferLoop, PackedElementsAreNotTakenApartRoundByRound) {
  Graph graph;
  const ValueId sequence = graph.AddValue("sequence", {DType::kInt4, true, {3, 2}}), out = graph.AddValue("out");
  auto body = std::make_shared<Graph>();
  const ValueId element = body->AddValue("element"), made = body->AddValue("made");
  body->inputs = {element};
  body->nodes.push_back(MakeNode(PrimitiveBuilder("", "Identity", 21), {element}, {made}));
  body->outputs = {made};
  Node scan = MakeNode(PrimitiveBuilder("", "Scan", 21).Set("num_scan_inputs", int64_t{1}), {sequence}, {out});
  scan.regions.push_back({"body", body, {}});
  graph.nodes.push_back(std::move(scan));
  graph.inputs = {sequence};
  graph.outputs = {out};
  ASSERT_TRUE(VerifyGraph(graph).ok());
  EXPECT_EQ(InferGraph(graph, {}).code(), StatusCode::kNotSupported);
}

// A Scan over the rows of a matrix, each of which it returns.
Status InferScanWith(const char* attribute, std::vector<int64_t> list) {
  Graph graph;
  const ValueId matrix = graph.AddValue("matrix", {DType::kFloat32, true, {3, 2}}), out = graph.AddValue("out");
  auto body = std::make_shared<Graph>();
  const ValueId element = body->AddValue("element"), made = body->AddValue("made");
  body->inputs = {element};
  body->nodes.push_back(MakeNode("Identity", 21, {element}, {made}));
  body->outputs = {made};
  PrimitiveBuilder scan("", "Scan", 21);
  scan.Set("num_scan_inputs", int64_t{1}).Set(attribute, std::move(list));
  graph.nodes.push_back(MakeNode(scan, {matrix}, {out}));
  graph.nodes[0].regions.push_back({"body", body, {}});
  graph.inputs = {matrix};
  graph.outputs = {out};
  return InferGraph(graph, {});
}

TEST(InferScan, R209_ListsAndAxesThatDoNotFitAreRefused) {
  for (const char* axes : {"scan_input_axes", "scan_output_axes"}) {
    for (const int64_t axis : {-2, 0, 1}) EXPECT_TRUE(InferScanWith(axes, {axis}).ok()) << axes << axis;
    for (const int64_t axis : {-3, 2, 7}) {
      const Status status = InferScanWith(axes, {axis});
      EXPECT_EQ(status.code(), StatusCode::kModel) << axes << axis;
      EXPECT_NE(status.message().find("is out of range"), std::string::npos) << status.message();
    }
  }
  for (const char* list : {"scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"}) {
    EXPECT_TRUE(InferScanWith(list, {}).ok()) << list;
    EXPECT_EQ(InferScanWith(list, {0, 0}).message(),
              "attribute '" + std::string(list) + "' has 2 elements, expected 1");
  }
  for (const char* directions : {"scan_input_directions", "scan_output_directions"}) {
    EXPECT_TRUE(InferScanWith(directions, {1}).ok()) << directions;
    EXPECT_EQ(InferScanWith(directions, {5}).code(), StatusCode::kModel) << directions;
  }
}

// A Loop in which `op` makes the next state of the last one.
Graph LoopOver(const char* op, ValueType start_type, ValueType declared) {
  Graph graph;
  const ValueId start = graph.AddValue("start", std::move(start_type)), last = graph.AddValue("last");
  auto body = std::make_shared<Graph>();
  const ValueId round = body->AddValue("round"), condition = body->AddValue("condition");
  const ValueId state = body->AddValue("state", std::move(declared)), next = body->AddValue("next");
  body->inputs = {round, condition, state};
  body->nodes = {MakeNode(op, 13, {state}, {next})};
  body->outputs = {condition, next};
  Node loop = MakeNode("Loop", 13, {kNone, kNone, start}, {last});
  loop.regions.push_back({"body", body, {}});
  graph.nodes = {std::move(loop)};
  graph.inputs = {start};
  graph.outputs = {last};
  return graph;
}

TEST(InferLoop, AStateWhoseDTypeARoundChangesIsRefused) {
  Graph graph = LoopOver("Shape", {DType::kFloat32, true, {2}}, {});
  EXPECT_EQ(InferGraph(graph, {}).message(),
            "a value has dtype float32 in one branch or iteration and int64 in another");
}

// The element type of the state is known in the run only; so are its extents, whatever the body declares.
TEST(InferLoop, DeclaredExtentsOfAStateOfUnknownTypeAreNotTrusted) {
  Graph graph = LoopOver("Relu", {}, {DType::kFloat32, true, {100}});
  ASSERT_TRUE(InferGraph(graph, {}).ok());
  const Graph& typed = *graph.nodes[0].regions[0].body;
  EXPECT_FALSE(typed.values[typed.inputs[2]].type.ranked);
  EXPECT_EQ(typed.values[typed.inputs[2]].type.dtype, DType::kFloat32);
}

TEST(InferLoop, LoopsInLoopsAreTypedInTimeThatDoesNotDoubleWithEachLevel) {
  const ValueType type = TypeOfLast(30);
  EXPECT_EQ(type.dtype, DType::kFloat32);
}

}  // namespace
}  // namespace deputy::host
