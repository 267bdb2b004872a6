// Attacks of a worker process on the host, in each call: the call ends within its limit with an error that says why, or
// with the right answer, and neither memory nor descriptors, threads or processes are left.
//
// The limits in time are generous, as the machine may be busy; DEPUTY_STRICT_TIMES=1 asserts the promise itself, the
// limit and one second.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "isolation/run_limit.hpp"
#include "support/every_call.hpp"
#include "support/process_state.hpp"
#include "support/sent_messages.hpp"
#include "support/waiting.hpp"
#include "unit/isolation/support.hpp"

namespace deputy::host::testing {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLimit{200}, kTotal{800};
// Where a fault is seen at once.
constexpr milliseconds kLong{30000};
// What a message may cost at most; what a host without bounds takes for a count of 2^29 is more.
constexpr uint64_t kMostKilobytes = 192 << 10;

// The functions that the host calls, in any life of a plugin.
std::vector<Function> Calls() {
  std::vector<Function> calls;
  for (const Function function : AllFunctions())
    if (SentAs(function) == FrameKind::kReturn && function != Function::kShareRegion) calls.push_back(function);
  return calls;
}

// Calls in which the host answers questions.
constexpr Function kAsking[] = {
    Function::kEnumerate, Function::kInfer,        Function::kCompute,    Function::kQuerySupport,  Function::kPropose,
    Function::kGroups,    Function::kEstimate,     Function::kCompile,    Function::kBlobSerialize, Function::kDebugMap,
    Function::kExecute,   Function::kExecuteAgain, Function::kBlobRestore};

// The call in which the host takes what a worker sends for this function.
Function CallWith(Function function) {
  switch (function) {
    case Function::kAddClaim: return Function::kPropose;
    case Function::kAddGroup: return Function::kGroups;
    case Function::kAddDevice: return Function::kEnumerate;
    case Function::kSetOutputType: return Function::kInfer;
    case Function::kAllocateOutput: return Function::kExecute;
    case Function::kAddDebugIds: return Function::kDebugMap;
    case Function::kWriteBlob: return Function::kBlobSerialize;
    case Function::kSupportAnswer: return Function::kQuerySupport;
    case Function::kEstimateAnswer: return Function::kEstimate;
    default: return SentAs(function) == FrameKind::kReturn ? function : Function::kCompile;
  }
}

uint64_t PeakKilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss);
}

// What is left of a process is freed a moment after the last of its threads is joined.
bool IsAsBefore(const ProcessState& before, ProcessState& now) {
  return Eventually([&] {
    now = StateOfThisProcess();
    return now.descriptors == before.descriptors && now.threads == before.threads && now.children == before.children;
  });
}

struct Attacked {
  std::string fault;  // why the worker was ended; empty: it was not, by a fault of its own
  FaultLimits limits;
  std::set<std::string> failed;
  std::string message;  // of the first call that failed
  std::vector<float> output;
};

class Attacks : public ::testing::Test {
 protected:
  Attacks() {
    SetLogLevel(LogLevel::kOff);
    options_.worker = ATTACKING_WORKER;
    options_.call_timeout_total = kTotal;
    options_.spin = std::chrono::nanoseconds(0);
    // The first worker of a process makes threads' stacks and parts of the heap that stay.
    LimitCalls(kLong);
    static const bool warm = [this] { return Live("none", {}).failed.empty(); }();
    EXPECT_TRUE(warm);
    LimitCalls(kLimit);
  }
  ~Attacks() override { SetLogLevel(LogLevel::kInfo); }

