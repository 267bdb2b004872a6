// The model as MindSpore's list of kernels, and what Replace does to it.
#include "deputy/sdk/delegate_model.hpp"

#include <gtest/gtest.h>

#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

class SubGraph final : public Kernel {
 public:
  explicit SubGraph(int* alive = nullptr) : alive_(alive) {
    if (alive_ != nullptr) ++*alive_;
  }
  ~SubGraph() override {
    if (alive_ != nullptr) --*alive_;
  }
  Status Prepare() override { return kSuccess; }
  Status Execute() override { return kSuccess; }
  Status ReSize() override { return kSuccess; }

 private:
  int* alive_;
};

struct Shown {
  explicit Shown(fake::Host& host) : view(Host(host.table()), host.graph()), model(view) {}
  GraphView view;
  DelegateModel model;
};

std::vector<std::string> Types(DelegateModel& model) {
  std::vector<std::string> types;
  for (auto kernel = model.BeginKernelIterator(); kernel != model.EndKernelIterator(); ++kernel)
    types.push_back((*kernel)->type());
  return types;
}

// The tutorial's loop, with a trailing run flushed: replaces every run of `wanted`.
void ReplaceRuns(DelegateModel& model, const std::string& wanted) {
  KernelIter from, end;
  bool open = false;
  for (auto iter = model.BeginKernelIterator(); iter != model.EndKernelIterator(); iter++) {
    if (model.GetPrimitive(*iter) != nullptr && (*iter)->type() == wanted) {
      if (!open) from = iter;
      open = true;
      end = iter;
    } else if (open) {
      iter = model.Replace(from, end + 1, new SubGraph);
      open = false;
    }
  }
  if (open) model.Replace(from, end + 1, new SubGraph);
}

// Seed row 11.
TEST(DelegateModel, ListsNodesInOrderWithTheirTensors) {
  fake::Host host;
  host.AddChain({"Relu", "Sigmoid"});
  Shown shown(host);
  EXPECT_EQ(Types(shown.model), (std::vector<std::string>{"Relu", "Sigmoid"}));
  auto kernel = shown.model.BeginKernelIterator();
  EXPECT_EQ((*kernel)->outputs()[0], (*(kernel + 1))->inputs()[0]);
  EXPECT_EQ((*kernel)->inputs()[0], shown.model.inputs()[0]);
  EXPECT_EQ((*kernel)->inputs()[0].Shape(), std::vector<int64_t>{2});
}

// Seed row 15.
TEST(DelegateModel, ReplaceReturnsTheIteratorAfterTheNewKernel) {
  fake::Host host;
  host.AddChain({"Relu", "Relu", "Exp", "Log"});
  Shown shown(host);
  const auto begin = shown.model.BeginKernelIterator();
  const auto next = shown.model.Replace(begin, begin + 2, new SubGraph);
  ASSERT_NE(next, shown.model.EndKernelIterator());
  EXPECT_EQ((*next)->type(), "Exp");
  EXPECT_EQ(Types(shown.model), (std::vector<std::string>{"", "Exp", "Log"}));
}

TEST(DelegateModel, RunInTheMiddleBecomesOneClaim) {
  fake::Host host;
  host.AddChain({"Exp", "Relu", "Relu", "Exp"});
  Shown shown(host);
  ReplaceRuns(shown.model, "Relu");
  const auto claims = shown.model.TakeClaims();
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].nodes, (std::vector<deputy_node_id>{1, 2}));
}

TEST(DelegateModel, TrailingRunIsReplaced) {
  fake::Host host;
  host.AddChain({"Exp", "Relu", "Relu"});
  Shown shown(host);
  ReplaceRuns(shown.model, "Relu");
  EXPECT_EQ(Types(shown.model), (std::vector<std::string>{"Exp", ""}));
}

TEST(DelegateModel, WholeModelIsReplaced) {
  fake::Host host;
  host.AddChain({"Relu", "Relu", "Relu"});
  Shown shown(host);
  ReplaceRuns(shown.model, "Relu");
  const auto claims = shown.model.TakeClaims();
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].nodes.size(), 3u);
}

TEST(DelegateModel, RunsOfOneNodeAreReplaced) {
  fake::Host host;
  host.AddChain({"Relu", "Exp", "Relu", "Exp", "Relu"});
  Shown shown(host);
  ReplaceRuns(shown.model, "Relu");
  EXPECT_EQ(shown.model.TakeClaims().size(), 3u);
}

TEST(DelegateModel, NodeOfAnotherHasNoPrimitiveAndBreaksARun) {
  fake::Host host;
  host.AddChain({"Relu", "Relu", "Relu"});
  host.nodes[1].offered = false;
  Shown shown(host);
  EXPECT_EQ(shown.model.GetPrimitive(*(shown.model.BeginKernelIterator() + 1)), nullptr);
  ReplaceRuns(shown.model, "Relu");
  EXPECT_EQ(shown.model.TakeClaims().size(), 2u);
}

