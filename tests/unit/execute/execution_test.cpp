// Plans over the CPU, run by hand: homes of values, dynamic extents, branches.
#include "execute/execution.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/file.hpp"
#include "plan/make_plan.hpp"
#include "support/test_delegate.hpp"
#include "unit/execute/cpu_plan.hpp"

namespace deputy::host {
namespace {

using ExecutionTest = CpuPlanTest;

TEST_F(ExecutionTest, AChainRunsThroughTheArenaIntoTheBoundOutput) {
  Graph graph;
  const ValueId x = graph.AddValue("x", FloatType({3})), a = graph.AddValue("a"), b = graph.AddValue("b");
  const ValueId y = graph.AddValue("y");
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes = {MakeNode("Neg", 13, {x}, {a}), MakeNode("Abs", 13, {a}, {b}), MakeNode("Add", 14, {a, b}, {y})};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  EXPECT_EQ(plan_->slots[b].storage, StorageClass::kArena);
  EXPECT_EQ(plan_->slots[y].storage, StorageClass::kBound);
  std::vector<float> in = {1, -2, 3}, out(3);
  execution_->Bind(x, in.data());
  execution_->Bind(y, out.data());
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(out, (std::vector<float>{0, 4, 0}));
}

TEST_F(ExecutionTest, APlacementByAnotherPolicyRuns) {
  class TakeTurns final : public PlacementPolicy {
    Ranking Rank(Eligibility&) const override { return {{}, {{0, 2, 1, 0}, {1, 0, 2, 1}, {2, 1, 0, 2}}}; }
  };
  PlacementOptions options;
  options.policy = std::make_shared<TakeTurns>();
  Graph graph = TestGraph({{"neg", "Neg"}, {"abs", "Abs"}, {"minus", "Neg"}, {"back", "Abs"}}).graph;
  const ValueId x = graph.inputs[0], y = graph.outputs[0];
  ASSERT_TRUE(Prepare(std::move(graph), options, nullptr, 3).ok());
  for (NodeId node = 0; node < 4; ++node) EXPECT_EQ(plan_->placement.delegate_of(node), node % 3) << node;
  std::vector<float> in = {1, -2, 3, -4}, out(4);
  execution_->Bind(x, in.data());
  execution_->Bind(y, out.data());
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(ExecutionTest, ADelegateSeesTheDeadlineAndTheCancelOfItsRun) {
  const auto npu = std::make_shared<TestDelegate>("npu", std::set<std::string>{"*"});
  ASSERT_TRUE(Prepare(TestGraph({{"a", "Relu"}, {"y", "Relu"}}).graph, {}, npu).ok());
  std::atomic<uint64_t> cancelled_ns{0};
  const CancellationToken token{NowNs() + 3600'000'000'000u, &cancelled_ns};
  npu->execute = [&](const RunArgs& args) {
    EXPECT_EQ(args.deadline_ns(), token.deadline_ns);
    EXPECT_FALSE(args.cancellation->Due());
    cancelled_ns = 1;
    return args.cancellation->Check();
  };
  EXPECT_EQ(execution_->Run(token).code(), StatusCode::kCancelled);
}

// Memory that a second mapping of the same file shows.
class FileMemory final : public ArenaSource {
 public:
  FileMemory() : file_(memfd_create("arena", MFD_CLOEXEC)) {}
  std::shared_ptr<uint8_t> Allocate(size_t bytes) override {
    used_ = true;
    return ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0 ? Map(bytes) : nullptr;
  }
  std::shared_ptr<uint8_t> Map(size_t bytes) const {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    return {static_cast<uint8_t*>(memory), [bytes](uint8_t* at) { munmap(at, bytes); }};
  }
  bool is_used() const { return used_; }

 private:
  const Descriptor file_;
  bool used_ = false;
};

// Where a delegate reads it that runs elsewhere, and on the heap where none does.
TEST_F(ExecutionTest, TheArenaLiesInTheMemoryThatTheCallerGives) {
  for (const bool shared : {false, true}) {
    const auto npu = std::make_shared<TestDelegate>("npu", std::set<std::string>{"Abs"});
    npu->shared_memory = shared;
    TestGraph graph;
    graph.Input("x").Node("a", "Neg", {"x"}).Node("b", "Abs", {"a"}).Node("y", "Add", {"x", "b"}).Output("y");
    const ValueId x = graph.Value("x"), a = graph.Value("a"), y = graph.Value("y");
    ASSERT_TRUE(Prepare(graph.graph, {}, npu).ok());
    FileMemory memory;
    const Result<std::unique_ptr<Execution>> execution = Execution::Create(plan_, nullptr, {&memory});
    ASSERT_TRUE(execution.ok());
    std::vector<float> in = {1, -2, 3, 4}, out(4), seen(4);
    npu->execute = [&](const RunArgs& args) {
      EXPECT_EQ(memory.is_used(), shared);
      const std::shared_ptr<uint8_t> arena = shared ? memory.Map(plan_->arena_bytes) : nullptr;
      std::memcpy(seen.data(), shared ? arena.get() + plan_->slots[a].offset : args.inputs[0]->data, 16);
      std::memcpy(args.outputs[0]->data, in.data(), 16);
      return Status();
    };
    (*execution)->Bind(x, in.data());
    (*execution)->Bind(y, out.data());
    ASSERT_TRUE((*execution)->Run().ok());
    EXPECT_EQ(seen, (std::vector<float>{-1, 2, -3, -4}));
    EXPECT_EQ(out, (std::vector<float>{2, -4, 6, 8}));
  }
}

TEST_F(ExecutionTest, OutputsThatAnOperatorMustHaveAreWrittenAlsoUnread) {
  Graph graph;
  const ValueId x = graph.AddValue("x", FloatType({2, 2}));
  const ValueId scale =
      graph.AddConstant("scale", *Tensor::FromValues<float>(DType::kFloat32, {2}, std::vector<float>{1, 1}));
  const ValueId normalized = graph.AddValue("normalized"), mean = graph.AddValue("mean");
  const ValueId bytes = graph.AddValue("bytes"), step = graph.AddValue("step"), zero = graph.AddValue("zero");
  graph.inputs = {x};
  graph.outputs = {mean, zero};
  graph.nodes = {MakeNode("LayerNormalization", 17, {x, scale}, {normalized, mean}),
                 MakeNode("DynamicQuantizeLinear", 11, {x}, {bytes, step, zero})};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  std::vector<float> in = {1, 3, -255, 0}, out(2);
  uint8_t zero_point = 0;
  execution_->Bind(x, in.data());
  execution_->Bind(mean, out.data());
  execution_->Bind(zero, &zero_point);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(out, (std::vector<float>{2, -127.5f}));
  EXPECT_EQ(zero_point, 252);
}

TEST_F(ExecutionTest, ExtentsThatOnlyTheRunKnowsGrowAndShrink) {
  Graph graph;
  constexpr int64_t kMany = 1 << 20;  // far beyond the end of a small buffer
  const ValueId x = graph.AddValue("x", FloatType({kMany})), n = graph.AddValue("n", {DType::kInt64, true, {1}});
  const ValueId zero =
      graph.AddConstant("zero", *Tensor::FromValues<int64_t>(DType::kInt64, {1}, std::vector<int64_t>{0}));
  const ValueId y = graph.AddValue("y");
  graph.inputs = {x, n};
  graph.outputs = {y};
  graph.nodes = {MakeNode("Slice", 13, {x, zero, n}, {y})};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  EXPECT_EQ(plan_->slots[y].storage, StorageClass::kDynamic);
  std::vector<float> in(kMany, 3);
  int64_t length = 2;
  execution_->Bind(x, in.data());
  execution_->Bind(n, &length);
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Values(y), (std::vector<float>{3, 3}));
  length = kMany;
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Values(y), in);
  length = 0;
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_TRUE(Values(y).empty());
}

TEST_F(ExecutionTest, ARunThatIsCancelledBeforeDoesNotBegin) {
  Graph graph;
  const ValueId x = graph.AddValue("x", FloatType({2, 3})), y = graph.AddValue("y");
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes = {MakeNode("Shape", 15, {x}, {y})};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  std::vector<float> in(6);
  std::vector<int64_t> out = {-1, -1};
  execution_->Bind(x, in.data());
  execution_->Bind(y, out.data());
  const std::atomic<uint64_t> cancelled{1};
  EXPECT_EQ(execution_->Run({0, &cancelled}).code(), StatusCode::kCancelled);
  EXPECT_EQ(out, (std::vector<int64_t>{-1, -1}));
}

Graph IfGraph(ValueType condition_type) {
  Graph graph;
  const ValueId c = graph.AddValue("c", std::move(condition_type)), x = graph.AddValue("x", FloatType({2}));
  const ValueId y = graph.AddValue("y");
  graph.inputs = {c, x};
  graph.outputs = {y};
  Node node = MakeNode("If", 13, {c}, {y});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto body = std::make_shared<Graph>();
    const ValueId captured = body->AddValue("x"), made = body->AddValue("made");
    body->captured = {captured};
    body->outputs = {made};
    body->nodes = {MakeNode(name[0] == 't' ? "Neg" : "Abs", 13, {captured}, {made})};
    node.regions.push_back({name, body, {x}});
  }
  graph.nodes = {std::move(node)};
  return graph;
}

TEST_F(ExecutionTest, AnIfRunsTheBranchOfItsCondition) {
  Graph graph = IfGraph({DType::kBool, true, {}});
  const ValueId c = graph.inputs[0], x = graph.inputs[1], y = graph.outputs[0];
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  uint8_t condition = 1;
  std::vector<float> in = {3, -4}, out(2);
  execution_->Bind(c, &condition);
  execution_->Bind(x, in.data());
  execution_->Bind(y, out.data());
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(out, (std::vector<float>{-3, 4}));
  condition = 0;
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(out, (std::vector<float>{3, 4}));
}

// Exporters write the branch for other shapes beside the one that these shapes take.
TEST_F(ExecutionTest, ABranchThatDoesNotFitTheShapesFailsOnlyWhereItIsTaken) {
  Graph graph = IfGraph({DType::kBool, true, {}});
  const ValueId c = graph.inputs[0], x = graph.inputs[1], y = graph.outputs[0];
  auto body = std::make_shared<Graph>(*graph.nodes[0].regions[0].body);
  const ValueId weights = body->AddConstant("weights", *Tensor::Allocate(DType::kFloat32, {3, 2}));
  body->nodes = {MakeNode("MatMul", 13, {body->captured[0], weights}, {body->outputs[0]})};
  graph.nodes[0].regions[0].body = body;
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  uint8_t condition = 0;
  std::vector<float> in = {3, -4};
  execution_->Bind(c, &condition);
  execution_->Bind(x, in.data());
  ASSERT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Values(y), (std::vector<float>{3, 4}));
  condition = 1;
  const Status status = execution_->Run();
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(),
            "shapes [2] and [3,2] are incompatible for matrix multiplication: inner extents 2 and 3 differ");
}

