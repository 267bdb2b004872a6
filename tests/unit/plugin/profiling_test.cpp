// The checked proxy around events of the device: live and collected ones, and the nodes that their ids stand for.
#include <gtest/gtest.h>

#include "plugin/checks/handles.hpp"
#include "unit/plugin/able_delegate.hpp"

namespace deputy::host {
namespace {

using testing::AbleDelegate;
using testing::Text;

class Profiling : public AbleDelegate {
 protected:
  static deputy_profile_event Event(uint32_t id, uint64_t begin, uint64_t end,
                                    deputy_clock clock = DEPUTY_CLOCK_MONOTONIC) {
    deputy_profile_event event{};
    event.struct_size = sizeof event;
    event.id = id;
    event.clock = clock;
    event.begin_ns = begin;
    event.end_ns = end;
    event.name = Text("layer");
    return event;
  }
  // What one profiled run yields.
  std::vector<ProfileEvent> Run() {
    const auto context = Context();
    EXPECT_TRUE(context->SetProfiling(true).ok());
    RunOnce(*context);
    std::vector<ProfileEvent> events;
    context->TakeEvents(events);
    return events;
  }
  static void RunOnce(ExecutionContext& context) {
    const deputy_tensor* inputs[] = {nullptr};
    deputy_tensor* outputs[] = {nullptr};
    EXPECT_TRUE(context.Execute({inputs, outputs}).ok());
  }
};

// Seed row 73.
TEST_F(Profiling, TiesLiveEventsToNodes) {
  actor_.debug_map = [](const deputy_debug_map_sink& sink) {
    const deputy_node_id node = 0;
    return sink.add(sink.self, 5, &node, 1);
  };
  actor_.execute = [](const deputy_profile_sink& sink) {
    const deputy_profile_event event = Event(5, 10, 20);
    sink.event(sink.self, &event);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].nodes, (std::vector<NodeId>{0}));
  EXPECT_EQ(events[0].name, "layer");
  EXPECT_EQ(events[0].end_ns - events[0].begin_ns, 10u);
}

// Seed row 74.
TEST_F(Profiling, PutsCollectedEventsOnTheHostsClockAndInOrder) {
  actor_.collect = [](const deputy_profile_sink& sink) {
    const deputy_profile_event late = Event(DEPUTY_NO_EVENT_ID, 90, 95, DEPUTY_CLOCK_DEVICE),
                               early = Event(DEPUTY_NO_EVENT_ID, 80, 85, DEPUTY_CLOCK_DEVICE);
    sink.event(sink.self, &late);
    sink.event(sink.self, &early);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].begin_ns, 980u);
  EXPECT_EQ(events[1].end_ns, 995u);
  EXPECT_TRUE(events[0].on_device_clock);
  EXPECT_TRUE(events[0].is_related);
}

TEST_F(Profiling, MarksEventsOfADeviceWhoseClockItCannotRelate) {
  actor_.profiling.correlate = nullptr;
  actor_.collect = [](const deputy_profile_sink& sink) {
    const deputy_profile_event of_device = Event(DEPUTY_NO_EVENT_ID, 80, 85, DEPUTY_CLOCK_DEVICE),
                               of_host = Event(DEPUTY_NO_EVENT_ID, 90, 95);
    sink.event(sink.self, &of_device);
    sink.event(sink.self, &of_host);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].begin_ns, 80u);
  EXPECT_FALSE(events[0].is_related);
  EXPECT_TRUE(events[1].is_related);
}

// A Loop runs the partition of its body many times before anybody asks.
TEST_F(Profiling, CollectsAfterEachRunThoughEventsAreTakenOnce) {
  int collected = 0;
  actor_.collect = [&](const deputy_profile_sink& sink) {
    const deputy_profile_event event = Event(DEPUTY_NO_EVENT_ID, 10, 20);
    sink.event(sink.self, &event);
    ++collected;
  };
  const auto context = Context();
  ASSERT_TRUE(context->SetProfiling(true).ok());
  for (int i = 0; i < 3; ++i) RunOnce(*context);
  std::vector<ProfileEvent> events;
  context->TakeEvents(events);
  EXPECT_EQ(collected, 3);
  EXPECT_EQ(events.size(), 3u);
  context->TakeEvents(events);
  EXPECT_EQ(events.size(), 3u) << "nothing is handed out twice";
}

