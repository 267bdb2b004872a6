// A delegate in MindSpore's shape through the C tables: claims, adoption, refusal, runs, shapes, threads.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "deputy/sdk/sdk.hpp"
#include "unit/sdk/fake_host.hpp"

namespace deputy::sdk {
namespace {

// Adds one to every element per node it holds; counts what is done to it.
struct Counts {
  int alive = 0, prepared = 0, resized = 0;
  std::atomic<int> running{0};
  bool overlapped = false;
  Code prepare = kSuccess, resize = kSuccess;
  bool throw_in_execute = false, throw_in_resize = false;
};

class AddOnes final : public Kernel {
 public:
  AddOnes(Counts& counts, float sum, std::vector<Tensor> inputs, std::vector<Tensor> outputs)
      : Kernel(std::move(inputs), std::move(outputs)), counts_(counts), sum_(sum) {
    ++counts_.alive;
  }
  ~AddOnes() override { --counts_.alive; }

  Status Prepare() override {
    ++counts_.prepared;
    return {counts_.prepare, "cannot prepare"};
  }
  Status ReSize() override {
    ++counts_.resized;
    if (counts_.throw_in_resize) throw std::runtime_error("thrown in ReSize");
    return {counts_.resize, "cannot resize"};
  }
  Status Execute() override {
    if (counts_.throw_in_execute) throw std::runtime_error("thrown in Execute");
    if (++counts_.running != 1) counts_.overlapped = true;
    const auto* from = static_cast<const float*>(inputs()[0].Data());
    auto* to = static_cast<float*>(outputs()[0].MutableData());
    for (int64_t i = 0; i < outputs()[0].ElementNum(); ++i) to[i] = from[i] + sum_;
    --counts_.running;
    return kSuccess;
  }

 private:
  Counts& counts_;
  float sum_;
};

class TestDelegate final : public Delegate {
 public:
  explicit TestDelegate(Counts& counts) : counts_(counts) {}

  Status Init() override { return kSuccess; }
  Status Build(DelegateModel* model) override {
    KernelIter from, end;
    std::vector<Kernel*> run;
    for (auto iter = model->BeginKernelIterator(); iter != model->EndKernelIterator(); iter++) {
      if (model->GetPrimitive(*iter) != nullptr && (*iter)->type() == "Relu") {
        if (run.empty()) from = iter;
        run.push_back(*iter);
        end = iter;
      } else if (!run.empty()) {
        iter = model->Replace(from, end + 1, Make(run, *model));
        run.clear();
      }
    }
    if (!run.empty()) model->Replace(from, end + 1, Make(run, *model));
    if (fail_after_replace) return Status(kLiteError, "Build changed its mind");
    return kSuccess;
  }

  bool fail_after_replace = false;
  const Kernel* last_made = nullptr;

 private:
  Kernel* Make(const std::vector<Kernel*>& run, const DelegateModel& model) {
    auto* kernel =
        new AddOnes(counts_, static_cast<float>(run.size()), GraphInTensors(run), GraphOutTensors(run, model));
    kernel->set_name("ones");
    last_made = kernel;
    return kernel;
  }

  Counts& counts_;
};

struct BuildDelegateTest : testing::Test {
  Counts counts;
  std::shared_ptr<TestDelegate> object = std::make_shared<TestDelegate>(counts);
  InProcessPlugin plugin = MakeInProcessPlugin(object);
  const deputy_delegate* delegate = plugin.plugin->delegate_at(plugin.plugin, 0);
  fake::Host host;

  struct Compiled {
    const deputy_delegate* delegate;
    deputy_executable* executable = nullptr;
    deputy_context* context = nullptr;
    explicit Compiled(const deputy_delegate* d) : delegate(d) {}
    Compiled(const Compiled&) = delete;
    ~Compiled() {
      if (context != nullptr) delegate->context_destroy(context);
      if (executable != nullptr) delegate->executable_destroy(executable);
    }
  };
  // Proposes on a chain and compiles the first claim.
  void Adopt(fake::Opened& opened, Compiled& compiled) {
    ASSERT_EQ(opened.Propose(), nullptr);
    ASSERT_FALSE(host.claims.empty());
    ASSERT_EQ(opened.Compile(host.claims[0], &compiled.executable), nullptr);
    ASSERT_EQ(fake::StatusPtr(
                  delegate->context_create(compiled.executable, &deputy::plain::kPlainContext, &compiled.context)),
              nullptr);
  }
};

TEST_F(BuildDelegateTest, IsMarkedSerial) { EXPECT_NE(delegate->flags & DEPUTY_DELEGATE_SERIAL, 0u); }

// Seed row 14.
TEST_F(BuildDelegateTest, ReplaceBecomesAClaimWithOrderedInputsAndOutputs) {
  host.AddChain({"Exp", "Relu", "Relu", "Exp"});
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.Propose(), nullptr);
  ASSERT_EQ(host.claims.size(), 1u);
  EXPECT_EQ(host.claims[0].nodes, (std::vector<deputy_node_id>{1, 2}));
  EXPECT_EQ(host.claims[0].inputs, std::vector<deputy_value_id>{1});
  EXPECT_EQ(host.claims[0].outputs, std::vector<deputy_value_id>{3});
  opened.Release(host.claims[0]);
}

// Seed rows 10, 46.
TEST_F(BuildDelegateTest, AdoptedClaimIsPreparedOnceAndRuns) {
  host.AddChain({"Relu", "Relu", "Relu"});
  fake::Opened opened(host, delegate);
  Compiled compiled(delegate);
  Adopt(opened, compiled);
  EXPECT_EQ(counts.prepared, 1);
  std::vector<std::vector<float>> outputs{{0, 0}};
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{1, 2}}, outputs), nullptr);
  EXPECT_EQ(outputs[0], (std::vector<float>{4, 5}));
}

