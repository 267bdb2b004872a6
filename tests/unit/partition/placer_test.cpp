#include "partition/placer.hpp"

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "graph/graph.hpp"
#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

TEST(Placer, AllSupportedIsOnePartition) {
  const TestGraph test = Chain("SSSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1", "n2", "n3"}}));
  EXPECT_EQ(placed->partitions.size(), 1u);
}

// n0 reads a sequence, n1 makes an optional; n2 has to do with tensors alone.
TEST(Placer, NodesWithOtherValuesThanTensorsAreOfferedToTheCpuAlone) {
  TestGraph test = Chain("SSS");
  test.graph.values[test.Value("x")].type.kind = ValueKind::kSequence;
  test.graph.values[test.Value("n1")].type.kind = ValueKind::kOptionalTensor;
  test.Input("y").Node("n3", "S", {"y"}).Output("n3");
  TestDelegate npu("npu", {"*"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n3"}}));
  EXPECT_EQ(npu.asked.count(0) + npu.asked.count(1) + npu.asked.count(2), 0u);
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kNoTensor);
  EXPECT_EQ(placed->verdicts[0][0].detail, "'x' is sequence of float32 [4]");
  EXPECT_EQ(placed->verdicts[0][2].detail, "'n1' is optional float32 [4]");
}

TEST(Placer, NoneSupportedLeavesEverythingToTheCpu) {
  const TestGraph test = Chain("UU");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n0"}, {"n1"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kOperatorUnknown);
}

TEST(Placer, OneNode) {
  const TestGraph test = Chain("S");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->partitions.front().spec.inputs, test.graph.inputs);
  EXPECT_EQ(placed->partitions.front().spec.outputs, test.graph.outputs);
}

TEST(Placer, AGraphWithoutNodesHasNoPartitions) {
  TestGraph test;
  test.Input("x").Output("x");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_TRUE(placed->partitions.empty());
}

TEST(Placer, InterleavedChainsGiveOnePartition) {
  TestGraph test;
  test.Input("x").Input("y");
  test.Node("a1", "S", {"x"}).Node("b1", "U", {"y"});
  test.Node("a2", "S", {"a1"}).Node("b2", "U", {"b1"});
  test.Node("a3", "S", {"a2"}).Node("b3", "U", {"b2"}).Output("a3").Output("b3");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"a1", "a2", "a3"}}));
}

TEST(Placer, DiamondWithAnUnsupportedArmIsCutAroundIt) {
  TestGraph test;
  test.Input("x").Node("top", "S", {"x"}).Node("left", "S", {"top"}).Node("right", "U", {"top"});
  test.Node("bottom", "S", {"left", "right"}).Output("bottom");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0).size(), 2u);
}

TEST(Placer, ABranchThatCanWaitJoinsTheLaterPartition) {
  TestGraph test;
  test.Input("x").Input("y").Node("u", "U", {"x"}).Node("late", "S", {"u"}).Node("free", "S", {"y"});
  test.Output("late").Output("free");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"late", "free"}}));
}

TEST(Placer, ANodeJoinsThePartitionOfItsOnlyReader) {
  TestGraph test;
  test.Input("x").Node("first", "S", {"x"}).Node("free", "S", {"x"}).Node("u", "U", {"first"});
  test.Node("last", "S", {"u", "free"}).Output("last");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"first"}, {"free", "last"}}));
}

TEST(Placer, MutuallyDependentConvexPairsAreNotBothMerged) {
  TestGraph test;  // a1 -> b1 and b2 -> a2: each pair is convex, both merged would wait for each other
  test.Input("x").Input("y").Node("a1", "A", {"x"}).Node("b2", "B", {"y"}).Node("b1", "B", {"a1"});
  test.Node("a2", "A", {"b2"}).Output("b1").Output("a2");
  TestDelegate a("a", {"A"}), b("b", {"B"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&a, &b, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(placed->partitions.size(), 3u);
}

TEST(Placer, TwoClaimsThatWaitForEachOtherLoseTheSecond) {
  TestGraph test;
  test.Input("x").Input("y").Node("a1", "A", {"x"}).Node("b2", "B", {"y"}).Node("b1", "B", {"a1"});
  test.Node("a2", "A", {"b2"}).Output("b1").Output("a2");
  TestDelegate a("a", {}), b("b", {}), cpu = TestCpu();
  a.claims = {{0, 3}};
  b.claims = {{1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&a, &b, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"a1", "a2"}}));
  EXPECT_TRUE(PartitionsOf(test.graph, *placed, 1).empty());
  EXPECT_EQ(placed->verdicts[1][1].reason, Reason::kWouldMakeCycle);
  EXPECT_EQ(b.open_claims, 0);
  EXPECT_EQ(a.open_claims, 1);
}

