// Models that ask for more than there is, through the public API: R30 shapes that explode, R31 loops that never end,
// R32 ranks, R37 graphs of very many nodes and inputs.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "deputy/deputy.hpp"

namespace deputy {
namespace {

namespace pb = ::onnx;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

// A model under construction.
class Bytes {
 public:
  explicit Bytes(int64_t opset = 18) {
    model_.set_ir_version(10);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->set_name("limits");
  }
  pb::GraphProto& graph() { return *model_.mutable_graph(); }

  // Without `dims` the shape is not known.
  static void Describe(pb::ValueInfoProto& value, const std::string& name, int32_t type,
                       const std::vector<int64_t>* dims) {
    value.set_name(name);
    pb::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    if (dims == nullptr) return;
    tensor.mutable_shape();
    for (const int64_t extent : *dims) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }
  void Input(const std::string& name, int32_t type, const std::vector<int64_t>& dims) {
    Describe(*graph().add_input(), name, type, &dims);
  }
  void Output(const std::string& name, int32_t type) { Describe(*graph().add_output(), name, type, nullptr); }
  void Ints(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& values) {
    pb::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::INT64);
    for (const int64_t extent : dims) tensor.add_dims(extent);
    for (const int64_t value : values) tensor.add_int64_data(value);
  }
  void Float(const std::string& name, float value) {
    pb::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::FLOAT);
    tensor.add_float_data(value);
  }
  static pb::NodeProto& Node(pb::GraphProto& graph, const std::string& type, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs) {
    pb::NodeProto& node = *graph.add_node();
    node.set_op_type(type);
    node.set_name("the " + type);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    return node;
  }
  pb::NodeProto& Node(const std::string& type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs) {
    return Node(graph(), type, inputs, outputs);
  }
  Result<Session> Load() const {
    Result<Context> context = Context::FromYamlText("limits", "version: 1\nlog: {level: off}\ncache: {dir: off}\n");
    if (!context.ok()) return context.status();
    const std::string bytes = model_.SerializeAsString();
    Model model;
    if (Status status = model.Build(bytes.data(), bytes.size(), ModelType::kOnnx, context.value()); !status.ok())
      return status;
    return model.CreateSession();
  }

 private:
  pb::ModelProto model_;
};

Tensor IntTensor(Shape shape, const std::vector<int64_t>& values) {
  return Tensor::FromValues<int64_t>(DType::kInt64, std::move(shape), std::span<const int64_t>(values)).value();
}

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
    Bytes bytes;
    bytes.Input("data", pb::TensorProto::FLOAT, {1, 1});
    bytes.Ints("values", {static_cast<int64_t>(bomb.values.size())}, bomb.values);
    bytes.Node(bomb.type, InputsOf(bomb), {"much"});
    bytes.Node("ReduceMax", {"much"}, {"y"});
    bytes.Output("y", pb::TensorProto::FLOAT);
    const Result<Session> session = bytes.Load();
    ExpectTooLarge(session.status(), bomb.type);
  }
}

TEST(Bombs, R30_OfConstantsAloneAreNotFolded) {
  Bytes bytes;
  bytes.Float("data", 1);
  bytes.Ints("values", {2}, kHuge);
  bytes.Node("Expand", {"data", "values"}, {"much"});
  bytes.Node("ReduceMax", {"much"}, {"y"});
  bytes.Output("y", pb::TensorProto::FLOAT);
  ExpectTooLarge(bytes.Load().status(), "Expand");
}

TEST(Bombs, R30_ThatOnlyTheRunKnowsAreRefusedByIt) {
  for (const Bomb& bomb : Bombs()) {
    SCOPED_TRACE(bomb.type);
    const auto count = static_cast<int64_t>(bomb.values.size());
    Bytes bytes;
    bytes.Input("data", pb::TensorProto::FLOAT, {1, 1});
    bytes.Input("values", pb::TensorProto::INT64, {count});
    bytes.Node(bomb.type, InputsOf(bomb), {"much"});
    bytes.Node("ReduceMax", {"much"}, {"y"});
    bytes.Output("y", pb::TensorProto::FLOAT);
    Result<Session> session = bytes.Load();
    ASSERT_TRUE(session.ok()) << session.status().ToString();
    std::vector<Tensor> outputs;
    const Tensor data = Tensor::Allocate(DType::kFloat32, {1, 1}).value();
    ExpectTooLarge(session->Predict({data, IntTensor({count}, bomb.values)}, &outputs), bomb.type);
  }
}

