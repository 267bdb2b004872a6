#include "test.hpp"

#include <cstring>

#include "text.hpp"
#include "trap.hpp"

namespace deputy::conformance {

void TestRun::BeginCase(int64_t index, const std::string& subject) {
  Progress* progress = SharedProgress();
  std::strncpy(progress->subject, subject.c_str(), sizeof progress->subject - 1);
  progress->next_case = index + 1;
}

void TestRun::Failed(const std::string& subject, const std::string& text) {
  Found({FindingKind::kFailed, subject, text});
}

void TestRun::Covered(const std::string& op_type, size_t taken, size_t fixed_taken, size_t fixed) {
  sink_({FindingKind::kCoverage, op_type,
         std::to_string(taken) + " " + std::to_string(fixed_taken) + " " + std::to_string(fixed)});
}

void TestRun::Found(const Finding& finding) {
  if (finding.kind == FindingKind::kFailed) ++failures_;
  sink_(finding);
}

std::unique_ptr<Plugin> TestRun::Load(bool init) {
  std::string why_not;
  std::unique_ptr<Plugin> plugin = Plugin::Load(settings_.plugin, &why_not);
  if (plugin == nullptr) {
    Failed("", "the plugin cannot be loaded: " + why_not);
    return nullptr;
  }
  if (!init) return plugin;
  const Outcome outcome = plugin->Init();
  if (outcome.ok()) return plugin;
  Failed("", "init failed: " + outcome.ToString());
  return nullptr;
}

const deputy_delegate* TestRun::Delegate(Plugin& plugin) {
  const deputy_delegate* delegate = plugin.Delegate(settings_.delegate);
  if (delegate == nullptr)
    Failed("", settings_.delegate.empty() ? "the plugin has no delegate"
                                          : "the plugin has no delegate '" + settings_.delegate + "'");
  else if (!DEPUTY_HAS(delegate, deputy_delegate, execute))
    Failed("", "the delegate's struct_size is too small; see entry.tables");
  else if (delegate->execute == nullptr || delegate->open == nullptr)
    Failed("", "the delegate's table has empty slots; see entry.tables");
  else
    return delegate;
  return nullptr;
}

std::unique_ptr<Instance> TestRun::Open(Plugin& plugin, const OptionList& more, uint32_t flags) {
  const deputy_delegate* delegate = Delegate(plugin);
  if (delegate == nullptr) return nullptr;
  OptionList options = settings_.options;
  for (const auto& [name, value] : more) {
    bool found = false;
    for (auto& [key, old] : options)
      if (key == name) {
        old = value;
        found = true;
      }
    if (!found) options.emplace_back(name, value);
  }
  Outcome outcome;
  if (delegate->probe != nullptr)
    outcome = plugin.Call("probe", [&] { return delegate->probe(delegate, plugin.host().table()); });
  if (!outcome.ok()) {
    Unavailable("the probe says that the delegate cannot run here: " + outcome.ToString());
    return nullptr;
  }
  std::unique_ptr<Instance> instance = Instance::Open(plugin, delegate, options, &outcome, "conformance", flags);
  if (instance == nullptr) Failed("", "open failed: " + outcome.ToString());
  return instance;
}

OpenedPlugin TestRun::LoadAndOpen() {
  OpenedPlugin opened{Load(), nullptr};
  if (opened.plugin != nullptr) opened.instance = Open(*opened.plugin);
  return opened;
}

bool TestRun::NoFaults(Plugin& plugin, const std::string& subject) {
  const std::vector<std::string> faults = plugin.host().TakeFaults();
  for (const std::string& fault : faults) Failed(subject, fault);
  return faults.empty();
}

void TestRun::CheckStatuses(Plugin& plugin) {
  const size_t kept = plugin.host().statuses_out();
  if (kept != 0) Failed("", std::to_string(kept) + " statuses were made and never returned");
}

std::vector<Test> AllTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models,
                           const Settings& settings) {
  std::vector<Test> all;
  for (std::vector<Test>& group : std::vector<std::vector<Test>>{EntryTests(),
                                                                 OptionTests(),
                                                                 OptionResultTests(cases),
                                                                 DeviceTests(cases),
                                                                 SeveralDeviceTests(cases),
                                                                 LifeCycleTests(cases),
                                                                 LoadTimeTests(cases),
                                                                 NumericTests(cases),
                                                                 CapabilityTests(cases),
                                                                 PartitionTests(models),
                                                                 FusionTests(cases),
                                                                 ExecutionTests(cases),
                                                                 StateTests(cases, models),
                                                                 ConcurrencyTests(cases),
                                                                 CallTests(cases),
                                                                 AllocatorTests(cases),
                                                                 ShapeTests(cases),
                                                                 ResizeTests(cases),
                                                                 BlobTests(cases, models),
                                                                 ProfilingTests(cases, models),
                                                                 MemoryTests(cases),
                                                                 AsyncTests(cases),
                                                                 LeakTests(cases, models),
                                                                 HostTests(cases),
                                                                 OwnModelTests(settings)})
    for (Test& test : group) all.push_back(std::move(test));
  return all;
}

}  // namespace deputy::conformance