  void LimitCalls(milliseconds most) { options_.call_timeout = options_.run_timeout = most; }
  // The life of a plugin whose worker does this in this call; each call takes `most` and a second at most.
  Attacked Attack(const std::string& attack, Function function, milliseconds most = kLimit) {
    SCOPED_TRACE(attack + " in function " + std::to_string(static_cast<uint32_t>(function)));
    const ProcessState before = StateOfThisProcess();
    const uint64_t peak = PeakKilobytes();
    Attacked attacked = Live(attack, function, most);
    ProcessState now;
    EXPECT_TRUE(IsAsBefore(before, now)) << now.descriptors << " descriptors, " << now.threads << " threads, "
                                         << now.children.size() << " processes";
    EXPECT_LT(PeakKilobytes(), peak + kMostKilobytes);
    return attacked;
  }
  void ExpectFault(const std::string& attack, Function function, const std::string& fault, milliseconds most = kLimit) {
    const Attacked attacked = Attack(attack, function, most);
    EXPECT_TRUE(std::regex_search(attacked.fault, std::regex(fault)))
        << attack << " in function " << static_cast<uint32_t>(function) << ": '" << attacked.fault << "', "
        << attacked.message;
  }

  RemotePluginOptions options_;
  std::string value_ = "1";
  const float* in_ = nullptr;
  bool any_code_ = false;  // a plugin's own failure has any
  std::function<void(std::string_view, const std::function<deputy_status*()>&)> instead_;

 private:
  Attacked Live(const std::string& attack, Function function, milliseconds most = kLimit) {
    Attacked attacked;
    options_.file = attack + "@" + std::to_string(static_cast<uint32_t>(function));
    // A busy machine may not load the program within the limit; an attack of the load itself is of no function.
    int tries = function == Function{} ? 1 : 10;
    do {
      Timed(most, "start", [&] {
        Result<std::shared_ptr<RemotePlugin>> plugin = RemotePlugin::Start(options_);
        attacked.message = plugin.status().message();
        if (plugin.ok()) plugin_ = *std::move(plugin);
      });
    } while (plugin_ == nullptr && attacked.message == "was not loaded in time" && --tries > 0);
    if (plugin_ == nullptr) return attacked;
    const deputy_plugin& table = *plugin_->table();
    const deputy_host* host = nullptr;
    const auto made = [&](std::string_view name, const std::function<deputy_status*()>& call) {
      Timed(most, name, [&] {
        if (instead_ != nullptr) instead_(name, call);
        deputy_status* status = call();
        const deputy_code code = host->status_code(host->self, status);
        EXPECT_TRUE(any_code_ || code == DEPUTY_OK || code == DEPUTY_DEVICE_LOST || code == DEPUTY_INTERNAL)
            << name << ": " << code;
        if (status != nullptr && attacked.failed.empty())
          attacked.message = host->status_message(host->self, status).data;
        if (status != nullptr) attacked.failed.insert(std::string(name));
        host->status_release(host->self, status);
      });
    };
    {
      EveryCall every(table, made, value_, in_);
      host = every.host();
      if (every.Begin() && table.delegate_count(&table) == 1) every.Use(*table.delegate_at(&table, 0));
      every.End();
      attacked.output = every.output();
    }
    attacked.fault = plugin_->link().OwnFault();
    attacked.limits = plugin_->link().fault_limits();
    Timed(milliseconds(2000), "end", [&] { plugin_.reset(); });  // the worker has this time to end by itself
    return attacked;
  }

  static void Timed(milliseconds most, std::string_view name, const std::function<void()>& what) {
    static const bool strict = std::getenv("DEPUTY_STRICT_TIMES") != nullptr;
    const Clock::time_point begin = Clock::now();
    what();
    const auto took = std::chrono::ceil<milliseconds>(Clock::now() - begin);
    EXPECT_LT(took.count(), (strict ? most + milliseconds(1000) : 40 * most).count()) << name;
  }

  std::shared_ptr<RemotePlugin> plugin_;
};

constexpr const char* kTooLong = "did not (answer a call|end a run) within 200 ms";

TEST_F(Attacks, R162_SlowHelloEndsAtTheLimit) { EXPECT_EQ(Attack("slow_hello", {}).message, "was not loaded in time"); }

