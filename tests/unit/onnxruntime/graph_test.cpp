// Graphs as EPs read them: names, operands, constants, attributes, and views of some nodes.
#include "plugins/onnxruntime/own/graph.hpp"

#include <gtest/gtest.h>

#include "unit/onnxruntime/calls.hpp"

namespace ort::own {
namespace {

// x -> Relu -> a; Add(a, w) -> y; both are outputs. Two values and both nodes have the same name.
class GraphTest : public testing::Test {
 protected:
  GraphTest() {
    x_ = host_.AddValue("x", {2});
    const auto a = host_.AddValue("same", {2}), y = host_.AddValue("same", {2});
    const auto w = host_.AddConstant("w", {3, 4});
    host_.AddNode({"Relu", {x_}, {a}});
    host_.AddNode({"Add", {a, w}, {y}, true, 14, [](fake::PrimitiveBytes& bytes) {
                     bytes.Int("axis", -1).String("mode", "linear").Ints("pads", {1, 2}).Strings("s", {"ab", "c"});
                   }});
    host_.inputs = {x_};
    host_.outputs = {a, y};
    part_ = std::make_unique<Part>(host_);
    model_ = part_->MakeModel();
    graph_ = std::make_unique<Graph>(model_, AllOf(*model_));
    graph_->is_kept = true;
  }

  const Graph* graph() const { return graph_.get(); }
  std::vector<const Node*> Nodes(const Graph* graph) const {
    std::vector<const Node*> nodes(Get<size_t>(Slot::Graph_GetNumNodes, graph));
    EXPECT_EQ(Failure(Call(Slot::Graph_GetNodes, graph, nodes.data(), nodes.size())).message, "");
    return nodes;
  }
  std::vector<const ValueInfo*> Values(Slot count_slot, Slot slot, const Graph* graph) const {
    std::vector<const ValueInfo*> values(Get<size_t>(count_slot, graph));
    EXPECT_EQ(Failure(Call(slot, graph, values.data(), values.size())).message, "");
    return values;
  }
  static std::string NameOf(const ValueInfo* value) { return Get<const char*>(Slot::GetValueInfoName, value); }
  static bool Is(Slot slot, const ValueInfo* value) { return Get<bool>(slot, value); }