TEST(Placer, TwoClaimsOfOneDelegateThatWaitForEachOtherDoNotGrowTogether) {
  TestGraph test;
  test.Input("x").Input("y").Node("a1", "A", {"x"}).Node("b2", "B", {"y"}).Node("b1", "B", {"a1"});
  test.Node("a2", "A", {"b2"}).Output("b1").Output("a2");
  TestDelegate npu("npu", {}), cpu = TestCpu();
  npu.claims = {{0, 3}, {1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"a1", "a2"}}));
  EXPECT_EQ(npu.open_claims, 1);
}

TEST(Placer, AClaimThatIsNotConvexIsRefused) {
  const TestGraph test = Chain("SUS");
  TestDelegate npu("npu", {}), cpu = TestCpu();
  npu.claims = {{0, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->partitions.size(), 3u);
  EXPECT_EQ(npu.open_claims, 0);
}

TEST(Placer, R99_AClaimOfUnknownOrDuplicateNodesIsRefused) {
  const TestGraph test = Chain("SS");
  for (const std::vector<NodeId>& bad : {std::vector<NodeId>{7}, std::vector<NodeId>{0, 0}, std::vector<NodeId>{}}) {
    TestDelegate npu("npu", {}), cpu = TestCpu();
    npu.claims = {bad};
    std::string warning;
    SetLogSink([&](LogLevel, std::string_view, std::string_view message) { warning = message; });
    const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
    SetLogSink(nullptr);
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(warning, "npu: a claim names a node twice, or one that was not offered; refused");
    EXPECT_TRUE(PartitionsOf(test.graph, *placed, 0).empty());
    EXPECT_EQ(npu.open_claims, 0);
  }
}

TEST(Placer, R99_OverlappingClaimsKeepTheFirst) {
  const TestGraph test = Chain("SSS");
  TestDelegate npu("npu", {}), cpu = TestCpu();
  npu.claims = {{0, 1}, {1, 2}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1"}}));
  EXPECT_EQ(npu.open_claims, 1);
}

TEST(Placer, AClaimWithAnotherBorderThanItsNodesGoesToTheNextDelegate) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {}), dsp("dsp", {"*"}), cpu = TestCpu();
  npu.claims = {{0, 1}};
  npu.claimed_inputs = test.graph.inputs;
  npu.claimed_outputs = {test.graph.nodes[0].outputs[0]};  // not what leaves the claim
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &dsp, &cpu});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n0", "n1"}}));
  EXPECT_EQ(placed->verdicts[0][0].detail, "a claim names other inputs or outputs than its nodes have");
  EXPECT_EQ(npu.open_claims, 0);
}

TEST(Placer, NeighbouringClaimsOfOneDelegateStayApart) {
  const TestGraph test = Chain("SSSS");
  TestDelegate npu("npu", {}), cpu = TestCpu();
  npu.claims = {{0, 1}, {2, 3}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1"}, {"n2", "n3"}}));
}

// Seed rows 19, 30.
TEST(Placer, ProposingDelegatesSeeOfferedNodesInLongRuns) {
  TestGraph test;
  test.Input("x").Input("y");
  test.Node("a1", "A", {"x"}).Node("b1", "B", {"y"}).Node("a2", "A", {"a1"}).Node("b2", "B", {"b1"});
  test.Output("a2").Output("b2");
  TestDelegate a("a", {"A"}), b("b", {}), cpu = TestCpu();
  b.claims = {{1, 3}};
  ASSERT_TRUE(PlaceOn(test.graph, {&a, &b, &cpu}).ok());
  EXPECT_EQ(b.last_order, (std::vector<NodeId>{1, 3, 0, 2}));
}

TEST(Placer, EveryDelegateIsAskedAboutEveryNodeOnce) {
  const TestGraph test = Chain("SATS");
  TestDelegate first("first", {"S"}), second("second", {"A", "S"}), cpu = TestCpu();
  const std::vector<HostedDelegate> delegates = {Borrowed(first), Borrowed(second), Borrowed(cpu)};
  PlacementOptions options;
  SupportMatrix support;
  ASSERT_TRUE(Place(test.graph, delegates, options, support, /*may_overlap=*/true).ok());
  options.refused[{&test.graph, 0, 0}] = {Reason::kRefusedAtCompile, "too hot"};
  const Result<Placement> placed = Place(test.graph, delegates, options, support, /*may_overlap=*/true);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->delegate_of(0), 1u);
  for (const TestDelegate* delegate : {&first, &second, &cpu})
    for (NodeId node = 0; node < 4; ++node) EXPECT_EQ(delegate->asked.at(node), 1) << delegate->name() << " " << node;
}