TEST_F(BuildDelegateTest, RefusedClaimIsDestroyedAndLogged) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.Propose(), nullptr);
  ASSERT_EQ(counts.alive, 1);
  opened.Release(host.claims[0]);
  EXPECT_EQ(counts.alive, 0);
  ASSERT_EQ(host.log.size(), 1u);
  EXPECT_NE(host.log[0].find("refused the partition 'ones'"), std::string::npos);
}

TEST_F(BuildDelegateTest, KernelDiesWithItsExecutable) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  {
    Compiled compiled(delegate);
    Adopt(opened, compiled);
    EXPECT_EQ(counts.alive, 1);
  }
  EXPECT_EQ(counts.alive, 0);
}

TEST_F(BuildDelegateTest, ClaimThatTheSinkDoesNotTakeStaysTheLayersAndDies) {
  host.AddChain({"Relu"});
  host.refuse_claims = true;
  fake::Opened opened(host, delegate);
  const fake::StatusPtr failure = opened.Propose();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "refused by the fake host");
  EXPECT_EQ(counts.alive, 0);
}

TEST_F(BuildDelegateTest, FailedBuildLeavesNoClaims) {
  host.AddChain({"Relu"});
  object->fail_after_replace = true;
  fake::Opened opened(host, delegate);
  const fake::StatusPtr failure = opened.Propose();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "Build changed its mind");
  EXPECT_TRUE(host.claims.empty());
  EXPECT_EQ(counts.alive, 0);
}

TEST_F(BuildDelegateTest, FailedPrepareConsumesTheClaim) {
  host.AddChain({"Relu"});
  counts.prepare = kLiteNotSupport;
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.Propose(), nullptr);
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure = opened.Compile(host.claims[0], &executable);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_NOT_SUPPORTED);
  EXPECT_EQ(executable, nullptr);
  EXPECT_EQ(counts.alive, 0);
}

TEST_F(BuildDelegateTest, ClaimIsConsumedWhenTheGraphCannotBeRead) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.Propose(), nullptr);
  host.fail_value_info = true;
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure = opened.Compile(host.claims[0], &executable);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(executable, nullptr);
  EXPECT_EQ(counts.alive, 0);
}

TEST_F(BuildDelegateTest, PartitionThatReadsMoreThanTheKernelWritesIsRefused) {
  host.AddChain({"Relu", "Relu"});
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.Propose(), nullptr);
  fake::Claim wider = host.claims[0];
  wider.outputs.push_back(1);
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure = opened.Compile(wider, &executable);
  ASSERT_NE(failure, nullptr);
  EXPECT_NE(failure->message.find("'v1'"), std::string::npos);
}

TEST_F(BuildDelegateTest, PartitionThatItDidNotProposeIsNotSupported) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  deputy_executable* executable = nullptr;
  const fake::StatusPtr failure = opened.Compile({{0}, {0}, {1}, nullptr}, &executable);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_NOT_SUPPORTED);
}

TEST_F(BuildDelegateTest, SameShapesCauseNoResize) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  Compiled compiled(delegate);
  Adopt(opened, compiled);
  std::vector<std::vector<float>> outputs{{0, 0}};
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{1, 2}}, outputs), nullptr);
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{3, 4}}, outputs), nullptr);
  EXPECT_EQ(counts.resized, 0);
}