TEST_F(Attacks, R162_SlowFrameOfEachCallEndsAtTheLimit) {
  for (const Function function : Calls())
    for (const char* attack : {"slow_return", "slow_log"}) ExpectFault(attack, function, kTooLong);
  for (const Function function : kAsking) ExpectFault("slow_question", function, kTooLong);
}

TEST_F(Attacks, R162_SlowFrameBesideAnAnswerInTheSlotEndsAtTheLimit) {
  for (const Function function : {Function::kExecute, Function::kExecuteAgain, Function::kCompute})
    for (const char* attack : {"slow_beside_the_slot", "rings"}) ExpectFault(attack, function, kTooLong);
}

TEST_F(Attacks, R210_ASubmittedRunEndsAtTheLimit) {
  const Attacked attacked = Attack("submitted_for_ever", Function::kExecute);
  EXPECT_TRUE(std::regex_search(attacked.fault, std::regex("did not end a run within 200 ms"))) << attacked.fault;
  EXPECT_EQ(attacked.failed.count("submit"), 0u);
  EXPECT_EQ(attacked.failed.count("wait"), 1u);
}

TEST_F(Attacks, R210_ASubmissionThatIsNoneHasNoEffect) {
  LimitCalls(kLong);
  EXPECT_TRUE(Attack("submitted_is_another", Function::kExecute, kLong).failed.empty());
  ExpectFault("submitted_and_doubled", Function::kExecute, "a message outside of a call|an invalid frame", kLong);
}

// The thread that reads the control socket has other work, too: it sees the end of the process.
TEST_F(Attacks, R162_SlowFrameOnTheControlSocketHoldsUpNoCallAndNoEnd) {
  LimitCalls(kLong);
  const Attacked attacked = Attack("drip_control", Function::kInit);
  EXPECT_TRUE(attacked.failed.empty()) << attacked.message;
  EXPECT_EQ(Attack("child_floods_control", Function::kCompile).fault, "ended with exit status 3");
  EXPECT_EQ(Attack("child_keeps_channel", Function::kCompile).fault, "ended with exit status 3");
}

// By the host, and not by another process.
TEST_F(Attacks, R198_AWorkerThatClosesItsConnectionIsEndedForThat) {
  LimitCalls(kLong);
  ExpectFault("closes_control", Function::kCompile, "closed its connection to the host and did not end", kLong);
}

TEST_F(Attacks, R201_AFaultHasTheLimitThatEndedTheWorker) {
  options_.memory_limit = 1000'000'000'000'000;  // sanitizers map terabytes
  const auto limits_of = [this](const std::string& attack, Function function, milliseconds most = kLimit) {
    return Attack(attack, function, most).limits;
  };
  const FaultLimits of_call = limits_of("slow_return", Function::kCompile);
  const FaultLimits of_run = limits_of("slow_return", Function::kExecute);
  const FaultLimits of_steps = limits_of("slow_progress", Function::kCompile, kTotal);
  const FaultLimits of_bytes = limits_of("early", Function::kCompile);
  for (const auto& [limits, name] : {std::pair(of_call, FaultLimits::kCallTimeout),
                                     {of_run, FaultLimits::kTimeout},
                                     {of_steps, FaultLimits::kCallTimeoutTotal},
                                     {of_bytes, FaultLimits::kMemory}}) {
    EXPECT_TRUE(limits.Has(name)) << name << ": " << limits.ToText();
    EXPECT_TRUE(limits.Has(FaultLimits::kMemory)) << limits.ToText();
    for (const std::string_view other :
         {FaultLimits::kCallTimeout, FaultLimits::kTimeout, FaultLimits::kCallTimeoutTotal, FaultLimits::kAutomatic})
      EXPECT_EQ(limits.Has(other), other == name) << limits.ToText();
    EXPECT_TRUE(limits.CountsWith(LimitsOf(options_))) << limits.ToText();
  }
  const FaultLimits all[] = {of_call, of_run, of_steps, of_bytes};
  const auto counting = [&](const RemotePluginOptions& options) {
    std::vector<bool> counts;
    for (const FaultLimits& limits : all) counts.push_back(limits.CountsWith(LimitsOf(options)));
    return counts;
  };
  RemotePluginOptions other = options_;
  other.run_timeout = 2 * kLimit;
  EXPECT_EQ(counting(other), (std::vector<bool>{true, false, true, true}));
  other.run_timeout = kAutomaticTimeout;  // 5 s and more
  EXPECT_EQ(counting(other), (std::vector<bool>{true, false, true, true}));
  other.run_timeout = milliseconds(0);  // none
  EXPECT_EQ(counting(other), (std::vector<bool>{true, false, true, true}));
  other = options_;
  other.call_timeout = 2 * kLimit;
  EXPECT_EQ(counting(other), (std::vector<bool>{false, true, true, true}));
  other = options_;
  other.call_timeout_total = 2 * kTotal;
  EXPECT_EQ(counting(other), (std::vector<bool>{true, true, false, true}));
  other = options_;
  other.memory_limit = 0;
  EXPECT_EQ(counting(other), std::vector<bool>(4, false));
  other = options_;
  other.sandbox = false;
  EXPECT_EQ(counting(other), std::vector<bool>(4, false));
}

