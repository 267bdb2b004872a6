// The emulated interpreter, without a host, and a delegate of the test in it.
#include "plugins/tflite_external/interpreter.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
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
  std::function<abi::Outcome(abi::Context*)> in_prepare, in_run;  // before it does its work

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
    registration.prepare = [](abi::Context* c, abi::Node* node) {
      const auto& first = Of(static_cast<abi::Delegate*>(node->user_data)).in_prepare;
      return first ? first(c) : abi::kOk;
    };
    registration.invoke = [](abi::Context* c, abi::Node* node) {
      const auto& first = Of(static_cast<abi::Delegate*>(node->user_data)).in_run;
      if (first && first(c) != abi::kOk) return abi::kError;
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

// One more extent than the tensor has.
abi::Outcome Grow(abi::Context* context, size_t tensor) {
  std::vector<int32_t> dims = Doubler::Copied(context->tensors[tensor].dims);
  dims.push_back(8);
  return context->ResizeTensor(context, &context->tensors[tensor], MakeList(dims).release());
}

TEST(Interpreter, NoTensorGrowsOrIsAddedInARun) {
  Interpreter interpreter(Chain(1));
  Doubler doubler;
  doubler.wanted = {0};
  ASSERT_TRUE(interpreter.Apply(&doubler.delegate).ok());
  float from[4] = {1, 2, 3, 4};
  interpreter.Bind(0, from);
  doubler.in_run = [](abi::Context* context) { return Grow(context, 1); };
  EXPECT_NE(interpreter.Invoke().message().find("ResizeTensor was called for another shape in a run"),
            std::string::npos);
  doubler.in_run = [](abi::Context* context) {
    int first = 0;
    return context->AddTensors(context, 1, &first);
  };
  EXPECT_NE(interpreter.Invoke().message().find("AddTensors in a run is not available here"), std::string::npos);
  doubler.in_run = [](abi::Context* context) {  // a kernel that resizes in each run, to what is there already
    return context->ResizeTensor(context, &context->tensors[1], MakeList({4}).release());
  };
  EXPECT_TRUE(interpreter.Invoke().ok());
}

TEST(Interpreter, ATemporaryHasMemoryForItsTypeAlsoWhenThatIsSetLast) {
  for (const abi::Type type :
       {abi::kUInt8, abi::kUInt16, abi::kBFloat16, abi::kFloat64, abi::kComplex64, abi::kString}) {
    Interpreter interpreter(Chain(1));
    Doubler doubler;
    doubler.wanted = {0};
    int added = 0;
    doubler.in_prepare = [&](abi::Context* context) {
      if (context->AddTensors(context, 1, &added) != abi::kOk ||
          context->ResizeTensor(context, &context->tensors[2], MakeList({3, 5}).release()) != abi::kOk)
        return abi::kError;
      context->tensors[2].type = type;
      return abi::kOk;
    };
    const Status applied = interpreter.Apply(&doubler.delegate);
    if (type == abi::kString) {
      EXPECT_NE(applied.message().find("a type without a size"), std::string::npos) << applied.message();
      continue;
    }
    ASSERT_TRUE(applied.ok()) << applied.message();
    EXPECT_EQ(added, 2);
    size_t bytes = 0;
    doubler.in_run = [&](abi::Context* context) {
      bytes = context->tensors[2].bytes;
      return context->tensors[2].data != nullptr ? abi::kOk : abi::kError;
    };
    ASSERT_TRUE(interpreter.Invoke().ok());
    EXPECT_EQ(bytes, 15 * abi::SizeOf(type));
  }
}

TEST(Interpreter, AKernelDoesNotChangeTheTypeOfATensorOfTheGraph) {
  Interpreter interpreter(Chain(1));
  Doubler doubler;
  doubler.wanted = {0};
  doubler.in_prepare = [](abi::Context* context) {
    context->tensors[1].type = abi::kFloat64;
    return abi::kOk;
  };
  const Status applied = interpreter.Apply(&doubler.delegate);
  EXPECT_NE(applied.message().find("gives 't1' another shape or element type"), std::string::npos) << applied.message();
}

TEST(Interpreter, TensorsInsideOfAKernelHaveNoMemory) {
  Interpreter interpreter(Chain(3));
  Doubler doubler;
  doubler.wanted = {0, 1, 2};
  ASSERT_TRUE(interpreter.Apply(&doubler.delegate).ok());
  bool has[4] = {};
  doubler.in_run = [&](abi::Context* context) {
    for (size_t i = 0; i < 4; ++i) has[i] = context->tensors[i].data != nullptr;
    return abi::kOk;
  };
  ASSERT_TRUE(interpreter.Invoke().ok());
  EXPECT_EQ(std::vector<bool>(has, has + 4), (std::vector<bool>{true, false, false, true}));
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

// DEQUANTIZE -> FULLY_CONNECTED with weights and bias of integers -> QUANTIZE.
struct Connected {
  explicit Connected(abi::Type type) {
    graph = Chain(3);
    const int32_t numbers[] = {kDequantize, kFullyConnected, kQuantize};
    for (size_t i = 0; i < 3; ++i) graph.nodes[i].number = numbers[i];
    graph.nodes[1].params = std::make_shared<abi::FullyConnectedParams>();
    Quantize(0, type, 0.5F);
    Quantize(3, type, 2);
    graph.nodes[1].inputs = {1, Constant(type, 0.25F), Constant(abi::kInt32, 0.125F)};
  }
  void Quantize(size_t tensor, abi::Type type, float scale) {
    graph.tensors[tensor].type = type;
    graph.tensors[tensor].scales = {scale};
    graph.tensors[tensor].zero_points = {0};
  }
  int32_t Constant(abi::Type type, float scale) {
    const auto place = static_cast<int32_t>(graph.tensors.size());
    graph.tensors.resize(graph.tensors.size() + 2);
    GuestTensor& reals = graph.tensors[static_cast<size_t>(place)];
    reals.quantized = place + 1;
    reals.constant = std::make_shared<std::vector<char>>(16);
    Quantize(static_cast<size_t>(place) + 1, type, scale);
    return place;
  }
  GuestTensor& weights() { return graph.tensors[5]; }
  size_t FusedNodes() {
    FuseQuantization(&graph);
    return graph.nodes.size();
  }
  GuestGraph graph;
};

TEST(Fusion, MakesOperatorsWithWeightsOfTheTypeOfTheirTensors) {
  for (const abi::Type type : {abi::kInt8, abi::kUInt8}) {
    EXPECT_EQ(Connected(type).FusedNodes(), 1U);
    const abi::Type other = type == abi::kInt8 ? abi::kUInt8 : abi::kInt8;
    Connected weights(type), output(type);
    weights.weights().type = other;
    EXPECT_EQ(weights.FusedNodes(), 3U) << "TensorFlow Lite has no operator on both";
    output.graph.tensors[3].type = other;
    EXPECT_EQ(output.FusedNodes(), 3U);
  }
}

TEST(Fusion, LeavesSignedWeightsWithAZeroPoint) {
  Connected signed_weights(abi::kInt8), unsigned_weights(abi::kUInt8);
  signed_weights.weights().zero_points = {1};
  unsigned_weights.weights().zero_points = {1};
  EXPECT_EQ(signed_weights.FusedNodes(), 3U);
  EXPECT_EQ(unsigned_weights.FusedNodes(), 1U);
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