  fake::Host host_;
  deputy_value_id x_;
  std::unique_ptr<Part> part_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<Graph> graph_;
};

TEST_F(GraphTest, NodesAndValuesHaveUniqueNames) {
  const auto nodes = Nodes(graph());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_STREQ(Get<const char*>(Slot::Node_GetOperatorType, nodes[1]), "Add");
  EXPECT_STREQ(Get<const char*>(Slot::Node_GetDomain, nodes[1]), "");
  EXPECT_EQ(Get<int>(Slot::Node_GetSinceVersion, nodes[1]), 14);
  EXPECT_EQ(Get<size_t>(Slot::Node_GetId, nodes[1]), 1u);
  const auto outputs = Values(Slot::Graph_GetNumOutputs, Slot::Graph_GetOutputs, graph());
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(NameOf(outputs[0]), "same");
  EXPECT_EQ(NameOf(outputs[1]), "same_");
}

TEST_F(GraphTest, ConstantsAreInitializersAndInputsOnlyOfFusedNodesThatKeepNoCopies) {
  const auto initializers = Values(Slot::Graph_GetNumInitializers, Slot::Graph_GetInitializers, graph());
  ASSERT_EQ(initializers.size(), 1u);
  EXPECT_TRUE(Is(Slot::ValueInfo_IsConstantInitializer, initializers[0]));
  EXPECT_FALSE(Is(Slot::ValueInfo_IsRequiredGraphInput, initializers[0]));
  const auto* value = Get<const Value*>(Slot::ValueInfo_GetInitializerValue, initializers[0]);
  Call<void>(Slot::ReleaseValue, const_cast<Value*>(value));  // not the caller's: nothing happens
  EXPECT_EQ(static_cast<const float*>(Get<const void*>(Slot::GetTensorData, value))[1], 4.0f);
  auto inputs = Values(Slot::Graph_GetNumInputs, Slot::Graph_GetInputs, graph());
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(NameOf(inputs[0]), "x");
  EXPECT_TRUE(Is(Slot::ValueInfo_IsRequiredGraphInput, inputs[0]));
  EXPECT_EQ(Get<const Value*>(Slot::ValueInfo_GetInitializerValue, inputs[0]), nullptr);
  graph_->AddConstantInputs();
  inputs = Values(Slot::Graph_GetNumInputs, Slot::Graph_GetInputs, graph());
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(NameOf(inputs[1]), "w");
}

TEST_F(GraphTest, ProducersAndConsumersAreTheGraphsOwn) {
  const auto nodes = Nodes(graph());
  const ValueInfo* a = Values(Slot::Graph_GetNumOutputs, Slot::Graph_GetOutputs, graph())[0];
  const Node* producer = nullptr;
  size_t output = 7;
  EXPECT_EQ(Failure(Call(Slot::ValueInfo_GetValueProducer, a, &producer, &output)).message, "");
  EXPECT_EQ(producer, nodes[0]);
  EXPECT_EQ(output, 0u);
  ASSERT_EQ(Get<size_t>(Slot::ValueInfo_GetValueNumConsumers, a), 1u);
  const Node* consumer = nullptr;
  int64_t input = -1;
  EXPECT_EQ(Failure(Call(Slot::ValueInfo_GetValueConsumers, a, &consumer, &input, size_t{1})).message, "");
  EXPECT_EQ(consumer, nodes[1]);
  EXPECT_EQ(input, 0);
  EXPECT_NE(Failure(Call(Slot::ValueInfo_GetValueConsumers, a, &consumer, &input, size_t{0})).message, "");
  EXPECT_TRUE(Is(Slot::ValueInfo_IsGraphOutput, a));
}

TEST_F(GraphTest, AViewOfANodeHasItsOperandsAsInputsAndOutputsAndTheSameNumbers) {
  const auto nodes = Nodes(graph());
  Graph* view = nullptr;
  const Node* chosen[] = {nodes[1]};
  ASSERT_EQ(Failure(Call(Slot::Graph_GetGraphView, graph(), chosen, size_t{1}, &view)).message, "");
  const Graph* const_view = view;
  const auto inside = Nodes(const_view);
  ASSERT_EQ(inside.size(), 1u);
  EXPECT_NE(inside[0], nodes[1]);
  EXPECT_EQ(Get<size_t>(Slot::Node_GetId, inside[0]), 1u);
  EXPECT_EQ(NameOf(Values(Slot::Graph_GetNumInputs, Slot::Graph_GetInputs, const_view)[0]), "same");
  const Node* producer = inside[0];
  size_t output = 0;
  EXPECT_EQ(Failure(Call(Slot::ValueInfo_GetValueProducer,
                         Values(Slot::Graph_GetNumInputs, Slot::Graph_GetInputs, const_view)[0], &producer, &output))
                .message,
            "");
  EXPECT_EQ(producer, nullptr) << "it is outside of the view";
  Call<void>(Slot::ReleaseGraph, view);
  Call<void>(Slot::ReleaseGraph, graph_.get());  // not the caller's: nothing happens
  EXPECT_EQ(Nodes(graph()).size(), 2u);
}

TEST_F(GraphTest, NodesToFuseAreKeptByNumberWhenTheirViewIsReleased) {
  Graph* view = nullptr;
  const Node* chosen[] = {Nodes(graph())[1]};
  ASSERT_EQ(Failure(Call(Slot::Graph_GetGraphView, graph(), chosen, size_t{1}, &view)).message, "");
  const Node* inside[] = {Nodes(view)[0]};
  EpGraphSupportInfo support;
  const NodeFusionOptions options{23, true};
  EXPECT_EQ(Failure(Call(EpSlot::EpGraphSupportInfo_AddNodesToFuse, &support, inside, size_t{1}, &options)).message,
            "");
  EXPECT_NE(Failure(Call(EpSlot::EpGraphSupportInfo_AddNodesToFuse, &support, inside, size_t{0}, &options)).message,
            "");
  Call<void>(Slot::ReleaseGraph, view);
  ASSERT_EQ(support.fused.size(), 1u);
  EXPECT_EQ(support.fused[0].nodes, std::vector<size_t>{1});
  EXPECT_TRUE(support.fused[0].drops_constants);
}

TEST_F(GraphTest, TypesHaveTheExtentsAndAreNotReleased) {
  const ValueInfo* x = Values(Slot::Graph_GetNumInputs, Slot::Graph_GetInputs, graph())[0];
  const auto* type = Get<const TypeInfo*>(Slot::GetValueInfoTypeInfo, x);
  const auto* tensor = Get<const TensorTypeAndShapeInfo*>(Slot::CastTypeInfoToTensorInfo, type);
  EXPECT_EQ(Get<ElementType>(Slot::GetTensorElementType, tensor), 1);
  Call<void>(Slot::ReleaseTensorTypeAndShapeInfo, const_cast<TensorTypeAndShapeInfo*>(tensor));
  Call<void>(Slot::ReleaseTypeInfo, const_cast<TypeInfo*>(type));
  int64_t extent = 0;
  EXPECT_EQ(Failure(Call(Slot::GetDimensions, tensor, &extent, size_t{1})).message, "");
  EXPECT_EQ(extent, 2);
}

class AttributeTest : public GraphTest {
 protected:
  const Node* node() { return Nodes(graph())[1]; }
  const OpAttr* Find(const char* name) {
    const OpAttr* attribute = nullptr;
    failure_ = Failure(Call(Slot::Node_GetAttributeByName, node(), name, &attribute));
    return attribute;
  }
  Failure Read(const char* name, AttributeType type, void* to, size_t room) {
    return Failure(Call(Slot::ReadOpAttr, Find(name), type, to, room, &size_));
  }
  Failure failure_{nullptr};
  size_t size_ = 99;
};

TEST_F(AttributeTest, NumbersAndListsAreRead) {
  int64_t number = 0, numbers[2] = {};
  EXPECT_EQ(Read("axis", kIntAttribute, &number, sizeof number).message, "");
  EXPECT_EQ(number, -1);
  EXPECT_NE(Read("pads", kIntsAttribute, numbers, 8).message, "");
  EXPECT_EQ(size_, 16u) << "what is needed";
  EXPECT_EQ(Read("pads", kIntsAttribute, numbers, 16).message, "");
  EXPECT_EQ(numbers[1], 2);
  EXPECT_NE(Read("pads", kFloatsAttribute, numbers, 16).message.find("another type"), std::string::npos);
}

// As ONNX Runtime 1.32: one text has no zero at its end, those of a list have.
TEST_F(AttributeTest, TextsAreReadAsBytes) {
  char text[16] = {};
  EXPECT_EQ(Read("mode", kStringAttribute, text, sizeof text).message, "");
  EXPECT_EQ(std::string(text, size_), "linear");
  EXPECT_EQ(Read("s", kStringsAttribute, text, sizeof text).message, "");
  EXPECT_EQ(std::string(text, size_), std::string("ab\0c\0", 5));
}

TEST_F(AttributeTest, AnAttributeThatIsLeftOutIsNoneAndOneThatTheOperatorLacksIsAnError) {
  EXPECT_EQ(Find("consumed_inputs"), nullptr);
  EXPECT_EQ(failure_.message, "") << "Add has one of this name";
  EXPECT_EQ(Find("no_such"), nullptr);
  EXPECT_EQ(failure_.code, kNotFound);
}

}  // namespace
}  // namespace ort::own