TEST_F(Profiling, IsNotAskedForWhileItIsOff) {
  bool asked = false;
  actor_.execute = [&](const deputy_profile_sink&) { asked = true; };
  actor_.collect = [&](const deputy_profile_sink&) { asked = true; };
  actor_.debug_map = [&](const deputy_debug_map_sink&) -> deputy_status* {
    asked = true;
    return nullptr;
  };
  const auto context = Context();
  RunOnce(*context);
  std::vector<ProfileEvent> events;
  context->TakeEvents(events);
  EXPECT_FALSE(asked);
}

TEST_F(Profiling, EndsWhenItIsTurnedOff) {
  const auto context = Context();
  ASSERT_TRUE(context->SetProfiling(true).ok());
  EXPECT_NE(actor_.sink, nullptr);
  ASSERT_TRUE(context->SetProfiling(false).ok());
  EXPECT_EQ(actor_.sink, nullptr);
}

struct BadEvent {
  const char* name;
  void (*spoil)(deputy_profile_event& event);
};
void PrintTo(const BadEvent& bad, std::ostream* out) { *out << bad.name; }

class SpoiltEvent : public Profiling, public ::testing::WithParamInterface<BadEvent> {};

TEST_P(SpoiltEvent, IsAFaultAndNotShown) {
  actor_.execute = [](const deputy_profile_sink& sink) {
    deputy_profile_event event = Event(DEPUTY_NO_EVENT_ID, 10, 20);
    GetParam().spoil(event);
    sink.event(sink.self, &event);
  };
  EXPECT_TRUE(Run().empty());
  EXPECT_NE(log_.text().find("profiling broke its contract"), std::string::npos) << log_.text();
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SpoiltEvent,
    ::testing::Values(BadEvent{"Short", [](deputy_profile_event& event) { event.struct_size = 8; }},
                      BadEvent{"Backwards", [](deputy_profile_event& event) { event.end_ns = 5; }},
                      BadEvent{"UnknownClock", [](deputy_profile_event& event) { event.clock = 9; }},
                      BadEvent{"NameNotUtf8", [](deputy_profile_event& event) { event.name = Text("\xff"); }},
                      BadEvent{"NameAtNull",
                               [](deputy_profile_event& event) {
                                 event.name = {nullptr, 3};
                               }}),
    [](const ::testing::TestParamInfo<BadEvent>& one) { return std::string(one.param.name); });

TEST_F(Profiling, AnIdThatTheMapLacksIsAFaultAndTheEventHasNoNodes) {
  actor_.execute = [](const deputy_profile_sink& sink) {
    const deputy_profile_event event = Event(77, 10, 20);
    sink.event(sink.self, &event);
  };
  const auto events = Run();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].nodes.empty());
  EXPECT_NE(log_.text().find("id 77"), std::string::npos) << log_.text();
}

TEST_F(Profiling, AnIdTwiceAndANodeOfSomebodyElseAreRefused) {
  std::vector<bool> refused;
  actor_.debug_map = [&](const deputy_debug_map_sink& sink) -> deputy_status* {
    const deputy_node_id inside = 0, outside = 1;
    for (const auto& [id, node] : {std::pair{1u, &inside}, {2u, &inside}, {1u, &inside}, {3u, &outside}}) {
      deputy_status* failure = sink.add(sink.self, id, node, 1);
      refused.push_back(failure != nullptr);
      FreeStatus()(failure);
    }
    return nullptr;
  };
  Run();
  EXPECT_EQ(refused, (std::vector<bool>{false, false, true, true}));
}

}  // namespace
}  // namespace deputy::host
