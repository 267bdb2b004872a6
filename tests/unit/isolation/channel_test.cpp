// The host's end of a channel against a worker's end that a test plays: what is in the slot, what is on the socket, and
// what must end a wait.
#include "isolation/channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/process_state.hpp"
#include "support/waiting.hpp"

namespace deputy::host::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

TEST(Bell, IsNotMissedBetweenTheLookAndTheSleep) {
  Bell bell{};
  const uint32_t seen = bell.count();
  bell.Ring();
  const Clock::time_point begin = Clock::now();
  bell.Sleep(seen, seconds(60));
  EXPECT_NE(bell.count(), seen);
  EXPECT_LT(Clock::now() - begin, seconds(30));
}

TEST(Bell, WakesAThreadThatSleeps) {
  Bell bell{};
  std::atomic<pid_t> thread{0};
  std::thread waits([&] {
    thread = gettid();
    for (const uint32_t seen = 0; bell.count() == seen;) bell.Sleep(seen, seconds(60));
  });
  EXPECT_TRUE(Eventually([&] { return IsAsleep(thread.load()); }));
  const Clock::time_point begin = Clock::now();
  bell.Ring();
  waits.join();
  EXPECT_LT(Clock::now() - begin, seconds(30));
}

// Each side waits for the other without a limit: a ring that is lost is a hang.
TEST(Bell, LosesNoRingOfTwoThreads) {
  for (const std::chrono::nanoseconds spin : {microseconds(0), microseconds(1), microseconds(50)}) {
    Bell there{}, back{};
    constexpr uint32_t kRounds = 5000;
    std::thread answers([&] {
      for (uint32_t seen = 0; seen < kRounds; ++seen) {
        while (there.count() == seen)
          if (!PollFor(spin, [&] { return there.count() != seen; })) there.Sleep(seen, std::chrono::nanoseconds(-1));
        back.Ring();
      }
    });
    for (uint32_t seen = 0; seen < kRounds; ++seen) {
      there.Ring();
      while (back.count() == seen)
        if (!PollFor(spin, [&] { return back.count() != seen; })) back.Sleep(seen, std::chrono::nanoseconds(-1));
    }
    answers.join();
    EXPECT_EQ(back.count(), kRounds);
  }
}

TEST(Bell, SleepEndsAtItsLimit) {
  Bell bell{};
  bell.Sleep(bell.count(), milliseconds(5));
  EXPECT_EQ(bell.count(), 0u);
}

class ChannelTest : public ::testing::TestWithParam<int> {
 protected:
  ChannelTest() {
    channel_ = Channel::Make(kNumber, microseconds(GetParam()), theirs_);
    page_memory_ = Mapping::Of(theirs_[1].get(), 0, sizeof(ChannelPage), true);
  }
  ChannelPage& page() { return *reinterpret_cast<ChannelPage*>(page_memory_->data()); }
  int socket() const { return theirs_[0].get(); }
  void Call(Function function = Function::kExecute, const std::vector<uint64_t>& words = {1, 2, 3}) {
    ASSERT_EQ(channel_->Call(function, words, {}, {}), Transfer::kDone);
  }
  void Answer(const std::vector<uint64_t>& words) {
    ASSERT_TRUE(PutWords(page().answer, page().answer_words, words));
    page().answered.store(page().number.load());
    page().answers.Ring();
  }
  // `then` in another thread, while the host waits without a limit or, with `limit`, until it is over.
  Transfer ReceiveWhile(const std::function<void()>& then, milliseconds limit = milliseconds(0)) {
    std::thread worker([&, host = gettid()] {
      EXPECT_TRUE(Eventually([&] { return IsAsleep(host); }));
      then();
    });
    const Transfer got = channel_->Receive(frame_, limit.count() == 0 ? TimeLimit() : TimeLimit::Within(limit));
    worker.join();
    return got;
  }

  // What the worker sends for the call with this number, which is the last one's if it is not given.
  Transfer Send(FrameKind kind, Function function, const std::vector<uint64_t>& words, int64_t call = -1) {
    const uint32_t number = call < 0 ? page().number.load() : static_cast<uint32_t>(call);
    return SendFrame(socket(), {kind, function, CallNumber(kNumber, number)}, words);
  }

  static constexpr uint32_t kNumber = 3;
  Descriptor theirs_[2];
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Mapping> page_memory_;
  WireFrame frame_;
};

