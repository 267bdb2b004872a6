#include "cli/report/trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>

namespace deputy::cli {
namespace {

// Slices of one thread must not overlap. The process of the host has a thread for steps that run one after another, and
// one for each delegate whose steps run beside those; each delegate with operations is a process, with as many threads
// as it has operations at once.
constexpr int kHost = 1, kFirstThread = 1;

class TraceWriter {
 public:
  TraceWriter(const std::string& model, const std::vector<DelegateReport>& delegates) : delegates_(delegates) {
    Name("process_name", kHost, 0, "deputy " + std::filesystem::path(model).filename().string());
    Name("thread_name", kHost, kFirstThread, "host");
  }

  void Add(const ProfiledRun& run) {
    const uint64_t begin_ns = run.statistics.begin_ns, end_ns = begin_ns + run.statistics.total_ns;
    if (runs_++ == 0) start_ns_ = begin_ns;
    Slice("run " + std::to_string(runs_), "run", kHost, kFirstThread, begin_ns, end_ns, Json::object());
    for (const DelegateReport& delegate : delegates_)
      if (delegate.has_device && delegate.device.frequency_granted_hz != 0)
        Counter("clock of " + delegate.name, begin_ns, "MHz",
                static_cast<double>(delegate.device.frequency_granted_hz) / 1e6);
    const std::vector<RunEvent>& events = run.events;
    if (events.empty()) return;
    const StepTimes times = TimesOfSteps(events);
    Slice("before the steps", "host", kHost, kFirstThread, begin_ns, times.begin_ns, Json::object());
    in_turn_until_ns_ = begin_ns;
    for (size_t i = 0; i < events.size();) {
      const RunEvent& step = events[i];
      size_t end = i + 1;
      while (end < events.size() && !events[end].is_step) ++end;
      AddStep(step);
      AddOperations(step, events.data() + i + 1, end - i - 1);
      i = end;
    }
    Slice("after the steps", "host", kHost, kFirstThread, times.end_ns, end_ns, Json::object());
  }

  std::string Text() && {
    return JsonText({{"displayTimeUnit", "ns"},
                     {"otherData", {{"clock", "CLOCK_MONOTONIC"}, {"start_ns", start_ns_}}},
                     {"traceEvents", std::move(events_)}});
  }

 private:
  struct Lane {
    int process = 0;
    std::vector<uint64_t> ends_ns;  // per thread
  };

  double Microseconds(uint64_t ns) const {
    return ns >= start_ns_ ? static_cast<double>(ns - start_ns_) / 1000 : -static_cast<double>(start_ns_ - ns) / 1000;
  }

  void Name(const char* kind, int process, int thread, const std::string& name) {
    events_.push_back({{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  }

  void Slice(const std::string& name, const char* category, int process, int thread, uint64_t begin_ns, uint64_t end_ns,
             Json args) {
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"pid", process},
                       {"tid", thread},
                       {"ts", Microseconds(begin_ns)},
                       {"dur", static_cast<double>(end_ns - begin_ns) / 1000},
                       {"args", std::move(args)}});
  }

  void Counter(const std::string& name, uint64_t at_ns, const char* unit, Json value) {
    events_.push_back({{"name", name},
                       {"ph", "C"},
                       {"pid", kHost},
                       {"ts", Microseconds(at_ns)},
                       {"args", {{unit, std::move(value)}}}});
  }

  static Json ArgsOf(const RunEvent& event, const char* clock) {
    return {{"delegate", event.delegate},
            {"partition", event.partition},
            {"nodes", event.nodes},
            {"op_types", event.op_types},
            {"clock", clock},
            {"metadata", event.metadata}};
  }

  void AddStep(const RunEvent& step) {
    Json args = ArgsOf(step, "host");
    args["bytes_in"] = step.bytes_in;
    args["bytes_out"] = step.bytes_out;
    args["bytes_moved"] = step.bytes_moved;
    args["copies"] = step.copies;
    args["bytes_copied"] = step.bytes_copied;
    Slice(step.name, "step", kHost, ThreadOf(step), step.begin_ns, step.end_ns, std::move(args));
    if (step.bytes_moved == 0) return;
    Counter("bytes moved", step.begin_ns, "bytes", step.bytes_moved);
    Counter("bytes moved", step.end_ns, "bytes", 0);
  }

  int ThreadOf(const RunEvent& step) {
    const auto found = beside_.find(step.delegate);
    if (found != beside_.end()) return found->second;
    if (step.begin_ns >= in_turn_until_ns_) {
      in_turn_until_ns_ = step.end_ns;
      return kFirstThread;
    }
    const int thread = kFirstThread + 1 + static_cast<int>(beside_.size());
    Name("thread_name", kHost, thread, "host, steps of " + step.delegate);
    beside_.emplace(step.delegate, thread);
    return thread;
  }

  // Operations whose times do not fit their step are moved as a whole to its begin.
  void AddOperations(const RunEvent& step, const RunEvent* operations, size_t count) {
    if (count == 0) return;
    const bool within = LieWithin(step, operations, count);
    const uint64_t first = std::min_element(operations, operations + count, [](const RunEvent& a, const RunEvent& b) {
                             return a.begin_ns < b.begin_ns;
                           })->begin_ns;
    for (const RunEvent* operation = operations; operation != operations + count; ++operation) {
      const uint64_t begin_ns = within ? operation->begin_ns : step.begin_ns + (operation->begin_ns - first);
      const uint64_t end_ns = begin_ns + (operation->end_ns - operation->begin_ns);
      const auto [process, thread] = PlaceOf(operation->delegate, begin_ns, end_ns);
      const char* const clock = !within ? "unrelated" : operation->on_device_clock ? "device" : "host";
      Slice(operation->name, "device", process, thread, begin_ns, end_ns, ArgsOf(*operation, clock));
    }
  }

  std::pair<int, int> PlaceOf(const std::string& delegate, uint64_t begin_ns, uint64_t end_ns) {
    Lane& lane = lanes_[delegate];
    if (lane.process == 0) {
      lane.process = kHost + static_cast<int>(lanes_.size());
      Name("process_name", lane.process, 0, delegate);
    }
    size_t thread = 0;
    while (thread < lane.ends_ns.size() && lane.ends_ns[thread] > begin_ns) ++thread;
    const int number = kFirstThread + static_cast<int>(thread);
    if (thread == lane.ends_ns.size()) {
      lane.ends_ns.push_back(0);
      Name("thread_name", lane.process, number, thread == 0 ? "operations" : "operations " + std::to_string(number));
    }
    lane.ends_ns[thread] = end_ns;
    return {lane.process, number};
  }

  const std::vector<DelegateReport>& delegates_;
  std::map<std::string, Lane> lanes_;
  std::map<std::string, int> beside_;  // threads of the host, by delegate
  uint64_t in_turn_until_ns_ = 0;
  uint64_t start_ns_ = 0;
  size_t runs_ = 0;
  Json events_ = Json::array();
};

}  // namespace

std::string TraceJson(const std::string& model, const std::vector<ProfiledRun>& runs,
                      const std::vector<DelegateReport>& delegates) {
  TraceWriter writer(model, delegates);
  for (const ProfiledRun& run : runs) writer.Add(run);
  return std::move(writer).Text();
}

}  // namespace deputy::cli
