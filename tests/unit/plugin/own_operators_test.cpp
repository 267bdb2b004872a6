// The checked proxy around operators of a vendor's own: types of their outputs, and kernels that stand in.
#include <gtest/gtest.h>

#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;
using testing::Text;

class OwnOperators : public AbleDelegate {
 protected:
  OwnOperators() {
    attribute_ = {Text("slope"), Text("steepness"), DEPUTY_ATTRIBUTE_FLOAT, 1};
    deputy_operator_info info{};
    info.struct_size = sizeof info;
    info.since_version = 1;
    info.domain = Text("com.example");
    info.op_type = Text("Gate");
    info.min_inputs = info.max_inputs = info.min_outputs = info.max_outputs = 1;
    info.attributes = &attribute_;
    info.attribute_count = 1;
    info.flags = DEPUTY_OPERATOR_HAS_KERNEL;
    actor_.operator_infos = {info};
    actor_.infer = [](const deputy_graph*, const deputy_type_sink& sink) {
      const int64_t dims[] = {2, -1};
      return sink.set_output(sink.self, 0, DEPUTY_DTYPE_FLOAT32, dims, 2);
    };
    own_.nodes.push_back({"gate", Gate().Finish(), {own_.AddValue("x")}, {own_.AddValue("y")}, {}});
    own_.inputs = {0};
    own_.outputs = {1};
    own_.values[0].type = {DType::kFloat32, true, {2, 3}};
  }
  static PrimitiveBuilder Gate() { return PrimitiveBuilder("com.example", "Gate", 1).Set("slope", 0.5f); }

  Status Infer() {
    InferenceOptions options;
    options.foreign = [&](InferenceContext& context) -> Status {
      const host::OwnOperators* const own = Open().own_operators();
      if (own == nullptr) return Status(StatusCode::kNotSupported, "no own operators");
      return own->InferOwn(context);
    };
    return InferGraph(own_, options);
  }

  deputy_operator_attribute attribute_{};
  Graph own_;
};

TEST_F(OwnOperators, TellTheTypesOfTheirOutputs) {
  ASSERT_TRUE(Infer().ok());
  EXPECT_EQ(own_.values[1].type.dtype, DType::kFloat32);
  EXPECT_EQ(own_.values[1].type.dims, (std::vector<int64_t>{2, -1}));
}

TEST_F(OwnOperators, AreShownTheirNodeAlone) {
  actor_.infer = [](const deputy_graph* graph, const deputy_type_sink&) -> deputy_status* {
    deputy_value_info value{};
    value.struct_size = sizeof value;
    EXPECT_EQ(graph->node_count(), 1u);
    EXPECT_TRUE(graph->ValueInfo(0, &value).ok());
    EXPECT_EQ(value.rank, 2u);
    EXPECT_EQ(value.dims[1], 3);
    return nullptr;
  };
  EXPECT_TRUE(Infer().ok());
}

TEST_F(OwnOperators, OfOthersAreLeftAlone) {
  own_.nodes[0].primitive = PrimitiveBuilder("com.other", "Gate", 1).Finish();
  EXPECT_TRUE(Infer().ok());
  EXPECT_EQ(own_.values[1].type.dtype, DType::kUndefined);
}

TEST_F(OwnOperators, AMissingAttributeNamesItAndTheNode) {
  own_.nodes[0].primitive = PrimitiveBuilder("com.example", "Gate", 1).Finish();
  const Status status = Infer();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_NE(status.ToString().find("lacks the attribute 'slope'"), std::string::npos) << status.ToString();
  EXPECT_NE(status.ToString().find("gate"), std::string::npos) << status.ToString();
}

TEST_F(OwnOperators, AnAttributeOfAnotherTypeIsRefused) {
  own_.nodes[0].primitive = Gate().Set("slope", int64_t{1}).Finish();
  EXPECT_NE(Infer().ToString().find("'slope' is an int, not a float"), std::string::npos);
}

TEST_F(OwnOperators, AnAttributeThatIsNotDeclaredIsRefused) {
  own_.nodes[0].primitive = Gate().Set("slop", 1.0f).Finish();
  EXPECT_NE(Infer().ToString().find("'slop', which is not declared"), std::string::npos);
}

TEST_F(OwnOperators, TooManyInputsAreRefused) {
  own_.nodes[0].inputs = {0, 0};
  EXPECT_EQ(Infer().code(), StatusCode::kModel);
}

