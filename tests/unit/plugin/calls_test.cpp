// What the host passes to a plugin with compile, context_create and execute, what it asks beside them, and which calls
// it keeps apart.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/cancellation.hpp"
#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::Able;
using testing::AbleDelegate;

class Calls : public AbleDelegate {
 protected:
  Calls() {
    for (deputy_tensor* tensor : {&input_, &output_}) {
      tensor->struct_size = sizeof *tensor;
      tensor->dtype = DEPUTY_DTYPE_FLOAT32;
      tensor->rank = 1;
      tensor->dims = dims_;
      tensor->byte_size = sizeof(float);
    }
    input_.data = &in_;
    output_.data = &out_;
    actor_.run = [this](const deputy_run_args& args) {
      runs_.push_back(args);
      if (args.outputs[0]->data != nullptr) static_cast<float*>(args.outputs[0]->data)[0] = 1;
    };
  }
  RunArgs Args() { return {inputs_, outputs_}; }

  float in_ = 0, out_ = 0;
  const int64_t dims_[1] = {1};
  deputy_tensor input_{}, output_{};
  const deputy_tensor* inputs_[1] = {&input_};
  deputy_tensor* outputs_[1] = {&output_};
  std::vector<deputy_run_args> runs_;
};

TEST_F(Calls, RunsOfAContextAreNumbered) {
  const auto context = Context();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(context->Execute(Args()).ok());
  ASSERT_EQ(runs_.size(), 3u);
  EXPECT_EQ(runs_[0].run, 1u);
  EXPECT_EQ(runs_[2].run, 3u);
  EXPECT_EQ(runs_[2].struct_size, sizeof(deputy_run_args));
  EXPECT_EQ(runs_[2].flags, 0u);
  EXPECT_EQ(runs_[2].allocator, nullptr) << "the extents of its output are known";
  EXPECT_EQ(runs_[2].scratch, nullptr);
}

TEST_F(Calls, HintsReachTheRun) {
  const auto context = Context();
  RunArgs args = Args();
  args.hints = {2, DType::kFloat16};
  ASSERT_TRUE(context->Execute(args).ok());
  EXPECT_EQ(runs_.back().power_level, 2u);
  EXPECT_EQ(runs_.back().precision, DEPUTY_DTYPE_FLOAT16);
}

// Seed row 52.
TEST_F(Calls, ScratchMemoryIsTheHostsAndAlignedAndAskedAgainAfterAResize) {
  static int asked;
  asked = 0;
  actor_.delegate.scratch_size = [](deputy_context*) -> uint64_t { return 100u * static_cast<uint64_t>(++asked); };
  actor_.resized = [](const deputy_resize_args&, deputy_resize_outcome&) -> deputy_status* { return nullptr; };
  const auto context = Context();
  Scratch shared;
  RunArgs args = Args();
  args.scratch = &shared;
  ASSERT_TRUE(context->Execute(args).ok());
  ASSERT_TRUE(context->Execute(args).ok());
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(runs_.back().scratch_size, 100u);
  EXPECT_EQ(runs_.back().scratch, shared.Get(1).value()) << "steps of one session share it";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(runs_.back().scratch) % 64, 0u);
  ASSERT_TRUE(context->Resize(inputs_, {const_cast<const deputy_tensor**>(outputs_), 1}).ok());
  ASSERT_TRUE(context->Execute(args).ok());
  EXPECT_EQ(runs_.back().scratch_size, 200u);
}

TEST_F(Calls, ScratchThatNoMachineHasIsAnError) {
  actor_.delegate.scratch_size = [](deputy_context*) -> uint64_t { return uint64_t{1} << 60; };
  EXPECT_EQ(Context()->Execute(Args()).code(), StatusCode::kResourceExhausted);
}

TEST_F(Calls, CancelReachesTheRunThatIsUnderWay) {
  static std::atomic<uint64_t> cancelled;
  cancelled = 0;
  actor_.delegate.cancel = [](deputy_context*, uint64_t run) { cancelled = run; };
  const auto context = Context();
  ASSERT_TRUE(context->Execute(Args()).ok());
  std::atomic<uint64_t> when{0};
  CancelHook hook;
  const CancellationToken token{0, &when, &hook};
  std::thread canceller;
  actor_.run = [&](const deputy_run_args& args) {
    canceller = std::thread([&] {
      when = 1;
      hook.Call();
    });
    while (cancelled != args.run) std::this_thread::yield();
  };
  RunArgs args = Args();
  args.cancellation = &token;
  (void)context->Execute(args);
  canceller.join();
  EXPECT_EQ(cancelled, 2u) << "the number of the second run";
  hook.Call();  // no run: nothing is called
  EXPECT_EQ(cancelled, 2u);
}