// Seed row 46.
TEST_F(BuildDelegateTest, OtherShapesCauseOneResize) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  Compiled compiled(delegate);
  Adopt(opened, compiled);
  std::vector<std::vector<float>> outputs{{0, 0, 0}};
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{1, 2, 3}}, outputs), nullptr);
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{1, 2, 3}}, outputs), nullptr);
  EXPECT_EQ(counts.resized, 1);
  EXPECT_EQ(outputs[0], (std::vector<float>{2, 3, 4}));
}

TEST_F(BuildDelegateTest, FailedResizeIsTriedAgain) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  Compiled compiled(delegate);
  Adopt(opened, compiled);
  counts.resize = kLiteNotSupport;
  std::vector<std::vector<float>> outputs{{0, 0, 0}};
  const fake::StatusPtr failure = fake::Execute(delegate, compiled.context, {{1, 2, 3}}, outputs);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_NOT_SUPPORTED);
  counts.resize = kSuccess;
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{1, 2, 3}}, outputs), nullptr);
  EXPECT_EQ(counts.resized, 2);
}

TEST_F(BuildDelegateTest, ContextIsAsItWasWhenReSizeThrows) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  Compiled compiled(delegate);
  Adopt(opened, compiled);
  const auto* resize = static_cast<const deputy_ext_resize*>(delegate->get_extension(delegate, DEPUTY_EXT_RESIZE));
  const int64_t longer = 3;
  deputy_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = DEPUTY_DTYPE_FLOAT32;
  tensor.rank = 1;
  tensor.dims = &longer;
  const deputy_tensor* tensors[] = {&tensor};
  const deputy_resize_args args{sizeof args, 1, 1, 0, tensors, tensors};
  deputy_resize_outcome outcome = DEPUTY_RESIZE_DONE;
  counts.throw_in_resize = true;
  const fake::StatusPtr failure(resize->resize(compiled.context, &args, &outcome));
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->message, "thrown in ReSize");
  EXPECT_EQ(object->last_made->inputs()[0].Shape(), std::vector<int64_t>{2});
  EXPECT_EQ(object->last_made->outputs()[0].Shape(), std::vector<int64_t>{2});
  // It may have got half way: a run with the shapes of before has it go back.
  counts.throw_in_resize = false;
  std::vector<std::vector<float>> outputs{{0, 0}};
  ASSERT_EQ(fake::Execute(delegate, compiled.context, {{1, 2}}, outputs), nullptr);
  EXPECT_EQ(counts.resized, 2);
  EXPECT_EQ(outputs[0], (std::vector<float>{2, 3}));
}

TEST_F(BuildDelegateTest, ExceptionOfAKernelBecomesAStatus) {
  host.AddChain({"Relu"});
  fake::Opened opened(host, delegate);
  Compiled compiled(delegate);
  Adopt(opened, compiled);
  counts.throw_in_execute = true;
  std::vector<std::vector<float>> outputs{{0, 0}};
  const fake::StatusPtr failure = fake::Execute(delegate, compiled.context, {{1, 2}}, outputs);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->code, DEPUTY_INTERNAL);
  EXPECT_EQ(failure->message, "thrown in Execute");
}

TEST_F(BuildDelegateTest, TwoSessionsOnTwoThreadsGetTheirOwnAnswers) {
  host.AddChain({"Relu", "Exp", "Relu"});  // two kernels over one model's tensors
  fake::Opened opened(host, delegate);
  ASSERT_EQ(opened.Propose(), nullptr);
  ASSERT_EQ(host.claims.size(), 2u);
  Compiled first(delegate), second(delegate);
  ASSERT_EQ(opened.Compile(host.claims[0], &first.executable), nullptr);
  ASSERT_EQ(opened.Compile(host.claims[1], &second.executable), nullptr);

  std::atomic<int> wrong{0};
  const auto session = [&](float base, size_t size) {
    deputy_context* contexts[2] = {};
    if (delegate->context_create(first.executable, &deputy::plain::kPlainContext, &contexts[0]) != nullptr ||
        delegate->context_create(second.executable, &deputy::plain::kPlainContext, &contexts[1]) != nullptr)
      ++wrong;
    for (int run = 0; run < 500; ++run) {
      std::vector<float> input(size, base + static_cast<float>(run));
      for (deputy_context* context : contexts) {
        std::vector<std::vector<float>> outputs{std::vector<float>(size)};
        if (fake::Execute(delegate, context, {input}, outputs) != nullptr) ++wrong;
        for (size_t i = 0; i < size; ++i)
          if (outputs[0][i] != input[i] + 1) ++wrong;
        input = outputs[0];
      }
    }
    for (deputy_context* context : contexts) delegate->context_destroy(context);
  };
  std::thread other(session, 1000.0f, size_t{5});
  session(0.0f, 2);
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_FALSE(counts.overlapped);
}

}  // namespace
}  // namespace deputy::sdk
