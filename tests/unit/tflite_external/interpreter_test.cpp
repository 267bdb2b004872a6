// The emulated interpreter, without a host, and a delegate of the test in it.
#include "plugins/tflite_external/interpreter.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/tflite_abi/builtin_params.hpp"

namespace tflite_external {
namespace {

using deputy::sdk::Result;
using deputy::sdk::Status;

// Doubles its inputs, one after the other, and records what it saw.
struct Doubler {
  abi::Delegate delegate{};
  std::set<int32_t> wanted;
  std::vector<std::vector<int32_t>> replaced, previewed;
  int alive = 0;

  Doubler() {
    delegate.data = this;
    delegate.Prepare = Apply;
  }
  static Doubler& Of(abi::Delegate* delegate) { return *static_cast<Doubler*>(delegate->data); }
  static std::vector<int32_t> Copied(const abi::IntArray* list) {
    return {abi::Values(list).begin(), abi::Values(list).end()};
  }

  static abi::Outcome Apply(abi::Context* context, abi::Delegate* delegate) {
    Doubler& self = Of(delegate);
    const List list = MakeList({self.wanted.begin(), self.wanted.end()});
    abi::DelegateParams* params = nullptr;
    int count = 0;
    if (context->PreviewDelegatePartitioning(context, list.get(), &params, &count) != abi::kOk) return abi::kError;
    for (int i = 0; i < count; ++i) self.previewed.push_back(Copied(params[i].nodes_to_replace));
    abi::Registration registration{};
    registration.init = [](abi::Context*, const char* buffer, size_t) -> void* {
      const auto& given = *reinterpret_cast<const abi::DelegateParams*>(buffer);
      Of(given.delegate).replaced.push_back(Copied(given.nodes_to_replace));
      ++Of(given.delegate).alive;
      return given.delegate;
    };
    registration.free = [](abi::Context*, void* data) { --Of(static_cast<abi::Delegate*>(data)).alive; };
    registration.invoke = [](abi::Context* c, abi::Node* node) {
      const float* from = static_cast<const float*>(c->tensors[abi::Values(node->inputs)[0]].data);
      float* to = static_cast<float*>(c->tensors[abi::Values(node->outputs)[0]].data);
      for (int i = 0; i < 4; ++i) to[i] = 2 * from[i];
      return abi::kOk;
    };
    return context->ReplaceNodeSubsetsWithDelegateKernels(context, registration, list.get(), delegate);
  }
};

// A chain of RELUs from tensor 0 on.
GuestGraph Chain(int32_t nodes) {
  GuestGraph graph;
  for (int32_t i = 0; i <= nodes; ++i) {
    GuestTensor tensor;
    tensor.name = "t" + std::to_string(i);
    tensor.dims = {4};
    graph.tensors.push_back(tensor);
  }
  for (int32_t i = 0; i < nodes; ++i) {
    GuestNode node;
    node.number = kRelu;
    node.name = "n" + std::to_string(i);
    node.ids = {static_cast<deputy_node_id>(100 + i)};
    node.inputs = {i};
    node.outputs = {i + 1};
    graph.nodes.push_back(node);
  }
  graph.inputs = {0};
  graph.outputs = {nodes};
  return graph;
}

TEST(Interpreter, SurveysWithoutKernels) {
  Interpreter interpreter(Chain(3));
  Doubler doubler;
  doubler.wanted = {0, 2};
  const Result<std::vector<bool>> taken = interpreter.Survey(&doubler.delegate);
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(*taken, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(doubler.previewed, (std::vector<std::vector<int32_t>>{{0}, {2}}));
  EXPECT_TRUE(doubler.replaced.empty());
}

TEST(Interpreter, RunsItsKernelsInTheMemoryThatIsBound) {
  Doubler doubler;
  doubler.wanted = {0, 1, 2};
  {
    Interpreter interpreter(Chain(3));
    const Status applied = interpreter.Apply(&doubler.delegate);
    ASSERT_TRUE(applied.ok()) << applied.message();
    EXPECT_EQ(doubler.replaced, (std::vector<std::vector<int32_t>>{{0, 1, 2}}));
    float from[4] = {1, 2, 3, 4}, to[4] = {};
    interpreter.Bind(0, from);
    interpreter.Bind(3, to);
    ASSERT_TRUE(interpreter.Invoke().ok());
    EXPECT_EQ(to[3], 8);
    interpreter.Bind(3, nullptr);
    ASSERT_TRUE(interpreter.Invoke().ok());
    EXPECT_EQ(static_cast<float*>(interpreter.OwnMemory(3))[0], 2);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(interpreter.OwnMemory(3)) % kAlignment, 0U);
    EXPECT_EQ(doubler.alive, 1);
  }
  EXPECT_EQ(doubler.alive, 0);
}

TEST(Interpreter, NamesTheNodeThatIsLeft) {
  Interpreter interpreter(Chain(3));
  Doubler doubler;
  doubler.wanted = {0, 2};
  const Status applied = interpreter.Apply(&doubler.delegate);
  EXPECT_EQ(applied.code(), deputy::sdk::Code::kNotSupported);
  EXPECT_NE(applied.message().find("does not take 'n1'"), std::string::npos) << applied.message();
}

TEST(Interpreter, RefusesNodesThatDoNotExist) {
  for (const int32_t index : {-1, 3}) {
    Interpreter interpreter(Chain(3));
    Doubler doubler;
    doubler.wanted = {index};
    const Status applied = interpreter.Apply(&doubler.delegate);
    EXPECT_NE(applied.message().find("node " + std::to_string(index) + " does not exist"), std::string::npos)
        << applied.message();
  }
}

// Delegates call through the table without asking.
TEST(Interpreter, HasNoFunctionThatIsNull) {
  Interpreter interpreter(Chain(1));
  abi::Delegate delegate{};
  delegate.Prepare = [](abi::Context* context, abi::Delegate*) {
    const auto* words = reinterpret_cast<void* const*>(context);
    std::set<size_t> data;  // fields that are no functions
    for (const size_t offset : {offsetof(abi::Context, tensors_size), offsetof(abi::Context, recommended_num_threads),
                                offsetof(abi::Context, allow_fp32_relax_to_fp16), offsetof(abi::Context, profiler)})
      data.insert(offset / sizeof(void*));
    for (size_t i = 0; i < offsetof(abi::Context, reserved) / sizeof(void*); ++i) {
      EXPECT_TRUE(data.count(i) != 0 || words[i] != nullptr) << "word " << i;
    }
    return abi::kOk;
  };
  EXPECT_TRUE(interpreter.Survey(&delegate).ok());
}

// DEQUANTIZE -> ADD -> RELU -> QUANTIZE.
GuestGraph Quantized() {
  GuestGraph graph = Chain(4);
  const int32_t numbers[] = {kDequantize, kAdd, kRelu, kQuantize};
  for (size_t i = 0; i < 4; ++i) graph.nodes[i].number = numbers[i];
  graph.nodes[1].inputs = {1, 1};
  graph.nodes[1].params = std::make_shared<abi::ActivationParams>();
  for (const size_t i : {size_t{0}, size_t{4}}) {
    graph.tensors[i].type = abi::kInt8;
    graph.tensors[i].scales = {0.5F};
    graph.tensors[i].zero_points = {static_cast<int32_t>(i)};
  }
  return graph;
}

TEST(Fusion, MakesAnOperatorOnIntegersWithItsActivation) {
  GuestGraph graph = Quantized();
  FuseQuantization(&graph);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].number, kAdd);
  EXPECT_EQ(graph.nodes[0].inputs, (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(graph.nodes[0].outputs, (std::vector<int32_t>{4}));
  EXPECT_EQ(static_cast<abi::ActivationParams*>(graph.nodes[0].params.get())->activation, 1);
  EXPECT_EQ(std::set<deputy_node_id>(graph.nodes[0].ids.begin(), graph.nodes[0].ids.end()),
            (std::set<deputy_node_id>{100, 101, 102, 103}));
}

TEST(Fusion, LeavesFloatsThatAreReadElsewhere) {
  GuestGraph graph = Quantized();
  graph.outputs.push_back(2);  // the sum
  FuseQuantization(&graph);
  EXPECT_EQ(graph.nodes.size(), 4U);
}

TEST(Fusion, ReachesTheDelegateWithScales) {
  GuestGraph graph = Quantized();
  FuseQuantization(&graph);
  Interpreter interpreter(std::move(graph));
  abi::Delegate delegate{};
  delegate.Prepare = [](abi::Context* context, abi::Delegate*) {
    const abi::Tensor& tensor = context->tensors[4];
    EXPECT_EQ(tensor.type, abi::kInt8);
    EXPECT_EQ(tensor.bytes, 4U);
    EXPECT_EQ(tensor.quantization.type, abi::kAffine);
    const auto& affine = *static_cast<const abi::AffineQuantization*>(tensor.quantization.params);
    EXPECT_EQ(abi::Values(affine.scale)[0], 0.5F);
    EXPECT_EQ(abi::Values(affine.zero_point)[0], 4);
    return abi::kOk;
  };
  EXPECT_TRUE(interpreter.Survey(&delegate).ok());
}

}  // namespace
}  // namespace tflite_external
