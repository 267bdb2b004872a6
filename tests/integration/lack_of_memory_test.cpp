// Each single allocation fails once, from the configuration to the answer, in one process that goes on: it gives the
// right answer or an error, loses nothing, and the next attempt succeeds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "support/digits.hpp"
#include "support/failing_malloc.h"
#include "support/process_state.hpp"
#include "support/temp_folder.hpp"
#include "support/waiting.hpp"

namespace deputy {
namespace {

constexpr char kCpu[] = "delegates: []\n";
constexpr char kInProcess[] = "plugins: {paths: [" DEPUTY_TEST_PLUGINS
                              "], trust: any}\n"
                              "delegates: [{name: sim_npu, isolation: none, rules: {deny_ops: Gemm}}]\n";
constexpr char kInWorker[] = "plugins: {paths: [" DEPUTY_TEST_PLUGINS
                             "], trust: any}\n"
                             "delegates: [{name: sim_npu, isolation: process, rules: {deny_ops: Gemm}}]\n";

struct Case {
  const char* name;
  const char* ending;    // of the model's file
  const char* settings;  // of delegates, which compile parts of the model
  long stride;           // of the allocations that fail
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class LackOfMemory : public testing::TestWithParam<Case> {
 protected:
  LackOfMemory() : model_((folder_.path() / "digits").string() + GetParam().ending), log_(LogLevel::kOff) {
    Model model;
    EXPECT_TRUE(model.Build(DEPUTY_TEST_DIGITS, Context()).ok());
    EXPECT_TRUE(model.Save((folder_.path() / "digits.dpm").string()).ok());
    std::filesystem::copy_file(DEPUTY_TEST_DIGITS, folder_.path() / "digits.onnx");
  }

  Result<std::vector<float>> Predict() const {
    DEPUTY_ASSIGN_OR_RETURN(const Context context,
                            Context::FromYamlText("t.yaml", "version: 1\ncache: {dir: 'off'}\ncpu: {threads: 2}\n" +
                                                                std::string(GetParam().settings)));
    Model model;
    DEPUTY_RETURN_IF_ERROR(model.Build(model_, context));
    DEPUTY_ASSIGN_OR_RETURN(Session session, model.CreateSession());
    std::vector<Tensor> outputs;
    DEPUTY_RETURN_IF_ERROR(session.Predict({picture_}, &outputs));
    return Values(outputs[0]);
  }

  // The same, with an allocation that fails.
  Result<std::vector<float>> PredictWithout(long allocation) const {
    Result<std::vector<float>> answer = Status(StatusCode::kResourceExhausted, "an allocation failed");
    fail_allocation(allocation);
    try {
      answer = Predict();
    } catch (const std::bad_alloc&) {
    }
    fail_allocation(-1);
    return answer;
  }

  const host::TempFolder folder_;
  const std::string model_;
  const LogLines log_;
  const Tensor picture_ = Pictures(1);
};

TEST_P(LackOfMemory, R147_EveryAllocationMayFailAndTheNextAttemptSucceeds) {
  const Result<std::vector<float>> expected = Predict();
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  // What was begun by the first failures stays: libraries, tables of the C++ library.
  for (long number = 0; number < 200; number += GetParam().stride) static_cast<void>(PredictWithout(number));
  fail_allocation(-1);
  ASSERT_EQ(*Predict(), *expected);
  const long count = allocation_count();
  ASSERT_GT(count, 500) << "nothing is counted";

  ProcessState before = StateOfThisProcess();
  const size_t bytes = mallinfo2().uordblks;
  int failed = 0;
  for (long number = 0; number < count + 100; number += GetParam().stride) {
    const Result<std::vector<float>> answer = PredictWithout(number);
    ASSERT_EQ(answer.ok(), answer.status().message().empty()) << "allocation " << number << " of " << count;
    // Where the delegate failed, the CPU has computed the whole or a part, with more precise numbers.
    for (size_t i = 0; answer.ok() && i < expected->size(); ++i)
      ASSERT_NEAR((*answer)[i], (*expected)[i], 0.02) << "allocation " << number << " of " << count;
    failed += answer.ok() ? 0 : 1;
    if (number % 16 != 0) continue;
    const Result<std::vector<float>> next = Predict();
    ASSERT_TRUE(next.ok()) << "after allocation " << number << ": " << next.status().ToString();
    ASSERT_EQ(*next, *expected);
    // A thread that was joined may be there for a while.
    before.threads = std::min(before.threads, StateOfThisProcess().threads);
  }
  EXPECT_GT(failed, count / GetParam().stride / 4) << "few failures were failures";

  EXPECT_TRUE(Eventually([&] { return StateOfThisProcess().threads == before.threads; }));
  const ProcessState after = StateOfThisProcess();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.children, before.children);
  EXPECT_LE(mallinfo2().uordblks, bytes + (size_t{64} << 10)) << failed << " failures";
}

INSTANTIATE_TEST_SUITE_P(Delegates, LackOfMemory,
                         testing::Values(Case{"cpu", ".dpm", kCpu, 1}, Case{"onnx", ".onnx", kCpu, 1},
                                         Case{"in_process", ".dpm", kInProcess, 1},
                                         Case{"in_worker", ".dpm", kInWorker, 3}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace deputy
