// The state of an opened device (deputy.device_control/1): levels that exist, requests that are those of open, counters
// that grow with the runs. And the clock of a device, which instances give back in any order of closing.
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "case_run.hpp"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "probing/options.hpp"
#include "test.hpp"
#include "text.hpp"

namespace deputy::conformance {
namespace {

constexpr uint32_t kMostLevel = 4;
constexpr char kClockOption[] = "frequency";

// NULL for a delegate without the extension, or after a fault.
const deputy_ext_device_control* ControlOf(Plugin& plugin, const deputy_delegate* delegate) {
  const auto* table = static_cast<const deputy_ext_device_control*>(
      plugin.Extension(delegate, DEPUTY_EXT_DEVICE_CONTROL, DEPUTY_END_OF(deputy_ext_device_control, device_state)));
  if (table == nullptr || table->device_state != nullptr) return table;
  plugin.host().Fault("the table of " DEPUTY_EXT_DEVICE_CONTROL " has an empty slot");
  return nullptr;
}

Outcome StateOf(Instance& instance, deputy_device_state* state) {
  const deputy_ext_device_control* control = ControlOf(instance.plugin(), instance.delegate());
  if (control == nullptr) return {DEPUTY_NOT_SUPPORTED, DEPUTY_NO_NODE, "it has no " DEPUTY_EXT_DEVICE_CONTROL};
  *state = {};
  state->struct_size = sizeof *state;
  return instance.plugin().Call("device_state", [&] { return control->device_state(instance.handle(), state); });
}

std::string FaultOfState(const deputy_device_state& state) {
  const auto level = [](const char* name, uint32_t value) {
    return std::string(name) + " is " + std::to_string(value) + ", and levels are 1 to 4, or 0 for none";
  };
  if (state.level_requested > kMostLevel) return level("level_requested", state.level_requested);
  if (state.level_granted > kMostLevel) return level("level_granted", state.level_granted);
  if (state.level_requested != 0 && state.frequency_requested_hz != 0)
    return "it says that both a level and a frequency were requested";
  const std::string name = FaultOf(state.device_name, false);
  return name.empty() ? "" : "device_name " + name;
}

// Only the fields that the struct_size of the host has are written.
std::string FaultOfSmallState(Instance& instance) {
  const deputy_ext_device_control* control = ControlOf(instance.plugin(), instance.delegate());
  deputy_device_state state;
  std::memset(static_cast<void*>(&state), kPoison, sizeof state);
  state.struct_size = offsetof(deputy_device_state, busy_ns);
  const Outcome outcome =
      instance.plugin().Call("device_state", [&] { return control->device_state(instance.handle(), &state); });
  if (!outcome.ok()) return "for a host with a smaller struct it answers: " + outcome.ToString();
  const auto* bytes = reinterpret_cast<const uint8_t*>(&state);
  for (size_t i = state.struct_size; i < sizeof state; ++i)
    if (bytes[i] != kPoison) return "it writes behind the struct_size of the host";
  return "";
}

void CheckState(TestRun& run, const std::vector<Case>& cases) {
  const auto [plugin, instance] = run.LoadAndOpen();
  if (instance == nullptr) return;
  deputy_device_state before{}, after{};
  Outcome outcome = StateOf(*instance, &before);
  if (!run.NoFaults(*plugin, "")) return;
  if (outcome.code == DEPUTY_NOT_SUPPORTED) return run.Skipped("it reports no clock: " + outcome.message);
  if (!outcome.ok()) return run.Failed("", "device_state fails: " + outcome.ToString());
  if (const std::string fault = FaultOfState(before); !fault.empty()) run.Failed("", fault);
  if (const std::string fault = FaultOfSmallState(*instance); !fault.empty()) run.Failed("", fault);
  if (before.runs != 0) run.Failed("", "it counts " + std::to_string(before.runs) + " runs before the first");
  constexpr uint64_t kRuns = 3;
  if (const std::optional<Compiled> compiled = CompileAnyCase(*instance, cases)) {
    Binding binding(*compiled->shown, compiled->claim, Flush::kEnd, kPoison);
    for (uint64_t i = 0; i < kRuns; ++i) (void)binding.Run(*compiled->context);
    outcome = StateOf(*instance, &after);
    if (!outcome.ok()) return run.Failed("", "device_state fails after runs: " + outcome.ToString());
    if (const std::string fault = FaultOfState(after); !fault.empty()) run.Failed("", "after runs: " + fault);
    if (after.runs != before.runs + kRuns)
      run.Failed("", "it counts " + std::to_string(after.runs) + " runs after " + std::to_string(kRuns));
    if (after.busy_ns < before.busy_ns) run.Failed("", "busy_ns is smaller after runs than before");
  }
  run.NoFaults(*plugin, "");
}

// The option of the clock; NULL for a delegate without one.
const deputy_option_info* ClockOption(Plugin& plugin, const deputy_delegate* delegate) {
  for (const deputy_option_info* info : SchemaOf(plugin, delegate))
    if (info != nullptr && info->type == DEPUTY_OPTION_FREQUENCY && TextOf(info->name) == kClockOption) return info;
  return nullptr;
}

// The requests of device_state are those that open was given.
void CheckRequests(TestRun& run) {
  const auto [plugin, plain] = run.LoadAndOpen();
  if (plain == nullptr) return;
  const deputy_option_info* option = ClockOption(*plugin, plain->delegate());
  if (option == nullptr) return run.Skipped("it has no option 'frequency'");
  for (const std::string& value : Samples(*option)) {
    const std::unique_ptr<Instance> instance = run.Open(*plugin, {{kClockOption, value}});
    if (instance == nullptr) continue;
    deputy_device_state state{};
    const Outcome outcome = StateOf(*instance, &state);
    if (outcome.code == DEPUTY_NOT_SUPPORTED) return run.Skipped("it reports no clock: " + outcome.message);
    const std::string subject = "frequency=" + value;
    const bool is_level = value.size() == 1;
    const uint64_t requested = std::stoull(value);
    if (!outcome.ok())
      run.Failed(subject, "device_state fails: " + outcome.ToString());
    else if (const std::string fault = FaultOfState(state); !fault.empty())
      run.Failed(subject, fault);
    else if (state.level_requested != (is_level ? requested : 0))
      run.Failed(subject, "level_requested is " + std::to_string(state.level_requested));
    else if (state.frequency_requested_hz != (is_level ? 0 : requested))
      run.Failed(subject, "frequency_requested_hz is " + std::to_string(state.frequency_requested_hz));
    else
      run.Passed(subject);
  }
  run.NoFaults(*plugin, "");
}

using Clocks = std::vector<std::pair<std::string, uint64_t>>;

// The clocks of the devices in hertz, by id; empty where they are not known.
Clocks ClocksOf(Plugin& plugin, const deputy_delegate* delegate) {
  Clocks clocks;
  const auto* devices = static_cast<const deputy_ext_devices*>(
      plugin.Extension(delegate, DEPUTY_EXT_DEVICES, DEPUTY_END_OF(deputy_ext_devices, enumerate)));
  if (devices == nullptr) return clocks;
  deputy_device_sink sink{};
  sink.struct_size = sizeof sink;
  sink.self = &clocks;
  sink.add = [](void* self, const deputy_device_info* device) -> deputy_status* {
    static_cast<Clocks*>(self)->emplace_back(TextOf(device->id), device->frequency_hz);
    return nullptr;
  };
  (void)plugin.Call("enumerate", [&] { return devices->enumerate(delegate, plugin.host().table(), &sink); });
  return clocks;
}

uint64_t GrantedTo(Instance& instance) {
  deputy_device_state state{};
  return StateOf(instance, &state).ok() ? state.frequency_granted_hz : 0;
}

std::string Hertz(uint64_t clock) { return std::to_string(clock) + " Hz"; }

// Two instances, of which the one that was opened first is closed first: the other one keeps its clock, and in the end
// the devices have theirs again. A clock that changes by itself shows in an instance that is alone.
class Closing {
 public:
  Closing(TestRun& run, Plugin& plugin, const deputy_delegate* delegate)
      : run_(run), plugin_(plugin), delegate_(delegate) {}