TEST_F(OwnOperators, WhatInferSaysOfTheNodeIsPassedOn) {
  actor_.infer = [&](const deputy_graph*, const deputy_type_sink&) {
    return actor_.Fail(DEPUTY_INVALID_ARGUMENT, "only floats");
  };
  EXPECT_NE(Infer().ToString().find("only floats"), std::string::npos);
}

struct BadType {
  const char* name;
  uint32_t output;
  deputy_dtype dtype;
  int64_t extent;
  bool null_dims;
};
void PrintTo(const BadType& bad, std::ostream* out) { *out << bad.name; }

class BadlyInferred : public OwnOperators, public ::testing::WithParamInterface<BadType> {};

TEST_P(BadlyInferred, IsAFault) {
  const BadType& bad = GetParam();
  actor_.infer = [&](const deputy_graph*, const deputy_type_sink& sink) {
    return sink.set_output(sink.self, bad.output, bad.dtype, bad.null_dims ? nullptr : &bad.extent, 1);
  };
  EXPECT_EQ(Infer().code(), StatusCode::kPlugin);
}

INSTANTIATE_TEST_SUITE_P(Ways, BadlyInferred,
                         ::testing::Values(BadType{"NoSuchOutput", 1, DEPUTY_DTYPE_FLOAT32, 1, false},
                                           BadType{"UnknownDType", 0, 77, 1, false},
                                           BadType{"NegativeExtent", 0, DEPUTY_DTYPE_FLOAT32, -2, false},
                                           BadType{"ExtentsAtNull", 0, DEPUTY_DTYPE_FLOAT32, 1, true}),
                         [](const ::testing::TestParamInfo<BadType>& one) { return std::string(one.param.name); });

struct BadInfo {
  const char* name;
  void (*spoil)(deputy_operator_info& info);
};
void PrintTo(const BadInfo& bad, std::ostream* out) { *out << bad.name; }

class BadlyDeclared : public OwnOperators, public ::testing::WithParamInterface<BadInfo> {};

TEST_P(BadlyDeclared, IsLeftOut) {
  GetParam().spoil(actor_.operator_infos[0]);
  EXPECT_TRUE(Infer().ok());
  EXPECT_EQ(own_.values[1].type.dtype, DType::kUndefined);
  EXPECT_NE(log_.text().find("operator_at broke its contract"), std::string::npos) << log_.text();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, BadlyDeclared,
    ::testing::Values(BadInfo{"OnnxsOwnDomain", [](deputy_operator_info& made) { made.domain = Text("ai.onnx"); }},
                      BadInfo{"NoDomain", [](deputy_operator_info& made) { made.domain = Text(""); }},
                      BadInfo{"NoVersion", [](deputy_operator_info& made) { made.since_version = 0; }},
                      BadInfo{"MoreThanAtMost", [](deputy_operator_info& made) { made.min_inputs = 2; }},
                      BadInfo{"AttributesAtNull", [](deputy_operator_info& made) { made.attributes = nullptr; }},
                      BadInfo{"ShortStruct", [](deputy_operator_info& made) { made.struct_size = 16; }}),
    [](const ::testing::TestParamInfo<BadInfo>& one) { return std::string(one.param.name); });

TEST_F(OwnOperators, HaveKernelsThatStandInBehindAllOthers) {
  ASSERT_TRUE(Infer().ok());
  const std::shared_ptr<Delegate> kernels = Open().own_operators()->custom_kernels();
  ASSERT_NE(kernels, nullptr);
  std::vector<Verdict> verdicts;
  const GraphView view = OfferAll(own_);
  ASSERT_TRUE(kernels->QuerySupport(view, verdicts).ok());
  EXPECT_TRUE(verdicts[0].supported());
  const auto executable = kernels->Compile(view, {{0}, {0}, {1}, nullptr, "kernel"});
  ASSERT_TRUE(executable.ok());
  float x = 3, y = 0;
  actor_.compute = [](const deputy_run_args& args) -> deputy_status* {
    *static_cast<float*>(args.outputs[0]->data) = 2 * *static_cast<const float*>(args.inputs[0]->data);
    return nullptr;
  };
  deputy_tensor in{}, out{};
  in.data = &x;
  out.data = &y;
  const deputy_tensor* inputs[] = {&in};
  deputy_tensor* outputs[] = {&out};
  const auto context = (*executable)->CreateContext();
  ASSERT_TRUE((*context)->Execute({inputs, outputs}).ok());
  EXPECT_EQ(y, 6);
}

TEST_F(OwnOperators, WithoutAKernelHaveNoneToStandIn) {
  actor_.operator_infos[0].flags = 0;
  EXPECT_EQ(Open().own_operators()->custom_kernels(), nullptr);
}

}  // namespace
}  // namespace deputy::host
