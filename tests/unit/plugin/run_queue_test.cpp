// The order of runs that wait for a delegate's queues: limits, the delegate's choice, and groups that never run at
// once.
#include "plugin/proxy/run_queue.hpp"

#include <gtest/gtest.h>

#include <list>
#include <thread>

#include "plugin/discovery/loaded_plugin.hpp"
#include "plugin/proxy/opened_delegate.hpp"
#include "unit/plugin/able_actor.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::AbleActor;

// A delegate whose device takes so many runs at once.
class Device {
 public:
  explicit Device(uint32_t most_runs, std::string group = {}) : group_(std::move(group)) {
    actor_.is_async = true;
    actor_.limits = [this, most_runs](deputy_queue_limits& limits) -> deputy_status* {
      limits.most_runs_in_flight = most_runs;
      limits.queue_count = 3;
      limits.exclusive_group = testing::Text(group_);
      return nullptr;
    };
  }
  AbleActor& actor() { return actor_; }
  RunQueue& queue() {
    if (opened_ == nullptr)
      opened_ = *OpenedDelegate::Open(std::get<0>(LoadedPlugin::Adopt(&actor_.plugin, nullptr)),
                                      {"able", "npu", "", {}, nullptr});
    return *opened_->run_queue();
  }

 private:
  const std::string group_;
  AbleActor actor_;
  std::shared_ptr<OpenedDelegate> opened_;
};

// Runs of one device, each known by its number, on one thread.
class RunQueueTest : public ::testing::Test {
 protected:
  void Add(Device& device, int number, int32_t priority = 0) {
    runs_.emplace_back(device.queue(), reinterpret_cast<deputy_context*>(&device), PassRequest{priority, nullptr});
    numbers_.push_back(number);
    Note();
  }
  // The run that began first of those that run ends.
  void End() {
    const int number = begun_.at(ended_++);
    auto run = runs_.begin();
    auto name = numbers_.begin();
    for (; *name != number; ++name) ++run;
    runs_.erase(run);
    numbers_.erase(name);
    Note();
  }
  std::vector<int> Begun() const { return begun_; }
  std::vector<int> EndAll() {
    while (ended_ < begun_.size()) End();
    EXPECT_TRUE(runs_.empty());
    return begun_;
  }

  testing::LogKeeper log_;
  std::list<RunQueue::Place> runs_;

 private:
  // Which runs have begun since the last call. Where several have, those that came first are noted first.
  void Note() {
    auto name = numbers_.begin();
    for (auto run = runs_.begin(); run != runs_.end(); ++run, ++name)
      if (run->has_turn() && std::find(begun_.begin(), begun_.end(), *name) == begun_.end()) begun_.push_back(*name);
  }

  std::list<int> numbers_;
  std::vector<int> begun_;
  size_t ended_ = 0;
};

using Numbers = std::vector<int>;

TEST_F(RunQueueTest, NoMoreRunsThanTheLimitHaveBegun) {
  Device device(2);
  for (int number = 0; number < 5; ++number) Add(device, number);
  EXPECT_EQ(Begun(), (Numbers{0, 1}));
  End();
  EXPECT_EQ(Begun(), (Numbers{0, 1, 2}));
  EXPECT_EQ(EndAll(), (Numbers{0, 1, 2, 3, 4}));
}

TEST_F(RunQueueTest, TheLargestPriorityIsFirstAndQueuesAreUsedInTurn) {
  Device device(1);
  device.actor().scheduling.choose = nullptr;
  Add(device, 0);
  Add(device, 1, -1);
  Add(device, 2, 5);
  Add(device, 3, 5);
  EXPECT_EQ(runs_.back().queue(), 0u);
  End();
  EXPECT_EQ(std::next(runs_.begin())->queue(), 1u);
  EXPECT_EQ(EndAll(), (Numbers{0, 2, 3, 1}));
}

TEST_F(RunQueueTest, TheDelegateChoosesAmongThoseThatWait) {
  Device device(1);
  std::vector<size_t> counts;
  device.actor().choose = [&](std::vector<const deputy_ready_run*> ready, uint32_t& chosen,
                              uint32_t& queue) -> deputy_status* {
    counts.push_back(ready.size());
    EXPECT_EQ(chosen, 0u);
    EXPECT_EQ(queue, 0u);
    for (size_t i = 1; i < ready.size(); ++i)
      EXPECT_GE(ready[i - 1]->priority, ready[i]->priority) << "the host's order";
    EXPECT_EQ(ready[0]->context, reinterpret_cast<deputy_context*>(&device));
    chosen = static_cast<uint32_t>(ready.size()) - 1;
    queue = 2;
    return nullptr;
  };
  for (int number = 0; number < 4; ++number) Add(device, number, number == 2 ? 1 : 0);
  End();
  EXPECT_EQ(runs_.back().queue(), 2u);
  EXPECT_EQ(EndAll(), (Numbers{0, 3, 1, 2}));
  EXPECT_EQ(counts, (std::vector<size_t>{3, 2})) << "one run alone is no choice";
}

TEST_F(RunQueueTest, ARunThatWasPassedOver16TimesIsNext) {
  Device device(1);
  device.actor().choose = [](std::vector<const deputy_ready_run*> ready, uint32_t& chosen,
                             uint32_t&) -> deputy_status* {
    chosen = static_cast<uint32_t>(ready.size()) - 1;
    return nullptr;
  };
  for (int number = 0; number < 20; ++number) Add(device, number);
  Numbers begun = EndAll();
  EXPECT_EQ(begun[1], 19);
  EXPECT_EQ(begun[16], 4);
  EXPECT_EQ(begun[17], 1);
  EXPECT_EQ(begun[18], 2);
  EXPECT_EQ(begun[19], 3);
}