TEST_F(Attacks, R162_LimitOfARunHoldsForTheRegionOfItsInputs) {
  options_.arenas = SharedArenas::Make();
  const std::shared_ptr<uint8_t> memory = options_.arenas->Allocate(4096);
  in_ = reinterpret_cast<const float*>(memory.get());
  options_.call_timeout = std::chrono::seconds(60);
  ExpectFault("slow_return", Function::kShareRegion, "did not end a run within 200 ms");
}

TEST_F(Attacks, R163_NoticesWithoutEndRenewNoLimit) {
  for (const Function function : Calls()) ExpectFault("flood_log", function, kTooLong);
  ExpectFault("flood_progress", Function::kCompile, kTooLong);
  ExpectFault("flood_progress", Function::kBlobRestore, kTooLong);
  ExpectFault("flood_support", Function::kQuerySupport, kTooLong);
  ExpectFault("flood_estimate", Function::kEstimate, kTooLong);
}

TEST_F(Attacks, R163_ProgressThatAdvancesExtendsACompilationUpToItsTotal) {
  for (const Function function : {Function::kCompile, Function::kBlobRestore}) {
    const Clock::time_point begin = Clock::now();
    ExpectFault("slow_progress", function, "did not answer a call within 800 ms, with all of its progress", kTotal);
    EXPECT_GE(Clock::now() - begin, kTotal);
  }
}

TEST_F(Attacks, R163_NoticeLargerThanItsTypeIsRefusedUnread) {
  LimitCalls(kLong);
  ExpectFault("large_log", Function::kOpen, "sent an invalid frame");
  ExpectFault("large_log", Function::kExecute, "sent an invalid frame");
}

TEST_F(Attacks, R164_QuestionsWithoutReadingTheAnswersEndAtTheLimit) {
  for (const Function function : kAsking)
    if (function != Function::kExecute && function != Function::kExecuteAgain && function != Function::kCompute)
      ExpectFault("unread", function, kTooLong);
  // An output is allocated once.
  LimitCalls(kLong);
  for (const Function function : {Function::kExecute, Function::kExecuteAgain})
    ExpectFault("unread", function, "a message that does not belong to the call");
}

TEST_F(Attacks, R164_QuestionsWithoutEndEndAtTheLimit) {
  for (const Function function : {Function::kQuerySupport, Function::kCompile, Function::kInfer, Function::kDebugMap,
                                  Function::kBlobSerialize, Function::kEnumerate})
    ExpectFault("flood_questions", function, kTooLong);
}

TEST_F(Attacks, R164_ArgumentsThatAreNotReadEndAtTheLimit) {
  value_.assign(4 << 20, 'v');  // more than a socket holds
  LimitCalls(kLong);
  EXPECT_TRUE(Attack("none", {}).failed.empty());
  LimitCalls(kLimit);
  ExpectFault("stopped", Function::kSetOption, kTooLong);
}

