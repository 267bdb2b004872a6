// Where the times of nodes and transfers come from.
#include "partition/measured_costs.hpp"

#include <gtest/gtest.h>

#include "support/borrowed_delegate.hpp"
#include "support/test_delegate.hpp"
#include "support/test_graph.hpp"

namespace deputy::host {
namespace {

// x [4,8] -> MatMul with w [8,2] -> Relu.
class MeasuredCostsTest : public testing::Test {
 protected:
  MeasuredCostsTest() {
    const ValueId x = graph_.AddValue("x", {DType::kFloat32, true, {4, 8}});
    const ValueId w = graph_.AddConstant("w", *Tensor::Allocate(DType::kFloat32, {8, 2}));
    const ValueId m = graph_.AddValue("m", {DType::kFloat32, true, {4, 2}});
    const ValueId y = graph_.AddValue("y", {DType::kFloat32, true, {4, 2}});
    graph_.inputs = {x};
    graph_.outputs = {y};
    graph_.nodes = {MakeNode("MatMul", 13, {x, w}, {m}), MakeNode("Relu", 14, {m}, {y})};
  }
  double Ns(size_t delegate, NodeId node) const { return Costs().NodeNs(delegate, node); }
  MeasuredCosts Costs() const { return MeasuredCosts(graph_, delegates_, table_); }

  static constexpr NodeId kMatMul = 0, kRelu = 1;
  static constexpr ValueId kBetween = 2;  // of 32 bytes
  static constexpr size_t kLibrary = 0, kCpu = 1;
  Graph graph_;
  CostTable table_;
  TestDelegate library_{"library", {"*"}}, cpu_{"cpu", {"*"}, /*one_node=*/true};
  const HostedDelegate delegates_[2] = {Borrowed(library_), Borrowed(cpu_)};
};

TEST_F(MeasuredCostsTest, DefaultsAreThoseOfTheKindOfDelegate) {
  EXPECT_DOUBLE_EQ(Ns(kCpu, kMatMul), 100 + 64 * 0.1 + (128 + 64 + 32) * 0.1);
  EXPECT_DOUBLE_EQ(Ns(kLibrary, kMatMul), 200 + 64 * 0.05 + (128 + 64 + 32) * 0.1);
  EXPECT_DOUBLE_EQ(Ns(kCpu, kRelu), 100 + 64 * 0.1);
  EXPECT_DOUBLE_EQ(Costs().TransferNs(kCpu, kLibrary, kBetween), 200 + 32 * 0.02);
  EXPECT_DOUBLE_EQ(Costs().TransferNs(kLibrary, kCpu, kBetween), 200 + 32 * 0.02);
  EXPECT_EQ(Costs().TransferNs(kLibrary, kLibrary, kBetween), 0);
}

TEST_F(MeasuredCostsTest, AnEstimateReplacesTheDefault) {
  library_.estimate = [](const PartitionSpec&) {
    Estimate estimate;
    estimate.latency_ns = 77;
    return estimate;
  };
  EXPECT_DOUBLE_EQ(Ns(kLibrary, kRelu), 77);
}

TEST_F(MeasuredCostsTest, AnEstimateThatIsNoneLeavesTheDefault) {
  const double otherwise = Ns(kLibrary, kRelu);
  const std::vector<std::function<Result<Estimate>()>> useless = {[] { return Estimate(); },
                                                                  [] { return Status(StatusCode::kPlugin, "no idea"); },
                                                                  [] {
                                                                    Estimate estimate;
                                                                    estimate.feasible = false;
                                                                    estimate.latency_ns = 1;
                                                                    return estimate;
                                                                  },
                                                                  [] {
                                                                    Estimate estimate;
                                                                    estimate.give_back = {0};
                                                                    estimate.latency_ns = 1;
                                                                    return estimate;
                                                                  }};
  for (const auto& estimate : useless) {
    library_.estimate = [&](const PartitionSpec&) { return estimate(); };
    EXPECT_DOUBLE_EQ(Ns(kLibrary, kRelu), otherwise);
  }
}

TEST_F(MeasuredCostsTest, MeasurementsReplaceEstimatesAndRatesStandInForOtherOperators) {
  library_.estimate = [](const PartitionSpec&) -> Result<Estimate> {
    ADD_FAILURE() << "asked for an estimate";
    return Estimate();
  };
  table_.Add("library", "Relu", DType::kFloat32, {WorkUnit::kBytes, 64}, 30);
  table_.Add("library", "Conv", DType::kFloat32, {WorkUnit::kMultiplyAdds, 1000}, 500);
  EXPECT_DOUBLE_EQ(Ns(kLibrary, kRelu), 30);
  EXPECT_DOUBLE_EQ(Ns(kLibrary, kMatMul), 32);
  EXPECT_DOUBLE_EQ(Ns(kCpu, kRelu), 100 + 64 * 0.1) << "the CPU was not measured";
}

TEST_F(MeasuredCostsTest, ATransferBetweenTwoDelegatesCostsBoth) {
  TestDelegate other("other", {"*"});
  const HostedDelegate three[] = {Borrowed(library_), Borrowed(other), Borrowed(cpu_)};
  table_.AddTransfer("other", 32, 900);
  const MeasuredCosts costs(graph_, three, table_);
  EXPECT_DOUBLE_EQ(costs.TransferNs(0, 1, kBetween), 200 + 32 * 0.02 + 900);
  EXPECT_DOUBLE_EQ(costs.TransferNs(1, 2, kBetween), 900);
}

}  // namespace
}  // namespace deputy::host