TEST(Placer, DelegatesBehindTheOwnerHaveTheirOwnReasons) {
  const TestGraph test = Chain("SA");
  TestDelegate first("first", {"S", "A"}), second("second", {"A"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&first, &second, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->verdicts[1][0].reason, Reason::kOperatorUnknown);
  EXPECT_EQ(placed->verdicts[1][1].reason, Reason::kTakenByOther);
  EXPECT_EQ(placed->verdicts[2][0].reason, Reason::kTakenByOther);
}

// Seed row 23.
TEST(Placer, OrderDecidesBetweenTwoThatTakeTheSameNode) {
  const TestGraph test = Chain("SS");
  TestDelegate first("first", {"S"}), second("second", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&first, &second, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->delegate_of(0), 0u);
  EXPECT_EQ(placed->verdicts[1][0].reason, Reason::kTakenByOther);
  EXPECT_EQ(placed->verdicts[1][0].detail, "first");
  const Result<Placement> swapped = PlaceOn(test.graph, {&second, &first, &cpu});
  ASSERT_TRUE(swapped.ok());
  EXPECT_EQ(swapped->verdicts[1][0].detail, "second");
}

TEST(Placer, ClustersUnderMinNodesGoToTheNextDelegate) {
  const TestGraph test = Chain("SUSS");
  TestDelegate npu("npu", {"S"}), dsp("dsp", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &dsp, &cpu}, {}, {.min_nodes = 2});
  ASSERT_TRUE(placed.ok()) << placed.status().ToString();
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n2", "n3"}}));
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 1), (Names{{"n0"}}));
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kPartitionTooSmall);
}

TEST(Placer, PartitionsWithTheMinimumOfWorkStay) {
  TestGraph test;  // 4 multiply-adds for each of the 4 elements
  test.Input("x").Input("w").Node("product", "MatMul", {"x", "w"}).Output("product");
  TestDelegate npu("npu", {"*"}), cpu = TestCpu();
  for (const uint64_t least : {16, 17}) {
    const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, {}, {.min_multiply_adds = least});
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(PartitionsOf(test.graph, *placed, 0).size(), least == 16 ? 1u : 0u) << least;
  }
}

TEST(Placer, ARuleForADomainLeavesOthers) {
  const TestGraph test = Chain("SS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  PlacementOptions options;
  options.rules = {{{}, {}, {"com.vendor"}, "cpu", {}}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0", "n1"}}));
}

TEST(Placer, RulesMatchAnUnnamedNodeByItsNameInReports) {
  TestGraph test = Chain("SSS");
  test.graph.nodes[1].name.clear();
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  PlacementOptions options;
  options.rules = {{{"node ?"}, {}, {}, "cpu", {}}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kSupported);
  EXPECT_EQ(placed->verdicts[0][1].detail, "a placement rule sends it to 'cpu'");
}

// Seed rows 17, 24, 27.
TEST(Placer, RulesByOperatorAndByNameKeepNodesAway) {
  const TestGraph test = Chain("SSS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  PlacementOptions options;
  options.rules = {{{"n2"}, {}, {}, "cpu", {}}};
  const DelegateLimits limits{.only_nodes = {"n*"}, .deny_nodes = {"n1"}};
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options, limits);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(PartitionsOf(test.graph, *placed, 0), (Names{{"n0"}}));
  EXPECT_EQ(placed->verdicts[0][1].reason, Reason::kDeniedByRule);
  EXPECT_EQ(placed->verdicts[0][2].detail, "a placement rule sends it to 'cpu'");
}

// Seed row 31.
TEST(Placer, WithoutFallbackUnplacedNodesAreListed) {
  const TestGraph test = Chain("SUS");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  PlacementOptions options;
  options.cpu_fallback = false;
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu}, options);
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(placed.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(placed.status().message().find("node 'n1' (U); npu: operator unknown"), std::string::npos)
      << placed.status().message();
}

TEST(Placer, AValueReadInsideAndOutsideIsAnOutput) {
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "S", {"a"}).Node("c", "U", {"a"}).Output("b").Output("c");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->partitions[placed->partition_of[0]].spec.outputs,
            (std::vector<ValueId>{test.Value("a"), test.Value("b")}));
}

