// Models that ask for more than there is, through the public API: R30 shapes that explode, R31 loops that never end.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "small_model.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// The node, and how much it wants.
void ExpectTooLarge(const Status& status, const std::string& node) {
  ASSERT_FALSE(status.ok());
  const std::string text = status.ToString();
  EXPECT_TRUE(status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kModel ||
              status.code() == StatusCode::kInvalidArgument)
      << text;
  EXPECT_NE(text.find(node), std::string::npos) << text;
  EXPECT_NE(text.find_first_of("123456789"), std::string::npos) << text;
}

// 2^20 * 2^20 elements.
const std::vector<int64_t> kHuge = {1 << 20, 1 << 20};

struct Bomb {
  const char* type;
  std::vector<int64_t> values;
  bool takes_data;  // and the values second
};
const std::vector<Bomb>& Bombs() {
  static const auto* const bombs = new std::vector<Bomb>{{"ConstantOfShape", kHuge, false},
                                                         {"Expand", kHuge, true},
                                                         {"Tile", kHuge, true},
                                                         {"Pad", {0, 0, 1 << 20, 1 << 20}, true},
                                                         {"Resize", kHuge, true}};
  return *bombs;
}

std::vector<std::string> InputsOf(const Bomb& bomb) {
  if (!bomb.takes_data) return {"values"};
  if (bomb.type == std::string("Resize")) return {"data", "", "", "values"};
  return {"data", "values"};
}

TEST(Bombs, R30_KnownAtLoadAreRefusedBeforeTheRunUnattempted) {
  for (const Bomb& bomb : Bombs()) {
    SCOPED_TRACE(bomb.type);
    SmallModel model;
    model.Input("data", pb::TensorProto::FLOAT, {1, 1});
    model.Ints("values", {static_cast<int64_t>(bomb.values.size())}, bomb.values);
    model.Node(bomb.type, InputsOf(bomb), {"much"});
    model.Node("ReduceMax", {"much"}, {"y"});
    model.Output("y", pb::TensorProto::FLOAT);
    const Result<Session> session = model.Load();
    ExpectTooLarge(session.status(), bomb.type);
  }
}