TEST_F(ExecutionTest, BranchesOfDifferentDTypesAreRefused) {
  Graph graph = IfGraph({DType::kBool, true, {}});
  auto body = std::make_shared<Graph>(*graph.nodes[0].regions[1].body);
  body->nodes = {MakeNode("Shape", 13, {body->captured[0]}, {body->outputs[0]})};
  graph.nodes[0].regions[1].body = body;
  const Status status = Prepare(std::move(graph));
  EXPECT_EQ(status.code(), StatusCode::kModel);
  EXPECT_EQ(status.message(), "a value has dtype float32 in one branch or iteration and int64 in another");
}

// As of a custom operator whose result is not what its model declares. The memory of the output has two bytes.
TEST_F(ExecutionTest, AResultOfAnotherDTypeThanPlannedIsNotWritten) {
  Graph graph = IfGraph({DType::kBool, true, {}});
  const ValueId c = graph.inputs[0], x = graph.inputs[1], y = graph.outputs[0];
  ASSERT_TRUE(InferGraph(graph, {}).ok());
  graph.values[y].type.dtype = DType::kInt8;
  const std::vector<HostedDelegate> delegates = {MakeCpuDelegate(std::make_shared<ThreadPool>(1))};
  Result<std::shared_ptr<const Plan>> plan = MakePlan(std::make_shared<Graph>(std::move(graph)), delegates, {});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  Result<std::unique_ptr<Execution>> execution = Execution::Create(*plan);
  ASSERT_TRUE(execution.ok());
  uint8_t condition = 1;
  std::vector<float> in = {3, -4};
  std::vector<int8_t> out = {7, 7};
  (*execution)->Bind(c, &condition);
  (*execution)->Bind(x, in.data());
  (*execution)->Bind(y, out.data());
  for (int run = 0; run < 2; ++run) {
    const Status status = (*execution)->Run();
    EXPECT_EQ(status.code(), StatusCode::kModel);
    EXPECT_EQ(status.message(), "value 'y' has dtype float32, but int8 in the model");
  }
  EXPECT_EQ(out, (std::vector<int8_t>{7, 7}));
}