TEST(Placer, AModelOutputThatIsAlsoReadInsideIsAnOutput) {
  TestGraph test;
  test.Input("x").Node("a", "S", {"x"}).Node("b", "S", {"a"}).Output("a").Output("b");
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->partitions[0].spec.outputs, (std::vector<ValueId>{test.Value("a"), test.Value("b")}));
}

TEST(Placer, AConstantIsNoInput) {
  TestGraph test;
  test.Input("x").Node("a", "S", {"x", "w"}).Output("a");
  Value& weight = test.graph.values[test.Value("w")];
  weight.constant = *Tensor::Allocate(DType::kFloat32, {4});
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->partitions[0].spec.inputs, test.graph.inputs);
}

TEST(Placer, ANodeOfUnknownExtentsIsOfferedOnlyToThoseWhoTakeThem) {
  TestGraph test = Chain("SS");
  test.graph.values[test.Value("n0")].type.dims = {kUnknownDim};
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kShapeDynamic);
  EXPECT_EQ(npu.asked.size(), 0u);
}

TEST(Placer, ANodeThatMakesUnknownExtentsIsOfferedToThoseThatTakeThem) {
  TestGraph test = Chain("SS");
  test.graph.values[test.Value("n0")].type.dims = {kUnknownDim};
  TestDelegate fixed("fixed", {"S"}), npu("npu", {"S"}), cpu = TestCpu();
  npu.dynamic_shapes = true;
  const Result<Placement> placed = PlaceOn(test.graph, {&fixed, &npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kShapeDynamic);
  EXPECT_EQ(placed->verdicts[0][0].detail, "needs static shapes, output 'n0' has none");
  EXPECT_TRUE(fixed.asked.empty());
  EXPECT_EQ(npu.asked, (std::map<NodeId, int>{{0, 1}, {1, 1}}));
}

TEST(Placer, AnOutputOfUnknownRankIsOfferedToTheCpuAlone) {
  TestGraph test = Chain("SS");
  test.graph.values[test.Value("n0")].type.ranked = false;
  test.graph.values[test.Value("n0")].type.dims.clear();
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  npu.dynamic_shapes = true;
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->verdicts[0][0].detail, "output 'n0' has no known rank");
  EXPECT_TRUE(placed->verdicts[0][1].supported());
}

// Rule 39 of sdk/docs/requirements.md.
TEST(Placer, ANodeOfANewerDefinitionThanThePluginsIsNotOffered) {
  TestGraph test({{"old", "Relu"}, {"new", "Relu"}}, {DType::kFloat32, true, {2, 4}});
  TestDelegate npu("npu", {"*"}), cpu = TestCpu();
  npu.newest = 5;  // Relu-6 is the oldest definition with the meaning of these nodes
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_TRUE(npu.asked.empty());
  EXPECT_EQ(placed->verdicts[0][0].reason, Reason::kDefinitionTooNew);
  EXPECT_NE(placed->verdicts[0][0].detail.find("is newer than version 5 of its operators"), std::string::npos);
}

TEST(Placer, AHundredThousandPartitions) {
  std::string ops;
  for (int i = 0; i < 50000; ++i) ops += "SU";
  const TestGraph test = Chain(ops);
  TestDelegate npu("npu", {"S"}), cpu = TestCpu();
  const Result<Placement> placed = PlaceOn(test.graph, {&npu, &cpu});
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ(placed->partitions.size(), 100000u);
}

TEST(Placer, TheSameInputGivesTheSamePlacement) {
  TestGraph test;
  test.Input("x");
  uint32_t state = 12345;
  const auto next = [&state](uint32_t bound) { return (state = state * 1664525u + 1013904223u) / 65536u % bound; };
  std::vector<std::string> names = {"x"};
  for (int i = 0; i < 400; ++i) {
    const std::string name = "n" + std::to_string(i);
    const char* kinds[] = {"A", "B", "U"};
    test.Node(name, kinds[next(3)],
              {names[next(static_cast<uint32_t>(names.size()))], names[next(static_cast<uint32_t>(names.size()))]});
    names.push_back(name);
  }
  test.Output("n399");
  TestDelegate a("a", {"A"}), b("b", {"A", "B"}), cpu = TestCpu();
  const Result<Placement> one = PlaceOn(test.graph, {&a, &b, &cpu});
  const Result<Placement> two = PlaceOn(test.graph, {&a, &b, &cpu});
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(one->partition_of, two->partition_of);
}

}  // namespace
}  // namespace deputy::host