TEST_F(RunQueueTest, AWrongChoiceIsTheHosts) {
  Device device(1);
  int calls = 0;
  device.actor().choose = [&](std::vector<const deputy_ready_run*> ready, uint32_t& chosen,
                              uint32_t& queue) -> deputy_status* {
    switch (++calls) {
      case 1: chosen = static_cast<uint32_t>(ready.size()); break;
      case 2: queue = 3; break;
      default: return device.actor().Fail(DEPUTY_INTERNAL, "undecided");
    }
    return nullptr;
  };
  for (int number = 0; number < 5; ++number) Add(device, number);
  EXPECT_EQ(EndAll(), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_NE(log_.text().find("it chose run 4 of 4 on queue 0 of 3"), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("it chose run 0 of 3 on queue 3 of 3"), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("undecided"), std::string::npos) << log_.text();
}

TEST_F(RunQueueTest, ADelegateThatIsSlowToChooseIsNotAskedAgain) {
  Device device(1);
  int calls = 0;
  device.actor().choose = [&](std::vector<const deputy_ready_run*>, uint32_t& chosen, uint32_t&) -> deputy_status* {
    ++calls;
    for (const uint64_t end_ns = NowNs() + 2'000'000; NowNs() < end_ns;) std::this_thread::yield();
    chosen = 1;
    return nullptr;
  };
  for (int number = 0; number < 4; ++number) Add(device, number);
  EXPECT_EQ(EndAll(), (Numbers{0, 2, 1, 3})) << "its answer holds once more";
  EXPECT_EQ(calls, 1);
  EXPECT_NE(log_.text().find("it is not asked again"), std::string::npos) << log_.text();
}

TEST_F(RunQueueTest, DelegatesOfOneGroupNeverRunAtOnce) {
  Device one(2, "bus 0"), other(2, "bus 0"), third(1, "bus 1");
  Add(one, 0);
  Add(one, 1);
  Add(other, 2);
  Add(one, 3);
  Add(third, 4);
  EXPECT_EQ(Begun(), (Numbers{0, 1, 4}));
  End();
  EXPECT_EQ(Begun(), (Numbers{0, 1, 4})) << "run 2 of the other delegate came before run 3";
  End();
  EXPECT_EQ(Begun(), (Numbers{0, 1, 4, 2}));
  End();
  EXPECT_EQ(Begun(), (Numbers{0, 1, 4, 2})) << "of another group";
  EXPECT_EQ(EndAll(), (Numbers{0, 1, 4, 2, 3}));
}

TEST_F(RunQueueTest, WhileADelegateChoosesNoOtherIsHeldUp) {
  Device slow(1, "bus 0"), other(1, "bus 0");
  std::atomic<bool> asked{false}, chooses{true};
  slow.actor().choose = [&](std::vector<const deputy_ready_run*> ready, uint32_t& chosen, uint32_t&) -> deputy_status* {
    asked = true;
    while (chooses) std::this_thread::yield();
    EXPECT_EQ(ready[1]->context, reinterpret_cast<deputy_context*>(&slow));
    chosen = 1;
    return nullptr;
  };
  Add(slow, 0);
  Add(slow, 1);
  Add(slow, 2);
  // The end of the first run asks for the next one.
  std::thread ending([&] { End(); });
  while (!asked) std::this_thread::yield();
  const CancellationToken soon{NowNs() + 1'000'000};
  EXPECT_FALSE(RunQueue::Place(other.queue(), nullptr, {0, &soon}).Wait()) << "the other's run has waited, and left";
  other.queue().Wake();
  std::atomic<bool> waited{false};
  std::thread leaving([&] {
    {
      RunQueue::Place place(slow.queue(), nullptr, {0, &soon});
      EXPECT_FALSE(place.Wait());
      waited = true;
    }
    EXPECT_FALSE(chooses) << "the delegate sees the contexts of its own runs until it has chosen";
  });
  while (!waited) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // in which a run that may leave does
  chooses = false;
  ending.join();
  leaving.join();
  EXPECT_EQ(EndAll(), (Numbers{0, 2, 1}));
}

TEST_F(RunQueueTest, AWaitEndsWithItsToken) {
  Device device(1);
  Add(device, 0);
  std::atomic<uint64_t> cancelled_ns{0};
  CancellationToken late, cancelled;
  late.deadline_ns = NowNs() + 1'000'000;
  cancelled.cancelled_ns = &cancelled_ns;
  EXPECT_FALSE(RunQueue::Place(device.queue(), nullptr, {0, &late}).Wait());
  std::thread waiting([&] { EXPECT_FALSE(RunQueue::Place(device.queue(), nullptr, {0, &cancelled}).Wait()); });
  cancelled_ns = 1;
  device.queue().Wake();
  waiting.join();
  Add(device, 1);
  EXPECT_EQ(EndAll(), (Numbers{0, 1})) << "those that gave up are gone";
}

TEST_F(RunQueueTest, LimitsThatAllowNoRunAreAFault) {
  Device device(0);
  const Result<std::shared_ptr<OpenedDelegate>> opened = OpenedDelegate::Open(
      std::get<0>(LoadedPlugin::Adopt(&device.actor().plugin, nullptr)), {"able", "npu", "", {}, nullptr});
  EXPECT_EQ(opened.status().code(), StatusCode::kPlugin);
  EXPECT_NE(opened.status().message().find("3 queues, 0 runs in flight"), std::string::npos)
      << opened.status().message();
}

}  // namespace
}  // namespace deputy::host
