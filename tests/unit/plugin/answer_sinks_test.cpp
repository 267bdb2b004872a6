// Answers of a plugin in the structs of the ABI: what is read of them, and what cannot be read.
#include "plugin/proxy/answer_sinks.hpp"

#include <gtest/gtest.h>

#include "plugin/checks/handles.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

class AnswerSinks : public ::testing::Test {
 protected:
  std::string EstimateFault() {
    EstimateCollector collector(view_, nodes_);
    const deputy_estimate_sink sink = SinkOf(collector);
    sink.answer(sink.self, &estimate_);
    taken_ = collector.estimate();
    return collector.Faults();
  }
  std::string ClaimFault() {
    ClaimCollector collector(view_, {});
    const deputy_claim_sink sink = SinkOf(collector);
    const StatusHandle refused{sink.add(sink.self, &claim_)};
    EXPECT_EQ(refused == nullptr ? "" : refused->message, collector.Faults());
    return collector.Faults();
  }

  const Graph graph_ = testing::ReluSigmoid();
  const GraphView view_ = OfferAll(graph_);
  const std::vector<NodeId> nodes_{0, 1};
  deputy_estimate estimate_{sizeof estimate_, 1, {"why not", 7}, 1500, DEPUTY_AMOUNT_UNKNOWN, 0, nodes_.data(), 1, 0};
  deputy_claim claim_{sizeof claim_, 2, nodes_.data(), nullptr, nullptr, 0, 0, nullptr};
  Estimate taken_;
};

TEST_F(AnswerSinks, KnownAmountsAreReadAndUnknownOnesAreNot) {
  EXPECT_EQ(EstimateFault(), "");
  EXPECT_EQ(taken_.latency_ns, 1500u);
  EXPECT_FALSE(taken_.memory_bytes);
  EXPECT_EQ(taken_.reason, "why not");
  EXPECT_EQ(taken_.give_back, std::vector<NodeId>{0});
}

TEST_F(AnswerSinks, ArrayThatDoesNotFitItsCountIsNotRead) {
  estimate_.give_back_count = claim_.node_count = 4000000000u;
  EXPECT_EQ(EstimateFault(), "it gives back 4000000000 of 2 nodes");
  EXPECT_EQ(ClaimFault(), "a claim has 4000000000 nodes, the graph has 2");
  estimate_.give_back = nullptr;
  claim_.output_count = 1;
  EXPECT_EQ(EstimateFault(), "it counts nodes to give back that it does not list");
  EXPECT_EQ(ClaimFault(), "a claim counts inputs or outputs that it does not list");
}

TEST_F(AnswerSinks, TextAndTruthValueAreChecked) {
  estimate_.reason = {"\xff", 1};
  EXPECT_EQ(EstimateFault(), "its reason is not UTF-8");
  estimate_.feasible = 2;
  EXPECT_EQ(EstimateFault(), "'feasible' must be 0 or 1, got 2");
}

TEST_F(AnswerSinks, StructWithoutItsSizeIsAFault) {
  estimate_.struct_size = claim_.struct_size = 8;
  EXPECT_EQ(EstimateFault(), "an estimate has an invalid struct_size");
  EXPECT_EQ(ClaimFault(), "a claim has an invalid struct_size");
}

}  // namespace
}  // namespace deputy::host
