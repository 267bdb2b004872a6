// Scan-8, which goes over the sequences of a batch, as Scan-9 between axes that come and go.
#include <memory>

#include "unit/graph/upgrade/upgraded.hpp"

namespace deputy::host {
namespace {

// Running sums of [batch, steps, 2].
Graph RunningSum(int64_t batch, bool with_lengths) {
  auto body = std::make_shared<Graph>();
  const ValueType row{DType::kFloat32, true, {2}};
  body->inputs = {body->AddValue("sum", row), body->AddValue("x", row)};
  Node& add = body->nodes.emplace_back();
  add.primitive = PrimitiveBuilder("", "Add", 7).Finish();
  add.inputs = body->inputs;
  add.outputs = {body->AddValue("new_sum")};
  Node& copy = body->nodes.emplace_back();
  copy.primitive = PrimitiveBuilder("", "Identity", 1).Finish();
  copy.inputs = {body->nodes[0].outputs[0]};
  copy.outputs = {body->AddValue("y")};
  body->outputs = {body->nodes[0].outputs[0], copy.outputs[0]};

  Graph graph;
  graph.inputs = {graph.AddValue("start", {DType::kFloat32, true, {batch, 2}}),
                  graph.AddValue("x", {DType::kFloat32, true, {batch, 3, 2}})};
  Node& node = graph.nodes.emplace_back();
  node.name = "it";
  node.primitive = PrimitiveBuilder("", "Scan", 8)
                       .Set("num_scan_inputs", int64_t{1})
                       .Set("directions", std::vector<int64_t>{1})
                       .Finish();
  node.inputs = {kNone, graph.inputs[0], graph.inputs[1]};
  if (with_lengths) {
    node.inputs[0] = graph.AddValue("lengths", {DType::kInt64, true, {batch}});
    graph.inputs.push_back(node.inputs[0]);
  }
  node.outputs = {graph.AddValue("end"), graph.AddValue("sums")};
  node.regions = {{"body", body, {}}};
  graph.outputs = node.outputs;
  return graph;
}

TEST(UpgradeScan, ABatchOfOneIsTakenOffAndPutBack) {
  EXPECT_TRUE(VerifyGraph(RunningSum(1, false)).ok());
  const Graph graph = Upgraded(RunningSum(1, false));
  ASSERT_EQ(graph.nodes.size(), 5u);  // Squeeze twice, Scan, Unsqueeze twice
  const Node& scan = graph.nodes[2];
  EXPECT_EQ(scan.primitive.since_version(), 9);
  EXPECT_EQ(scan.inputs.size(), 2u);
  EXPECT_FALSE(scan.primitive.Has("directions"));
  const std::span<const int64_t> directions = scan.primitive.GetInts("scan_input_directions");
  EXPECT_EQ(std::vector<int64_t>(directions.begin(), directions.end()), (std::vector<int64_t>{1}));
  EXPECT_EQ(graph.nodes[0].kind(), OpKind::kSqueeze);
  EXPECT_EQ(graph.nodes[4].kind(), OpKind::kUnsqueeze);
}

TEST(UpgradeScan, SeveralSequencesAreRefusedByNameAndVersion) {
  Graph batch = RunningSum(2, false), lengths = RunningSum(1, true);
  const Status several = UpgradeGraph(batch), given = UpgradeGraph(lengths);
  EXPECT_EQ(several.code(), StatusCode::kNotSupported);
  EXPECT_NE(several.message().find("Scan version 8"), std::string::npos) << several.message();
  EXPECT_NE(given.message().find("Scan version 8 with sequence_lens"), std::string::npos) << given.message();
}

}  // namespace
}  // namespace deputy::host