TEST(Bombs, R30_RangeAndOneHotThatOnlyTheRunKnowsAreRefusedByIt) {
  Bytes bytes;
  bytes.Input("n", pb::TensorProto::INT64, {});
  bytes.Ints("zero", {}, {0});
  bytes.Ints("one", {}, {1});
  bytes.Ints("off on", {2}, {0, 1});
  bytes.Node("OneHot", {"zero", "n", "off on"}, {"hot"});
  bytes.Node("Range", {"zero", "n", "one"}, {"all"});
  bytes.Output("all", pb::TensorProto::INT64);
  bytes.Output("hot", pb::TensorProto::INT64);
  Result<Session> session = bytes.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  for (const int64_t count : {int64_t{1} << 44, int64_t{1} << 62, kLargest}) {
    std::vector<Tensor> outputs;
    ExpectTooLarge(session->Predict({IntTensor({}, {count})}, &outputs), "OneHot");
  }
}

TEST(Bombs, R30_ProductsThatNoNumberHoldsAreRefused) {
  Bytes bytes;
  bytes.Input("data", pb::TensorProto::FLOAT, {1, 1, 1});
  bytes.Ints("values", {3}, {1 << 30, 1 << 30, 1 << 30});
  bytes.Node("Expand", {"data", "values"}, {"much"});
  bytes.Node("Relu", {"much"}, {"y"});
  bytes.Output("y", pb::TensorProto::FLOAT);
  ExpectTooLarge(bytes.Load().status(), "Expand");
}

TEST(Bombs, R30_RegionsThatNoNumberCountsAreRefused) {
  Bytes bytes;
  bytes.Input("images", pb::TensorProto::FLOAT, {1, 1, 2, 2});
  bytes.Input("regions", pb::TensorProto::FLOAT, {1, 4});
  bytes.Input("batches", pb::TensorProto::INT64, {1});
  pb::NodeProto& node = bytes.Node("RoiAlign", {"images", "regions", "batches"}, {"much"});
  for (const char* name : {"output_height", "output_width"}) {
    pb::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(pb::AttributeProto::INT);
    attribute.set_i(int64_t{1} << 40);
  }
  bytes.Node("Relu", {"much"}, {"y"});
  bytes.Output("y", pb::TensorProto::FLOAT);
  ExpectTooLarge(bytes.Load().status(), "RoiAlign");
}

// Four tensors of 2^62 bytes, alive together: their sum is a whole turn of 64 bits.
TEST(Bombs, R30_TensorsThatAddUpToMoreThanAnAddressAreRefused) {
  Bytes bytes;
  bytes.Input("data", pb::TensorProto::FLOAT, {1});
  bytes.Ints("values", {1}, {int64_t{1} << 60});
  for (const char* name : {"a", "b", "c", "d"}) bytes.Node("Expand", {"data", "values"}, {std::string(name) + "0"});
  for (const char* name : {"a", "b", "c", "d"}) bytes.Node("Neg", {std::string(name) + "0"}, {name});
  bytes.Node("Sum", {"a", "b", "c", "d", "a0", "b0", "c0", "d0"}, {"sum"});
  bytes.Node("ReduceMax", {"sum"}, {"y"});
  bytes.Output("y", pb::TensorProto::FLOAT);
  const Result<Session> session = bytes.Load();
  ExpectTooLarge(session.status(), "4611686018427387904");
}