TEST(Bombs, R30_OfConstantsAloneAreNotFolded) {
  SmallModel model;
  model.Float("data", 1);
  model.Ints("values", {2}, kHuge);
  model.Node("Expand", {"data", "values"}, {"much"});
  model.Node("ReduceMax", {"much"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  ExpectTooLarge(model.Load().status(), "Expand");
}

TEST(Bombs, R30_ThatOnlyTheRunKnowsAreRefusedByIt) {
  for (const Bomb& bomb : Bombs()) {
    SCOPED_TRACE(bomb.type);
    const auto count = static_cast<int64_t>(bomb.values.size());
    SmallModel model;
    model.Input("data", pb::TensorProto::FLOAT, {1, 1});
    model.Input("values", pb::TensorProto::INT64, {count});
    model.Node(bomb.type, InputsOf(bomb), {"much"});
    model.Node("ReduceMax", {"much"}, {"y"});
    model.Output("y", pb::TensorProto::FLOAT);
    Result<Session> session = model.Load();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    std::vector<Tensor> outputs;
    const Tensor data = Tensor::Allocate(DType::kFloat32, {1, 1}).value();
    ExpectTooLarge(session->Predict({data, IntTensor({count}, bomb.values)}, &outputs), bomb.type);
  }
}

TEST(Bombs, R30_RangeAndOneHotThatOnlyTheRunKnowsAreRefusedByIt) {
  SmallModel model;
  model.Input("n", pb::TensorProto::INT64, {});
  model.Ints("zero", {}, {0});
  model.Ints("one", {}, {1});
  model.Ints("off on", {2}, {0, 1});
  model.Node("OneHot", {"zero", "n", "off on"}, {"hot"});
  model.Node("Range", {"zero", "n", "one"}, {"all"});
  model.Output("all", pb::TensorProto::INT64);
  model.Output("hot", pb::TensorProto::INT64);
  Result<Session> session = model.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  for (const int64_t count : {int64_t{1} << 44, int64_t{1} << 62, kLargest}) {
    std::vector<Tensor> outputs;
    ExpectTooLarge(session->Predict({IntTensor({}, {count})}, &outputs), "OneHot");
  }
}

// A tensor without elements may have any extents beside its zero.
TEST(Bombs, R30_AttentionOverEndlessEmptyKeysEndsWithoutElements) {
  SmallModel model(23);
  model.Input("q", pb::TensorProto::FLOAT, {1, 1, 1, 0});
  for (const char* name : {"k", "v"}) {
    pb::TensorProto& tensor = *model.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::FLOAT);
    for (const int64_t extent : {int64_t{1}, int64_t{1}, int64_t{1} << 47, int64_t{0}}) tensor.add_dims(extent);
  }
  model.Node("Attention", {"q", "k", "v"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = model.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  const Status status = session->Predict({Tensor::Allocate(DType::kFloat32, {1, 1, 1, 0}).value()}, &outputs);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(outputs[0].shape(), (Shape{1, 1, 1, 0}));
}

TEST(Bombs, R30_ProductsThatNoNumberHoldsAreRefused) {
  SmallModel model;
  model.Input("data", pb::TensorProto::FLOAT, {1, 1, 1});
  model.Ints("values", {3}, {1 << 30, 1 << 30, 1 << 30});
  model.Node("Expand", {"data", "values"}, {"much"});
  model.Node("Relu", {"much"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  ExpectTooLarge(model.Load().status(), "Expand");
}

TEST(Bombs, R30_RegionsThatNoNumberCountsAreRefused) {
  SmallModel model;
  model.Input("images", pb::TensorProto::FLOAT, {1, 1, 2, 2});
  model.Input("regions", pb::TensorProto::FLOAT, {1, 4});
  model.Input("batches", pb::TensorProto::INT64, {1});
  pb::NodeProto& node = model.Node("RoiAlign", {"images", "regions", "batches"}, {"much"});
  for (const char* name : {"output_height", "output_width"}) {
    pb::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(pb::AttributeProto::INT);
    attribute.set_i(int64_t{1} << 40);
  }
  model.Node("Relu", {"much"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  ExpectTooLarge(model.Load().status(), "RoiAlign");
}

// Eight tensors of 2^50 bytes, the most that there are, alive together.
TEST(Bombs, R30_TensorsThatAddUpToMoreThanAMachineHasAreRefused) {
  SmallModel model;
  model.Input("data", pb::TensorProto::FLOAT, {1});
  model.Ints("values", {1}, {int64_t{1} << 48});
  for (const char* name : {"a", "b", "c", "d"}) model.Node("Expand", {"data", "values"}, {std::string(name) + "0"});
  for (const char* name : {"a", "b", "c", "d"}) model.Node("Neg", {std::string(name) + "0"}, {name});
  model.Node("Sum", {"a", "b", "c", "d", "a0", "b0", "c0", "d0"}, {"sum"});
  model.Node("ReduceMax", {"sum"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  const Result<Session> session = model.Load();
  ExpectTooLarge(session.status(), "1125899906842624");
}

// Adds one to its state as long as the condition, which it hands on; `trips` and `going` are inputs.
SmallModel EndlessLoop(bool has_steps) {
  SmallModel model;
  model.Input("trips", pb::TensorProto::INT64, {});
  model.Input("going", pb::TensorProto::BOOL, {});
  model.Input("start", pb::TensorProto::FLOAT, {});
  pb::NodeProto& loop = model.Node("Loop", {"trips", "going", "start"}, {"last"});
  pb::AttributeProto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  attribute.set_type(pb::AttributeProto::GRAPH);
  pb::GraphProto& body = *attribute.mutable_g();
  body.set_name("body");
  const std::vector<int64_t> scalar;
  SmallModel::Describe(*body.add_input(), "round", pb::TensorProto::INT64, &scalar);
  SmallModel::Describe(*body.add_input(), "condition", pb::TensorProto::BOOL, &scalar);
  SmallModel::Describe(*body.add_input(), "state", pb::TensorProto::FLOAT, &scalar);
  SmallModel::Describe(*body.add_output(), "condition", pb::TensorProto::BOOL, &scalar);
  SmallModel::Describe(*body.add_output(), has_steps ? "next" : "state", pb::TensorProto::FLOAT, &scalar);
  if (has_steps) SmallModel::Node(body, "Add", {"state", "start"}, {"next"});
  model.Output("last", pb::TensorProto::FLOAT);
  return model;
}

std::vector<Tensor> ForEver() {
  Tensor going = Tensor::Allocate(DType::kBool, {}).value();
  *static_cast<uint8_t*>(going.mutable_data()) = 1;
  return {IntTensor({}, {kLargest}), going, Tensor::Allocate(DType::kFloat32, {}).value()};
}

TEST(EndlessLoop, R31_TimeoutEndsItAndNamesTheNode) {
  for (const bool has_steps : {true, false}) {
    Result<Session> session = EndlessLoop(has_steps).Load();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    session->SetTimeout(std::chrono::milliseconds(20));
    std::vector<Tensor> outputs;
    const Status status = session->Predict(ForEver(), &outputs);
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.ToString();
    EXPECT_NE(status.ToString().find("the Loop"), std::string::npos) << status.ToString();
  }
}

TEST(EndlessLoop, R31_CancelEndsItAndTheSessionGoesOn) {
  Result<Session> session = EndlessLoop(true).Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  const Status status = [&] {
    const Canceller canceller([&] { session->Cancel(); });
    return session->Predict(ForEver(), &outputs);
  }();
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status.ToString();
  EXPECT_NE(status.ToString().find("the Loop"), std::string::npos) << status.ToString();
  std::vector<Tensor> inputs = ForEver();
  inputs[0] = IntTensor({}, {3});
  EXPECT_TRUE(session->Predict(inputs, &outputs).ok());
}

TEST(Timeout, R31_RunThatEndsInTimeIsNotTouched) {
  Result<Session> session = EndlessLoop(true).Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  session->SetTimeout(std::chrono::hours(1));
  std::vector<Tensor> inputs = ForEver(), outputs;
  inputs[0] = IntTensor({}, {3});
  EXPECT_TRUE(session->Predict(inputs, &outputs).ok());
}

}  // namespace
}  // namespace deputy