  void Try(const std::string& first, const std::string& second) {
    const std::string subject = "opened with " + first + ", then with " + second + ", closed in the same order";
    const Clocks before = ClocksOf(plugin_, delegate_);
    const uint64_t alone = Alone(second);
    std::unique_ptr<Instance> one = Open(first), two = Open(second);
    if (one == nullptr || two == nullptr) return;
    one.reset();
    const uint64_t left = GrantedTo(*two);
    two.reset();
    if (Alone(second) == alone && left != alone)
      run_.Failed(subject,
                  "the second one has " + Hertz(left) + " when the first is closed, and alone " + Hertz(alone));
    else if (const std::string wrong = FaultOfClocks(before); !wrong.empty())
      run_.Failed(subject, wrong);
    else
      run_.Passed(subject);
  }

 private:
  std::unique_ptr<Instance> Open(const std::string& value) { return run_.Open(plugin_, {{kClockOption, value}}); }

  uint64_t Alone(const std::string& value) {
    const std::unique_ptr<Instance> instance = Open(value);
    return instance == nullptr ? 0 : GrantedTo(*instance);
  }

  std::string FaultOfClocks(const Clocks& before) {
    Clocks now = ClocksOf(plugin_, delegate_);
    for (int i = 0; i < 50 && now != before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      now = ClocksOf(plugin_, delegate_);
    }
    if (now.size() != before.size()) return "the list of devices changes";
    for (size_t i = 0; i < now.size(); ++i)
      if (now[i] != before[i])
        return "the device '" + before[i].first + "' had " + Hertz(before[i].second) + " before it was opened, and " +
               Hertz(now[i].second) + " after the last instance was closed";
    return "";
  }

  TestRun& run_;
  Plugin& plugin_;
  const deputy_delegate* delegate_;
};

void CheckClosing(TestRun& run) {
  const std::unique_ptr<Plugin> plugin = run.Load();
  const deputy_delegate* delegate = plugin == nullptr ? nullptr : run.Delegate(*plugin);
  if (delegate == nullptr) return;
  if (ClockOption(*plugin, delegate) == nullptr) return run.Skipped("it has no option 'frequency'");
  Closing closing(run, *plugin, delegate);
  closing.Try("1", "4");
  closing.Try("4", "1");
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> DeviceTests(const std::vector<Case>& cases) {
  return {
      {"device.state", With(CheckState, cases)}, {"device.requests", CheckRequests}, {"device.closing", CheckClosing}};
}

}  // namespace deputy::conformance