TEST_F(ExecutionTest, AnInputOfAnotherTypeThanPlannedIsNotBound) {
  Graph graph = TestGraph({{"a", "Relu"}, {"y", "Relu"}}).graph;
  const ValueId x = graph.inputs[0];
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  deputy_tensor tensor = execution_->tensor(x);
  EXPECT_TRUE(execution_->Bind(x, tensor).ok());
  tensor.dtype = DEPUTY_DTYPE_INT64;
  EXPECT_EQ(execution_->Bind(x, tensor).code(), StatusCode::kModel);
  tensor = execution_->tensor(x);
  const int64_t more[] = {4, 4, 4, 4, 4};
  tensor.dims = more;
  tensor.rank = 5;
  EXPECT_EQ(execution_->Bind(x, tensor).code(), StatusCode::kModel);
}

// The working memory of the kernel would have 2^48 bytes.
TEST_F(ExecutionTest, AStepWhoseOutputsAreEmptyIsNotComputed) {
  Graph graph;
  constexpr int64_t kSize = int64_t{1} << 46;
  const ValueId x = graph.AddValue("x", FloatType({0, kSize})), y = graph.AddValue("y");
  const ValueId scale =
      graph.AddConstant("scale", *Tensor::FromValues<float>(DType::kFloat32, {1}, std::vector<float>{1}));
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes = {MakeNode("LayerNormalization", 17, {x, scale}, {y})};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  EXPECT_TRUE(execution_->Run().ok());
  EXPECT_EQ(Dims(y), (std::vector<int64_t>{0, kSize}));
}