TEST_F(Attacks, R164_ControlSocketThatIsNotReadHoldsUpNoCall) {
  LimitCalls(kLong);
  instead_ = [](std::string_view name, const std::function<deputy_status*()>& call) {
    for (int i = 0; name == "cancel" && i < 5000; ++i) EXPECT_EQ(call(), nullptr);
  };
  ExpectFault("unread_control", Function::kInit, "does not read what it is sent");
}

// Each word of the begin of each message that a worker sends, as a count.
TEST_F(Attacks, R165_CountsWithoutTheirBytesTakeNoMemory) {
  LimitCalls(milliseconds(50));
  any_code_ = true;
  constexpr size_t kPlaces = 7;
  for (const Function function : AllFunctions())
    for (size_t place = 0; place < kPlaces && function != Function::kShareRegion; ++place)
      Attack("count_" + std::to_string(static_cast<uint32_t>(function)) + "_" + std::to_string(place),
             CallWith(function));
  EXPECT_NE(Attack("count_hello", {}).message.find("its first message cannot be read"), std::string::npos);
}

TEST_F(Attacks, R166_DescriptorsBeyondThoseOfTheMessageAreClosedAndAFault) {
  LimitCalls(kLong);
  for (const Function function : Calls())
    for (const char* attack : {"descriptor_of_a_return", "descriptors_unannounced", "descriptors_of_each_byte",
                               "descriptors_within"})  // of one frame
      ExpectFault(attack, function, "sent an invalid frame");
  EXPECT_NE(Attack("descriptors_hello", {}).message.find("while it was loaded"), std::string::npos);
}

TEST_F(Attacks, R167_AnswersOfOtherCallsAreFaults) {
  LimitCalls(kLong);
  for (const Function function : Calls()) {
    ExpectFault("of_another_call", function, "sent an invalid frame");
    ExpectFault("of_another_function", function, "a message that does not belong to the call");
    ExpectFault("of_another_kind", function, "a message that does not belong to the call");
  }
  LimitCalls(kLimit);
  for (const Function function : {Function::kExecute, Function::kExecuteAgain})
    ExpectFault("slot_of_another_call", function, kTooLong);
}

TEST_F(Attacks, R167_AnswersWithoutACallAreFaultsOfTheNextOne) {
  LimitCalls(kLong);
  for (const Function function : Calls()) {
    if (function == Function::kShutdown) continue;  // the last one
    const std::string fault =
        "sent (a message outside of a call|an invalid frame|a message that does not belong|a result that cannot)";
    ExpectFault("doubled", function, fault);
    ExpectFault("early", function, fault);
  }
}

// The numbers of calls are those of one channel alone.
TEST_F(Attacks, R167_AnswerOnAnotherChannelIsAFaultThere) {
  Descriptor first[2], second[2];
  const std::unique_ptr<Channel> one = Channel::Make(1, std::chrono::nanoseconds(0), first);
  const std::unique_ptr<Channel> other = Channel::Make(2, std::chrono::nanoseconds(0), second);
  WireFrame call, got;
  for (const auto& channel : {one.get(), other.get()})
    ASSERT_EQ(channel->Call(Function::kOpen, {}, {}, {}), Transfer::kDone);
  ASSERT_EQ(ReceiveFrame(first[0].get(), call), Transfer::kDone);
  ASSERT_EQ(SendFrame(second[0].get(), {FrameKind::kReturn, call.function, call.call}, {}), Transfer::kDone);
  EXPECT_EQ(other->Receive(got, TimeLimit::Within(std::chrono::seconds(60))), Transfer::kInvalid);
  ASSERT_EQ(SendFrame(first[0].get(), {FrameKind::kReturn, call.function, call.call}, {}), Transfer::kDone);
  EXPECT_EQ(one->Receive(got, TimeLimit::Within(std::chrono::seconds(60))), Transfer::kDone);
}

}  // namespace
}  // namespace deputy::host::testing