TEST(DelegateModel, NodeOfTooNewADefinitionHasNoPrimitive) {
  fake::Host host;
  host.AddChain({"Relu"});
  host.nodes[0].since = static_cast<uint32_t>(NewestDefinition("", "Relu")) + 1;
  Shown shown(host);
  EXPECT_EQ(shown.model.GetPrimitive(*shown.model.BeginKernelIterator()), nullptr);
}

TEST(DelegateModel, RangeOverANodeOfAnotherIsRefusedAndTheKernelDestroyed) {
  fake::Host host;
  host.AddChain({"Relu", "Relu"});
  host.nodes[1].offered = false;
  Shown shown(host);
  int alive = 0;
  shown.model.Replace(shown.model.BeginKernelIterator(), shown.model.EndKernelIterator(), new SubGraph(&alive));
  EXPECT_EQ(shown.model.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(Types(shown.model).size(), 2u);
}

TEST(DelegateModel, NullKernelIsRefused) {
  fake::Host host;
  host.AddChain({"Relu"});
  Shown shown(host);
  const auto next = shown.model.Replace(shown.model.BeginKernelIterator(), shown.model.EndKernelIterator(), nullptr);
  EXPECT_FALSE(shown.model.status().ok());
  EXPECT_EQ(next + 1, shown.model.EndKernelIterator());
}

TEST(DelegateModel, EmptyRangeIsRefused) {
  fake::Host host;
  host.AddChain({"Relu"});
  Shown shown(host);
  shown.model.Replace(shown.model.BeginKernelIterator(), shown.model.BeginKernelIterator(), new SubGraph);
  EXPECT_FALSE(shown.model.status().ok());
}

TEST(DelegateModel, ReplacedKernelCannotBeReplacedAgain) {
  fake::Host host;
  host.AddChain({"Relu", "Exp"});
  Shown shown(host);
  const auto begin = shown.model.BeginKernelIterator();
  shown.model.Replace(begin, begin + 1, new SubGraph);
  shown.model.Replace(shown.model.BeginKernelIterator(), shown.model.EndKernelIterator(), new SubGraph);
  EXPECT_FALSE(shown.model.status().ok());
}

TEST(GraphTensors, InnerValueThatIsAlsoReadOutsideIsAnOutput) {
  fake::Host host;
  host.AddChain({"Relu", "Relu", "Exp"});
  const auto extra = host.AddValue("extra");
  host.AddNode({"Exp", {1}, {extra}});
  Shown shown(host);
  const auto begin = shown.model.BeginKernelIterator();
  const std::vector<Kernel*> kernels(begin, begin + 2);
  const auto outputs = GraphOutTensors(kernels, shown.model);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].Id(), 1u);
  EXPECT_EQ(outputs[1].Id(), 2u);
}

TEST(GraphTensors, ModelOutputThatIsAlsoReadInsideIsAnOutput) {
  fake::Host host;
  host.AddChain({"Relu", "Relu"});
  host.outputs = {1, 2};
  Shown shown(host);
  const std::vector<Kernel*> kernels(shown.model.BeginKernelIterator(), shown.model.EndKernelIterator());
  EXPECT_EQ(GraphOutTensors(kernels, shown.model).size(), 2u);
}

TEST(GraphTensors, InputsHaveNoDuplicatesAndNoConstants) {
  fake::Host host;
  const auto x = host.AddValue("x"), c = host.AddConstant("c", {1, 2}), y = host.AddValue("y"), z = host.AddValue("z");
  host.AddNode({"Add", {x, c}, {y}});
  host.AddNode({"Mul", {x, y}, {z}});
  host.inputs = {x};
  host.outputs = {z};
  Shown shown(host);
  const std::vector<Kernel*> kernels(shown.model.BeginKernelIterator(), shown.model.EndKernelIterator());
  const auto inputs = GraphInTensors(kernels);
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].Name(), "x");
}

TEST(GraphTensors, LeftOutInputIsNoInput) {
  fake::Host host;
  const auto x = host.AddValue("x"), y = host.AddValue("y");
  host.AddNode({"Clip", {x, DEPUTY_NO_VALUE}, {y}});
  Shown shown(host);
  Kernel* clip = *shown.model.BeginKernelIterator();
  EXPECT_TRUE(clip->inputs()[1] == nullptr);
  EXPECT_EQ(GraphInTensors({clip}).size(), 1u);
}

TEST(DelegateModel, ConstantHasItsDataAndCannotBeWritten) {
  fake::Host host;
  const auto c = host.AddConstant("c", {1, 2}), y = host.AddValue("y");
  host.AddNode({"Relu", {c}, {y}});
  Shown shown(host);
  const Tensor& constant = (*shown.model.BeginKernelIterator())->inputs()[0];
  ASSERT_TRUE(constant.IsConst());
  EXPECT_EQ(static_cast<const float*>(constant.Data())[1], 2.0f);
  EXPECT_EQ(constant.MutableData(), nullptr);
  EXPECT_EQ(constant.DataSize(), 8u);
}

}  // namespace
}  // namespace deputy::sdk