// Adds one to its state as long as the condition, which it hands on; `trips` and `going` are inputs.
Bytes EndlessLoop(bool has_steps) {
  Bytes bytes;
  bytes.Input("trips", pb::TensorProto::INT64, {});
  bytes.Input("going", pb::TensorProto::BOOL, {});
  bytes.Input("start", pb::TensorProto::FLOAT, {});
  pb::NodeProto& loop = bytes.Node("Loop", {"trips", "going", "start"}, {"last"});
  pb::AttributeProto& attribute = *loop.add_attribute();
  attribute.set_name("body");
  attribute.set_type(pb::AttributeProto::GRAPH);
  pb::GraphProto& body = *attribute.mutable_g();
  body.set_name("body");
  const std::vector<int64_t> scalar;
  Bytes::Describe(*body.add_input(), "round", pb::TensorProto::INT64, &scalar);
  Bytes::Describe(*body.add_input(), "condition", pb::TensorProto::BOOL, &scalar);
  Bytes::Describe(*body.add_input(), "state", pb::TensorProto::FLOAT, &scalar);
  Bytes::Describe(*body.add_output(), "condition", pb::TensorProto::BOOL, &scalar);
  Bytes::Describe(*body.add_output(), has_steps ? "next" : "state", pb::TensorProto::FLOAT, &scalar);
  if (has_steps) Bytes::Node(body, "Add", {"state", "start"}, {"next"});
  bytes.Output("last", pb::TensorProto::FLOAT);
  return bytes;
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
  std::atomic<bool> ended{false};
  std::thread canceller([&] {
    while (!ended) {  // before the run begins there is nothing to end
      session->Cancel();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::vector<Tensor> outputs;
  const Status status = session->Predict(ForEver(), &outputs);
  ended = true;
  canceller.join();
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

// x + 1, transposed, of a tensor with this many axes.
Status RunRank(size_t rank) {
  std::vector<int64_t> dims(rank, 1);
  if (rank > 0) dims[0] = 2;
  if (rank > 1) dims[rank - 1] = 3;
  Bytes bytes;
  bytes.Input("x", pb::TensorProto::FLOAT, dims);
  bytes.Float("one", 1);
  bytes.Node("Add", {"x", "one"}, {"more"});
  bytes.Node("Transpose", {"more"}, {"y"});
  bytes.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = bytes.Load();
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
    EXPECT_NE(status.ToString().find("value 'x' has rank " + std::to_string(rank) + ", more than 64"),
              std::string::npos)
        << status.ToString();
  }
}

TEST(Ranks, R32_ThatTheRunMakesAreRefusedAsWell) {
  Bytes bytes;
  bytes.Input("x", pb::TensorProto::FLOAT, {1});
  bytes.Input("shape", pb::TensorProto::INT64, {1000});
  bytes.Node("Reshape", {"x", "shape"}, {"many"});
  bytes.Node("Neg", {"many"}, {"y"});
  bytes.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = bytes.Load();
  EXPECT_NE(session.status().ToString().find("Reshape"), std::string::npos) << session.status().ToString();
  EXPECT_NE(session.status().ToString().find("more than 64"), std::string::npos) << session.status().ToString();
}

TEST(LongGraphs, R37_ManyNodesInAChainRun) {
  constexpr int kNodes = 100'000;
  Bytes bytes;
  bytes.Input("v0", pb::TensorProto::FLOAT, {2});
  for (int i = 0; i < kNodes; ++i) bytes.Node("Neg", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  bytes.Output("v" + std::to_string(kNodes), pb::TensorProto::FLOAT);
  Result<Session> session = bytes.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  Tensor x = Tensor::Allocate(DType::kFloat32, {2}).value();
  x.mutable_values<float>()[1] = 3;
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session->Predict({x}, &outputs).ok());
  EXPECT_EQ(outputs[0].values<float>()[1], 3);
}

TEST(LongGraphs, R37_ManyInputsOfOneNodeRun) {
  constexpr int kInputs = 100'000;
  Bytes bytes;
  bytes.Input("x", pb::TensorProto::FLOAT, {1});
  pb::NodeProto& node = bytes.Node("Concat", {}, {"y"});
  for (int i = 0; i < kInputs; ++i) node.add_input("x");
  pb::AttributeProto& axis = *node.add_attribute();
  axis.set_name("axis");
  axis.set_type(pb::AttributeProto::INT);
  axis.set_i(0);
  bytes.Output("y", pb::TensorProto::FLOAT);
  Result<Session> session = bytes.Load();
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  std::vector<Tensor> outputs;
  ASSERT_TRUE(session->Predict({Tensor::Allocate(DType::kFloat32, {1}).value()}, &outputs).ok());
  EXPECT_EQ(outputs[0].shape(), (Shape{kInputs}));
}

}  // namespace
}  // namespace deputy
