// Policy `cost` from the table to the placement and its reasons.
#include "partition/cost_policy.hpp"

#include <gtest/gtest.h>

#include "unit/partition/place_on.hpp"

namespace deputy::host {
namespace {

// Values have 16 bytes, so a node of one input has 32 bytes of work.
class CostPolicyTest : public testing::Test {
 protected:
  CostPolicyTest() {
    Set("npu", "S", 2000);
    Set("cpu", "S", 4000);
    Set("npu", "T", 9000);
    Set("cpu", "T", 1000);
    table_->AddTransfer("npu", 16, 1500);
  }
  void Set(const char* delegate, const char* op, double ns) {
    table_->Add(delegate, op, DType::kFloat32, {WorkUnit::kBytes, 32}, ns);
  }
  Placement Place(const std::string& ops, const std::vector<Delegate*>& delegates) {
    options_.policy = std::make_shared<CostPolicy>(table_);
    test_ = Chain(ops);
    Result<Placement> placed = PlaceOn(test_.graph, delegates, options_, limits_);
    EXPECT_TRUE(placed.ok()) << placed.status().ToString();
    return placed.ok() ? std::move(placed).value() : Placement();
  }
  std::string OwnersOf(const std::string& ops) {
    const Placement placement = Place(ops, {&npu_, &cpu_});
    std::string owners;
    for (NodeId node = 0; node < placement.partition_of.size(); ++node)
      owners += placement.delegate_of(node) == 0 ? 'n' : 'c';
    return owners;
  }

  std::shared_ptr<CostTable> table_ = std::make_shared<CostTable>();
  PlacementOptions options_;
  DelegateLimits limits_;  // of the first delegate
  TestGraph test_;
  TestDelegate npu_{"npu", {"S", "T"}}, cpu_ = TestCpu();
};

TEST_F(CostPolicyTest, NodesGoWhereTheyAndTheirTransfersCostLeast) {
  EXPECT_EQ(OwnersOf("STSSS"), "ccnnn");  // a single node saves less than its transfers cost
  EXPECT_EQ(OwnersOf("SSSTSSS"), "nnncnnn");
  EXPECT_EQ(OwnersOf("S"), "c");
}

TEST_F(CostPolicyTest, TheReasonNamesBothCosts) {
  const Placement placement = Place("SSSTSSS", {&npu_, &cpu_});
  const Verdict& slower = placement.verdicts[0][3];
  EXPECT_EQ(slower.reason, Reason::kMoreExpensive);
  EXPECT_EQ(slower.detail, "9.0 us here, 4.0 us on cpu, with transfers");
  EXPECT_EQ(placement.verdicts[1][1].reason, Reason::kMoreExpensive);
  EXPECT_EQ(placement.verdicts[1][1].detail, "7.0 us here, 2.0 us on npu, with transfers");
  EXPECT_EQ(placement.verdicts[0][0].reason, Reason::kSupported);
}

TEST_F(CostPolicyTest, UnsupportedNodesKeepTheirReason) {
  EXPECT_EQ(OwnersOf("SSSUSSS"), "nnncnnn");
  EXPECT_EQ(Place("SSSUSSS", {&npu_, &cpu_}).verdicts[0][3].reason, Reason::kOperatorUnknown);
}

TEST_F(CostPolicyTest, RulesAreStrongerThanCosts) {
  options_.rules.push_back({{"n3"}, {}, {}, "npu", {}});
  EXPECT_EQ(OwnersOf("SSSTSSS"), "nnnnnnn");
  options_.rules = {{{"n0"}, {}, {}, "", {"npu"}}};
  EXPECT_EQ(OwnersOf("SSSTSSS"), "cnncnnn");
}

TEST_F(CostPolicyTest, RequiredDelegateKeepsWhatItSupports) {
  limits_.required = true;
  EXPECT_EQ(OwnersOf("STUS"), "nncn");
}

TEST_F(CostPolicyTest, WithoutFallbackTheCpuDoesNotCompete) {
  options_.cpu_fallback = false;
  EXPECT_EQ(OwnersOf("STS"), "nnn");
}

TEST_F(CostPolicyTest, RejectedNodesGoToTheNextCheapestDelegate) {
  TestDelegate dsp("dsp", {"S"}), gpu("gpu", {"S"});
  Set("dsp", "S", 3000);
  Set("gpu", "S", 2800);
  table_->AddTransfer("dsp", 16, 100);
  table_->AddTransfer("gpu", 16, 100);
  limits_.min_nodes = 9;
  const Placement placement = Place("SSSSS", {&npu_, &dsp, &gpu, &cpu_});
  EXPECT_EQ(placement.delegate_of(0), 2u);
  EXPECT_EQ(placement.verdicts[0][0].reason, Reason::kPartitionTooSmall);
  EXPECT_EQ(placement.verdicts[1][0].reason, Reason::kMoreExpensive);
}

TEST_F(CostPolicyTest, DelegatesThatProposeAreAskedAsUnderPriority) {
  npu_.claims = {{0, 1}};
  EXPECT_EQ(OwnersOf("TTT"), "nnc");
}

TEST_F(CostPolicyTest, EstimatesStandInForMeasurements) {
  TestDelegate dsp("dsp", {"S"});
  int queries = 0;
  dsp.estimate = [&](const PartitionSpec& partition) {
    EXPECT_EQ(partition.inputs.size(), 1u);
    EXPECT_EQ(partition.outputs.size(), 1u);
    queries += partition.nodes.size() == 1 ? 1 : 0;
    Estimate estimate;
    estimate.latency_ns = 500;
    return estimate;
  };
  const Placement placement = Place("SSSSSSTSSSSSS", {&dsp, &cpu_});
  EXPECT_EQ(placement.delegate_of(0), 0u);
  EXPECT_EQ(placement.verdicts[1][0].detail, "4.2 us here, 0.7 us on dsp, with transfers");
  EXPECT_EQ(queries, 1) << "nodes that look alike are estimated once";
}

TEST_F(CostPolicyTest, DefaultsFavorNoTransferForNodesWithoutProducts) {
  *table_ = CostTable();
  EXPECT_EQ(OwnersOf("SSS"), "ccc");
}

}  // namespace
}  // namespace deputy::host