TEST_F(Calls, ARunThatIsCancelledBeforeItBeginsIsNotBegun) {
  actor_.delegate.cancel = [](deputy_context*, uint64_t) {};
  const auto context = Context();
  std::atomic<uint64_t> when{1};
  CancelHook hook;
  const CancellationToken token{0, &when, &hook};
  RunArgs args = Args();
  args.cancellation = &token;
  EXPECT_EQ(context->Execute(args).code(), StatusCode::kCancelled);
  EXPECT_TRUE(runs_.empty());
}

TEST_F(Calls, CompileSeesCancellationDeadlineAndPriorityAndReportsProgress) {
  static deputy_compile_args seen;
  static uint32_t before, after;
  static std::atomic<uint64_t> when;
  when = 0;
  actor_.delegate.compile = [](deputy_instance* self, const deputy_compile_args* args, deputy_executable** out) {
    seen = *args;
    before = args->control->cancelled(args->control->self);
    when = 1;
    after = args->control->cancelled(args->control->self);
    args->control->progress(args->control->self, 1700, {"packing weights", 15});
    *out = reinterpret_cast<deputy_executable*>(self);
    return static_cast<deputy_status*>(nullptr);
  };
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
  std::vector<std::pair<uint32_t, std::string>> shown;
  OpenRequest request{"able", "stage", "", {}, nullptr};
  request.priority = 3;
  request.precision = DType::kFloat16;
  request.progress = [&](uint32_t permille, const std::string& step) { shown.emplace_back(permille, step); };
  delegate_ = registry_.Open(request).value();
  const CancellationToken token{NowNs() + 3600'000'000'000u, &when};
  const CompilationScope scope(token);
  ASSERT_TRUE(delegate_->Compile(view_, kFirst).ok());
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(after, 1u);
  EXPECT_EQ(seen.deadline_ns, token.deadline_ns);
  EXPECT_EQ(seen.priority, 3);
  EXPECT_EQ(seen.flags, 0u);
  EXPECT_EQ(seen.precision_count, 1u) << "the nodes of the partition";
  EXPECT_EQ(shown, (std::vector<std::pair<uint32_t, std::string>>{{1000, "packing weights"}}));
}

TEST_F(Calls, ThePrecisionIsPartOfTheIdentity) {
  ASSERT_TRUE(registry_.AddInProcess(&actor_.plugin, nullptr).ok());
  OpenRequest request{"able", "stage", "", {}, nullptr};
  EXPECT_TRUE(registry_.Open(request).value()->identity().options.empty());
  request.precision = DType::kFloat16;
  const DelegateIdentity identity = registry_.Open(request).value()->identity();
  ASSERT_EQ(identity.options.size(), 1u);
  EXPECT_EQ(identity.options[0].second, "float16");
}

// Two threads, one of which runs while the other compiles. `overlapped`: the calls were inside the plugin at once.
struct Together {
  std::atomic<int> inside{0};
  std::atomic<bool> overlapped{false};

  void Stay() {
    if (++inside > 1) overlapped = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
    while (std::chrono::steady_clock::now() < end && !overlapped) {
      if (inside > 1) overlapped = true;
      std::this_thread::yield();
    }
    --inside;
  }
};
Together* together = nullptr;

class LoadsAndRuns : public Calls {
 protected:
  bool Overlap(uint32_t flags) {
    Together state;
    together = &state;
    actor_.delegate.flags = flags;
    actor_.delegate.compile = [](deputy_instance* self, const deputy_compile_args*, deputy_executable** out) {
      *out = reinterpret_cast<deputy_executable*>(self);
      return static_cast<deputy_status*>(nullptr);
    };
    const auto context = Context();
    EXPECT_TRUE(context->Execute(Args()).ok());
    actor_.run = [](const deputy_run_args& args) {
      together->Stay();
      static_cast<float*>(args.outputs[0]->data)[0] = 1;
    };
    actor_.delegate.compile = [](deputy_instance* self, const deputy_compile_args*, deputy_executable** out) {
      together->Stay();
      *out = reinterpret_cast<deputy_executable*>(self);
      return static_cast<deputy_status*>(nullptr);
    };
    std::thread compiler([&] {
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(delegate_->Compile(view_, kFirst).ok());
    });
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(context->Execute(Args()).ok());
    compiler.join();
    return state.overlapped;
  }
};

TEST_F(LoadsAndRuns, OverlapByDefault) { EXPECT_TRUE(Overlap(0)); }
TEST_F(LoadsAndRuns, NeverOverlapInASerialDelegate) { EXPECT_FALSE(Overlap(DEPUTY_DELEGATE_SERIAL)); }
TEST_F(LoadsAndRuns, OverlapInASerialDelegateThatAllowsIt) {
  EXPECT_TRUE(Overlap(DEPUTY_DELEGATE_SERIAL | DEPUTY_DELEGATE_LOADS_WHILE_RUNNING));
}

}  // namespace
}  // namespace deputy::host
