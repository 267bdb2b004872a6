// What partitions become as ONNX models; that the models compute the same is tests/integration/onnx_writer_test.cpp.
#include "deputy/sdk/onnx_writer.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

class OnnxWriterTest : public ::testing::Test {
 protected:
  // All nodes, from the graph's inputs to its outputs.
  Result<OnnxModel> Write(const OnnxOptions& options = {}) {
    const GraphView graph(Host(host_.table()), host_.graph());
    std::vector<deputy_node_id> nodes;
    for (deputy_node_id id = 0; id < host_.nodes.size(); ++id) nodes.push_back(id);
    deputy_partition partition{};
    partition.struct_size = sizeof partition;
    partition.graph = host_.graph();
    partition.nodes = nodes.data();
    partition.node_count = static_cast<uint32_t>(nodes.size());
    partition.inputs = host_.inputs.data();
    partition.input_count = static_cast<uint32_t>(host_.inputs.size());
    partition.outputs = host_.outputs.data();
    partition.output_count = static_cast<uint32_t>(host_.outputs.size());
    partition.name = {"npu/0", 5};
    return WriteOnnx(PartitionView(graph, partition), options);
  }
  static size_t CountOf(const std::string& part, const std::string& bytes) {
    size_t count = 0;
    for (size_t at = bytes.find(part); at != std::string::npos; at = bytes.find(part, at + 1)) ++count;
    return count;
  }

  fake::Host host_;
};

using Names = std::vector<std::string>;

TEST_F(OnnxWriterTest, NamesAreThoseOfTheModelAndUnique) {
  const deputy_value_id x = host_.AddValue("x"), twin = host_.AddValue("x"), none = host_.AddValue("");
  host_.AddNode({"Relu", {x}, {twin}});
  host_.AddNode({"Relu", {twin}, {none}});
  host_.inputs = {x};
  host_.outputs = {none};
  const Result<OnnxModel> model = Write();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->inputs, Names{"x"});
  EXPECT_EQ(model->outputs, Names{"value_1"});
  ASSERT_EQ(model->nodes.size(), 2u);
  EXPECT_NE(model->nodes[0], model->nodes[1]);
  EXPECT_EQ(CountOf("x_", model->bytes), 3u) << "an output, an input, and its type";
}

TEST_F(OnnxWriterTest, AConstantIsWrittenOnce) {
  const deputy_value_id x = host_.AddValue("x"), y = host_.AddValue("y"), z = host_.AddValue("z"),
                        c = host_.AddConstant("weights", {1.5F, 2.5F}, {2});
  host_.AddNode({"Add", {x, c}, {y}});
  host_.AddNode({"Mul", {y, c}, {z}});
  host_.inputs = {x};
  host_.outputs = {z};
  const Result<OnnxModel> model = Write();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(CountOf("weights", model->bytes), 3u) << "two inputs, one initializer";
  EXPECT_EQ(CountOf(std::string("\0\0\xc0\x3f\0\0\x20\x40", 8), model->bytes), 1u);
}

