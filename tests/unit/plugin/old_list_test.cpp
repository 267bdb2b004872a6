// A plugin that was built when the list of operators ended earlier: it keeps getting what it understands, and is not
// offered what changed since.
#include <gtest/gtest.h>

#include "graph/upgrade/upgrade.hpp"
#include "plugin/discovery/registry.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::PatientScan;
using testing::TempFolder;

// The plugin's answers about nodes of one input and one output, float32 [2,3] unless said otherwise.
class OldList : public ::testing::Test {
 protected:
  OldList() {
    folder_.Add("old_list");
    registry_.Scan(PatientScan(folder_.path()));
    x_ = graph_.AddValue("x", {DType::kFloat32, true, {2, 3}});
    graph_.inputs = {x_};
  }

  ValueId Ints(const std::vector<int64_t>& values) {
    const Shape shape = {static_cast<int64_t>(values.size())};
    return graph_.AddConstant(
        "ints", Tensor::FromValues<int64_t>(DType::kInt64, shape, std::span<const int64_t>(values)).value());
  }

  Verdict Answer(const PrimitiveBuilder& builder, std::vector<ValueId> more = {}, DType dtype = DType::kFloat32) {
    graph_.values[x_].type.dtype = dtype;
    Node& node = graph_.nodes.emplace_back();
    node.primitive = builder.Finish();
    node.inputs = {x_};
    node.inputs.insert(node.inputs.end(), more.begin(), more.end());
    node.outputs = {graph_.AddValue("y", {dtype, true, {2, 3}})};
    graph_.outputs = {node.outputs[0]};
    const Status upgraded = UpgradeGraph(graph_);
    EXPECT_TRUE(upgraded.ok()) << upgraded.ToString();
    Result<std::unique_ptr<Delegate>> opened = registry_.Open({"old_list", "old", "", {}, nullptr});
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    std::vector<Verdict> verdicts;
    if (!opened.ok()) return {};
    const Status answered = (*opened)->QuerySupport(OfferAll(graph_), verdicts);
    EXPECT_TRUE(answered.ok()) << answered.ToString();
    return verdicts.empty() ? Verdict() : verdicts[0];
  }

  TempFolder folder_;
  PluginRegistry registry_;
  Graph graph_;
  ValueId x_ = kNone;
};

TEST_F(OldList, NodeOfANewerDefinitionThatMeansTheSameIsOffered) {
  EXPECT_TRUE(Answer(PrimitiveBuilder("", "Relu", 14)).supported());
}

TEST_F(OldList, NewAttributeThatSaysItsDefaultIsNoReason) {
  EXPECT_TRUE(Answer(PrimitiveBuilder("", "Reshape", 21).Set("allowzero", int64_t{0}), {Ints({3, 2})}).supported());
}

TEST_F(OldList, NewAttributeThatMattersIsRefused) {
  const Verdict verdict = Answer(PrimitiveBuilder("", "Reshape", 21).Set("allowzero", int64_t{1}), {Ints({3, 2})});
  EXPECT_EQ(verdict.reason, Reason::kDefinitionTooNew);
  EXPECT_EQ(verdict.detail, "Reshape-14 is newer than Reshape-5, the newest that this delegate was built for");
}

TEST_F(OldList, ChangedFormIsRefused) {
  const Verdict verdict = Answer(PrimitiveBuilder("", "ReduceMean", 18), {Ints({1})});
  EXPECT_EQ(verdict.reason, Reason::kDefinitionTooNew);
  EXPECT_EQ(verdict.detail, "ReduceMean-18 is newer than ReduceMean-11, the newest that this delegate was built for");
}

TEST_F(OldList, OldNodeWhoseFormChangedSinceIsRefusedToo) {
  EXPECT_EQ(Answer(PrimitiveBuilder("", "Unsqueeze", 11).Set("axes", std::vector<int64_t>{0})).reason,
            Reason::kDefinitionTooNew);
}

TEST_F(OldList, SameOperatorWithoutWhatChangedIsOffered) {
  EXPECT_TRUE(Answer(PrimitiveBuilder("", "ReduceMean", 18)).supported());
}

TEST_F(OldList, SoftmaxOverTheLastAxisIsOffered) {
  EXPECT_TRUE(Answer(PrimitiveBuilder("", "Softmax", 13).Set("axis", int64_t{-1})).supported());
}

TEST_F(OldList, SoftmaxOverAnotherAxisIsRefused) {
  EXPECT_EQ(Answer(PrimitiveBuilder("", "Softmax", 13).Set("axis", int64_t{0})).reason, Reason::kDefinitionTooNew);
}

TEST_F(OldList, NewElementTypeIsRefused) {
  EXPECT_EQ(Answer(PrimitiveBuilder("", "Relu", 14), {}, DType::kBFloat16).reason, Reason::kDefinitionTooNew);
}

// What the list of that time does not name is between the plugin and the model: here it says yes to everything.
TEST_F(OldList, OperatorThatCameLaterIsThePluginsOwnAffair) {
  EXPECT_TRUE(Answer(PrimitiveBuilder("", "HardSwish", 14)).supported());
}

}  // namespace
}  // namespace deputy::host
