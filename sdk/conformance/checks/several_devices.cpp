// Several devices of one delegate: results on each, in turns, at once, and on those that are left when one is closed.
#include <algorithm>
#include <deque>
#include <map>

#include "case_run.hpp"
#include "concurrency.hpp"
#include "deputy/abi/ext/concurrency.h"
#include "overlap.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

// A device with executables of a few operators.
struct Device {
  std::string id;
  std::unique_ptr<Instance> instance;
  std::vector<Compiled> compiled;

  // `turn` selects the data.
  std::string Fault(size_t turn, deputy_dtype computes_in) const {
    for (const Compiled& one : compiled) {
      const Case tested = Turned(*one.tested, turn);
      const CaseGraph shown(tested);
      const std::string wrong = FaultOfRun(shown, one.claim, *one.context, computes_in);
      if (!wrong.empty()) return "on the device '" + id + "', " + one.name + ": " + wrong;
    }
    return "";
  }
};

std::vector<Compiled> CompiledOn(Instance& instance, const std::vector<Case>& cases) {
  std::vector<Compiled> all =
      CompileSomeCases(instance, cases, 8, [](const Case&, size_t admitted, size_t) { return admitted < 4; });
  // Else one with weights, which a device keeps.
  std::string ignored;
  for (const Case& tested : cases) {
    if (!all.empty()) break;
    const bool reads_constant = std::any_of(tested.inputs.begin(), tested.inputs.end(), [](const Operand& input) {
      return input.constant && reference::IsReal(input.value.dtype);
    });
    if (!reads_constant) continue;
    if (std::optional<Compiled> compiled = CompileCase(instance, tested, &ignored)) all.push_back(std::move(*compiled));
  }
  return all;
}

std::string FaultAtOnce(const std::deque<Device>& devices, deputy_dtype computes_in) {
  std::deque<Case> tested;
  std::deque<CaseGraph> shown;
  OverlappingRuns runs;
  for (const Device& device : devices) {
    if (device.compiled.empty()) continue;
    const Compiled& one = device.compiled.front();
    tested.push_back(Turned(*one.tested, tested.size()));
    shown.emplace_back(tested.back());
    runs.Add(shown.back(), one.claim, *one.context);
  }
  return runs.Fault(computes_in, 400, std::chrono::milliseconds(50));
}

void CheckEach(TestRun& run, const std::vector<Case>& cases) {
  constexpr size_t kMostDevices = 4;
  const auto [plugin, plain] = run.LoadAndOpen();
  if (plain == nullptr) return;
  const std::vector<std::string> ids = DevicesOf(*plugin, plain->delegate());
  if (ids.size() < 2) return run.Skipped("it lists no two devices");
  const deputy_dtype computes_in = run.settings().computes_in;
  std::deque<Device> devices;
  for (size_t i = 0; i < ids.size() && i < kMostDevices; ++i) {
    Outcome outcome;
    Device device{ids[i], nullptr, {}};
    device.instance = Instance::Open(*plugin, plain->delegate(), run.settings().options, &outcome,
                                     "conformance on " + ids[i], 0, ids[i]);
    if (device.instance == nullptr) {
      run.Failed("the device '" + ids[i] + "'", "it is listed, and open fails: " + outcome.ToString());
      continue;
    }
    device.compiled = CompiledOn(*device.instance, cases);
    devices.push_back(std::move(device));
  }
  // What is compiled on a device after others were opened is that device's.
  for (Device& device : devices)
    for (Compiled& one : CompiledOn(*device.instance, cases)) device.compiled.push_back(std::move(one));
  for (size_t turn = 0; turn < 3; ++turn)
    for (const Device& device : devices)
      if (const std::string wrong = device.Fault(turn, computes_in); !wrong.empty())
        return run.Failed("in turns", wrong);
  if (!devices.empty() && (AllowedConcurrency(*plain) & DEPUTY_CONCURRENT_INSTANCES) != 0)
    if (const std::string wrong = FaultAtOnce(devices, computes_in); !wrong.empty())
      return run.Failed("at once", wrong);
  while (devices.size() > 1) {
    devices.front().compiled.clear();
    devices.pop_front();
    for (const Device& device : devices)
      if (const std::string wrong = device.Fault(1, computes_in); !wrong.empty())
        return run.Failed("after another device was closed", wrong);
  }
  run.NoFaults(*plugin, "");
}

}  // namespace

std::vector<Test> SeveralDeviceTests(const std::vector<Case>& cases) {
  return {{"device.each", With(CheckEach, cases)}};
}

}  // namespace deputy::conformance