TEST_F(OnnxWriterTest, ExtentsThatAreGivenTakeThePlaceOfTheHosts) {
  const deputy_value_id x = host_.AddValue("x", {-1, 3}), y = host_.AddValue("inner", {-1, 3}),
                        z = host_.AddValue("z", {-1, 3});
  host_.AddNode({"Relu", {x}, {y}});
  host_.AddNode({"Relu", {y}, {z}});
  host_.inputs = {x};
  host_.outputs = {z};
  const Result<OnnxModel> open = Write(), fixed = Write({{{7, 3}}});
  ASSERT_TRUE(open.ok() && fixed.ok());
  // A dimension of onnx.proto: field 1 of the shape, 2 bytes long, whose field 1 is the extent.
  const auto dimension = [](char extent) { return std::string("\x0a\x02\x08") + extent; };
  EXPECT_EQ(CountOf(dimension(7), open->bytes), 0u);
  EXPECT_EQ(CountOf(dimension(3), open->bytes), 3u);
  EXPECT_EQ(CountOf(dimension(7), fixed->bytes), 1u);
  EXPECT_EQ(CountOf(dimension(3), fixed->bytes), 1u) << "others follow from it";
  EXPECT_EQ(Write({{{7, 3}, {1}}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Write({{{7, 3, 1}}}).status().message(), "input 0 has rank 2, not 3");
}

TEST_F(OnnxWriterTest, TheVersionOfTheFileIsTheFirstWithAllTypes) {
  const deputy_value_id x = host_.AddValue("x"), y = host_.AddValue("y"), z = host_.AddValue("z");
  host_.AddNode({"Cast", {x}, {y}});
  host_.AddNode({"Cast", {y}, {z}});
  host_.inputs = {x};
  host_.outputs = {z};
  for (const auto& [dtype, version] : {std::pair<deputy_dtype, char>{DEPUTY_DTYPE_INT4, 10},
                                       {DEPUTY_DTYPE_FLOAT4E2M1, 11},
                                       {DEPUTY_DTYPE_FLOAT8E8M0, 12},
                                       {DEPUTY_DTYPE_INT2, 13}}) {
    host_.values[y].dtype = dtype;
    const Result<OnnxModel> model = Write();
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->bytes.substr(0, 2), std::string("\x08") + version);
  }
}

TEST_F(OnnxWriterTest, ConstantsOfStringsAreRefused) {
  const deputy_value_id x = host_.AddValue("x"), y = host_.AddValue("y"), c = host_.AddConstant("c", {1, 2}, {2});
  host_.values[c].dtype = DEPUTY_DTYPE_STRING;
  const deputy_node_id node = host_.AddNode({"Add", {x, c}, {y}});
  host_.inputs = {x};
  host_.outputs = {y};
  const Status status = Write().status();
  EXPECT_EQ(status.code(), Code::kNotSupported);
  EXPECT_EQ(status.node(), node);
}

TEST_F(OnnxWriterTest, TheOperatorSetsAreTheOldestWithAllDefinitions) {
  const deputy_value_id x = host_.AddValue("x"), y = host_.AddValue("y"), z = host_.AddValue("z");
  host_.AddNode({"Relu", {x}, {y}, true, 13});
  host_.AddNode({"Own", {y}, {z}, true, 2, {}, "com.example"});
  host_.AddNode({"Abs", {x}, {z}, true, 6});
  host_.inputs = {x};
  host_.outputs = {z};
  const Result<OnnxModel> model = Write();
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(CountOf(std::string("\x42\x04\x0a\x00\x10\x0d", 6), model->bytes), 1u);
  EXPECT_EQ(CountOf(std::string("\x0a\x0b") + "com.example" + "\x10\x02", model->bytes), 1u);
}

// Runtimes rewrite no models of older sets. Relu means the same from definition 6 on, BatchNormalization not.
TEST_F(OnnxWriterTest, TheOperatorSetIsNotBelow7WhereTheDefinitionsHoldThere) {
  const deputy_value_id x = host_.AddValue("x"), y = host_.AddValue("y"), z = host_.AddValue("z");
  host_.AddNode({"Relu", {x}, {y}, true, 6});
  host_.inputs = {x};
  host_.outputs = {y};
  const Result<OnnxModel> held = Write();
  ASSERT_TRUE(held.ok()) << held.status().message();
  EXPECT_EQ(CountOf(std::string("\x42\x04\x0a\x00\x10\x07", 6), held->bytes), 1u);
  host_.AddNode({"BatchNormalization", {y}, {z}, true, 6});
  host_.outputs = {z};
  const Result<OnnxModel> old = Write();
  ASSERT_TRUE(old.ok()) << old.status().message();
  EXPECT_EQ(CountOf(std::string("\x42\x04\x0a\x00\x10\x06", 6), old->bytes), 1u);
}

// The definition that the host shows has them all: ONNX Runtime refuses a node with an attribute that it does not know.
TEST_F(OnnxWriterTest, ANodeHasTheAttributesThatTheHostShowsAndNoOthers) {
  const deputy_value_id x = host_.AddValue("x"), shape = host_.AddValue("shape"), y = host_.AddValue("y"),
                        z = host_.AddValue("z");
  host_.AddNode({"Reshape", {x, shape}, {y}, true, 5});
  host_.AddNode({"ReduceSum", {y}, {z}, true, 1, [](fake::PrimitiveBytes& bytes) { bytes.Int("keepdims", 0); }});
  host_.inputs = {x, shape};
  host_.outputs = {z};
  const Result<OnnxModel> model = Write();
  ASSERT_TRUE(model.ok()) << model.status().message();
  // NodeProto.attribute is field 5; its name is field 1.
  EXPECT_EQ(CountOf(std::string("\x0a\x08") + "keepdims", model->bytes), 1u);
  for (const char* newer : {"allowzero", "noop_with_empty_axes"}) EXPECT_EQ(CountOf(newer, model->bytes), 0u) << newer;
}

}  // namespace
}  // namespace deputy::sdk