TEST_P(ChannelTest, RunIsInTheSlotAndSoIsItsAnswer) {
  Call();
  EXPECT_EQ(page().place.load(), CallPlace::kSlot);
  EXPECT_EQ(page().function.load(), Function::kExecute);
  std::vector<uint64_t> words;
  ASSERT_TRUE(TakeWords(page().call, page().call_words, words));
  EXPECT_EQ(words, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(ReceiveWhile([&] { Answer({7, 8}); }), Transfer::kDone);
  EXPECT_EQ(frame_.kind, FrameKind::kReturn);
  EXPECT_EQ(frame_.function, Function::kExecute);
  EXPECT_EQ(frame_.words, (std::vector<uint64_t>{7, 8}));
}

TEST_P(ChannelTest, LongMessagesAndOtherCallsAreOnTheSocket) {
  for (const auto& [function, size] :
       {std::pair{Function::kExecute, size_t{kSlotWords} + 1}, std::pair{Function::kCompile, size_t{1}}}) {
    const std::vector<uint64_t> words(size, 5);
    Call(function, words);
    EXPECT_EQ(page().place.load(), CallPlace::kSocket);
    WireFrame call;
    ASSERT_EQ(ReceiveFrame(socket(), call), Transfer::kDone);
    EXPECT_EQ(call.function, function);
    EXPECT_EQ(call.call, CallNumber(kNumber, page().number.load()));
    EXPECT_EQ(call.words, words);
    const auto answer = [&, as = function] {
      Send(FrameKind::kReturn, as, {9});
      page().answers.Ring();
    };
    EXPECT_EQ(ReceiveWhile(answer), Transfer::kDone);
    EXPECT_EQ(frame_.words, (std::vector<uint64_t>{9}));
  }
}

TEST_P(ChannelTest, AnswerOfAnEarlierCallIsNoAnswer) {
  Call();
  Answer({1});
  ASSERT_EQ(ReceiveWhile([] {}), Transfer::kDone);
  Call();
  const auto late = [&] {
    ASSERT_TRUE(PutWords(page().answer, page().answer_words, {666}));
    page().answered.store(page().number.load() - 1);
    page().answers.Ring();
  };
  EXPECT_EQ(ReceiveWhile(late, milliseconds(50)), Transfer::kOverdue);
}

TEST_P(ChannelTest, AnAnswerWithoutWordsIsOne) {
  Call();
  EXPECT_EQ(ReceiveWhile([&] { Answer({}); }), Transfer::kDone);
  EXPECT_TRUE(frame_.words.empty());
}

TEST_P(ChannelTest, AnswerLongerThanTheSlotIsInvalid) {
  Call();
  const auto lie = [&] {
    page().answer_words.store(kSlotWords + 1);
    page().answered.store(page().number.load());
    page().answers.Ring();
  };
  EXPECT_EQ(ReceiveWhile(lie), Transfer::kInvalid);
}

TEST_P(ChannelTest, EndOfTheWorkerEndsTheWait) {
  Call();
  EXPECT_EQ(ReceiveWhile([&] { channel_->End(); }), Transfer::kClosed);
}

// A worker that ends in the middle has written any state, and a hostile one puts the count back.
TEST_P(ChannelTest, EndOfTheWorkerEndsTheWaitThoughItsCountWasPutBack) {
  Call();
  const auto put_back = [&] {
    const uint32_t before = page().answers.count();
    channel_->End();
    reinterpret_cast<std::atomic<uint32_t>&>(page().answers).store(before);
  };
  EXPECT_EQ(ReceiveWhile(put_back), Transfer::kClosed);
}

TEST_P(ChannelTest, SocketThatIsClosedWithoutARingEndsTheWait) {
  Call();
  EXPECT_EQ(ReceiveWhile([&] { shutdown(socket(), SHUT_RDWR); }), Transfer::kClosed);
}

TEST_P(ChannelTest, AnswerOfAWorkerThatHasClosedItsSocketIsTheEnd) {
  Call();
  const auto close_and_answer = [&] {
    theirs_[0] = Descriptor();
    Answer({7});
  };
  EXPECT_EQ(ReceiveWhile(close_and_answer), Transfer::kClosed);
}

TEST_P(ChannelTest, MessagesOnTheSocketComeBeforeTheAnswerInTheSlot) {
  Call();
  Send(FrameKind::kNotice, Function::kLog, {5});
  Answer({7});
  ASSERT_EQ(ReceiveWhile([] {}), Transfer::kDone);
  EXPECT_EQ(frame_.kind, FrameKind::kNotice);
  ASSERT_EQ(ReceiveWhile([] {}), Transfer::kDone);
  EXPECT_EQ(frame_.kind, FrameKind::kReturn);
}

TEST_P(ChannelTest, RingsWithoutAMessageDoNotExtendTheLimit) {
  Call();
  std::atomic<bool> stop{false};
  std::thread rings([&] {
    while (!stop) page().answers.Ring();
  });
  EXPECT_EQ(ReceiveWhile([] {}, milliseconds(50)), Transfer::kOverdue);
  stop = true;
  rings.join();
}

TEST_P(ChannelTest, WorkerIsToldWhenTheChannelCloses) {
  const uint32_t seen = page().calls.count();
  channel_.reset();
  EXPECT_NE(page().calls.count(), seen);
  EXPECT_EQ(page().place.load(), CallPlace::kNowhere);
}

INSTANTIATE_TEST_SUITE_P(Spin, ChannelTest, ::testing::Values(0, 50), [](const auto& given) {
  return given.param == 0 ? std::string("None") : std::string("Some");
});

}  // namespace
}  // namespace deputy::host::testing
