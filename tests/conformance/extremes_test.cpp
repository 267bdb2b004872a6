// Models of extreme form, through the public API: R32 ranks, R36 names, R37 graphs of very many nodes and inputs.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "small_model.hpp"

namespace deputy {
namespace {

// x + 1, transposed, of a tensor with this many axes.
Status RunRank(size_t rank) {
  std::vector<int64_t> dims(rank, 1);
  if (rank > 0) dims[0] = 2;
  if (rank > 1) dims[rank - 1] = 3;
  SmallModel model;
  model.Input("x", pb::TensorProto::FLOAT, dims);
  model.Float("one", 1);
  model.Node("Add", {"x", "one"}, {"more"});
  model.Node("Transpose", {"more"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = model.Load();
  if (!session.ok()) return session.status();
  Tensor x = Tensor::Allocate(DType::kFloat32, dims).value();
  std::span<float> values = x.mutable_values<float>();
  std::iota(values.begin(), values.end(), 0.0f);
  std::vector<Tensor> outputs;
  if (Status status = session->Predict({x}, &outputs); !status.ok()) return status;
  EXPECT_EQ(outputs[0].shape(), Shape(dims.rbegin(), dims.rend()));
  const std::span<const float> y = outputs[0].values<float>();
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t from = rank > 1 ? i % 2 * 3 + i / 2 : i;
    EXPECT_EQ(y[i], static_cast<float>(from + 1)) << "element " << i << " of rank " << rank;
  }
  return {};
}

TEST(Ranks, R32_UpTo64RunRight) {
  for (const size_t rank : {0, 1, 2, 7, 8, 9, 16, 33, 64}) {
    const Status status = RunRank(rank);
    EXPECT_TRUE(status.ok()) << rank << ": " << status.ToString();
  }
}

TEST(Ranks, R32_MoreThan64AreRefusedWithTheRank) {
  for (const size_t rank : {65, 70, 1000, 100'000}) {
    const Status status = RunRank(rank);
    EXPECT_NE(status.ToString().find("value 'x': has rank " + std::to_string(rank) + ", expected at most 64"),
              std::string::npos)
        << status.ToString();
  }
}

TEST(Ranks, R32_ThatTheRunMakesAreRefusedAsWell) {
  SmallModel model;
  model.Input("x", pb::TensorProto::FLOAT, {1});
  model.Input("shape", pb::TensorProto::INT64, {1000});
  model.Node("Reshape", {"x", "shape"}, {"many"});
  model.Node("Neg", {"many"}, {"y"});
  model.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = model.Load();
  EXPECT_NE(session.status().ToString().find("Reshape"), std::string::npos) << session.status().ToString();
  EXPECT_NE(session.status().ToString().find("expected at most 64"), std::string::npos) << session.status().ToString();
}

TEST(LongGraphs, R37_ManyNodesInAChainRun) {
  constexpr int kNodes = 100'000;
  SmallModel model;
  model.Input("v0", pb::TensorProto::FLOAT, {2});
  for (int i = 0; i < kNodes; ++i) model.Node("Neg", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  model.Output("v" + std::to_string(kNodes), pb::TensorProto::FLOAT);
  Result<Session> session = model.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  Tensor x = Tensor::Allocate(DType::kFloat32, {2}).value();
  x.mutable_values<float>()[1] = 3;
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session->Predict({x}, &outputs).ok());
  EXPECT_EQ(outputs[0].values<float>()[1], 3);
}

TEST(LongGraphs, R37_ManyInputsOfOneNodeRun) {
  constexpr int kInputs = 100'000;
  SmallModel model;
  model.Input("x", pb::TensorProto::FLOAT, {1});
  pb::NodeProto& node = model.Node("Concat", {}, {"y"});
  for (int i = 0; i < kInputs; ++i) node.add_input("x");
  pb::AttributeProto& axis = *node.add_attribute();
  axis.set_name("axis");
  axis.set_type(pb::AttributeProto::INT);
  axis.set_i(0);
  model.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = model.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session->Predict({Tensor::Allocate(DType::kFloat32, {1}).value()}, &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{kInputs}));
}

// The importer keeps names as they are; those who quote them later have to see to what they write.
TEST(Names, R36_AreEscapedAndCutInWhatIsSaidAfterTheImport) {
  const std::string name = "\x1b[31m%n%s" + std::string(1'000'000, 'A');
  const auto expect_printable = [](const Status& status, const char* says) {
    ASSERT_FALSE(status.ok());
    const std::string text = status.ToString();
    EXPECT_LT(text.size(), 2000u);
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_NE(text.find("\\x1b[31m%n%sAAA"), std::string::npos) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
  };
  SmallModel at_load;
  at_load.Input("x", pb::TensorProto::FLOAT, {2});
  at_load.Ints("shape", {1}, {3});
  at_load.Node("Reshape", {"x", "shape"}, {"y"}).set_name(name);
  at_load.Output("y", pb::TensorProto::FLOAT);
  expect_printable(at_load.Load().status(), "cannot reshape");
  SmallModel at_run;
  at_run.Input("x", pb::TensorProto::FLOAT, {2});
  at_run.Input("index", pb::TensorProto::INT64, {1});
  at_run.Node("Gather", {"x", "index"}, {"y"}).set_name(name);
  at_run.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = at_run.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  expect_printable(session->Predict({Tensor::Allocate(DType::kFloat32, {2}).value(), IntTensor({1}, {2})}, &outputs),
                   "index 2");
}

}  // namespace
}  // namespace deputy