TEST_F(ExecutionTest, AKnownConditionPutsItsBranchInPlaceOfTheIf) {
  Graph graph = IfGraph({DType::kBool, true, {}});
  Tensor yes = *Tensor::Allocate(DType::kBool, {});
  yes.mutable_values<uint8_t>()[0] = 1;
  graph.values[graph.inputs[0]].constant = yes;
  graph.inputs.erase(graph.inputs.begin());
  ASSERT_TRUE(InferGraph(graph, {MakeCpuEvaluator()}).ok());
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].kind(), OpKind::kNeg);
  EXPECT_EQ(graph.nodes[1].kind(), OpKind::kIdentity);
  EXPECT_TRUE(VerifyGraph(graph).ok());
}

TEST_F(ExecutionTest, AFailingStepNamesItsNode) {
  Graph graph;
  const ValueId x = graph.AddValue("x", FloatType({4})), i = graph.AddValue("i", {DType::kInt64, true, {1}});
  const ValueId y = graph.AddValue("y");
  graph.inputs = {x, i};
  graph.outputs = {y};
  graph.nodes = {MakeNode("Gather", 13, {x, i}, {y})};
  ASSERT_TRUE(Prepare(std::move(graph)).ok());
  std::vector<float> in(4), out(1);
  int64_t index = 9;
  execution_->Bind(x, in.data());
  execution_->Bind(i, &index);
  execution_->Bind(y, out.data());
  const Status status = execution_->Run();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.where(), "node 'Gather' (Gather)");
}

TEST_F(ExecutionTest, ShapesOfKnownValuesAreFolded) {
  Graph graph;
  const ValueId x = graph.AddValue("x", FloatType({2, 6})), shape = graph.AddValue("shape"), y = graph.AddValue("y");
  graph.inputs = {x};
  graph.outputs = {y};
  graph.nodes = {MakeNode("Shape", 13, {x}, {shape}), MakeNode("Reshape", 13, {x, shape}, {y})};
  ASSERT_TRUE(InferGraph(graph, {MakeCpuEvaluator()}).ok());
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.values[y].type.dims, (std::vector<int64_t>{2, 6}));
}

}  // namespace
}  // namespace deputy::host
