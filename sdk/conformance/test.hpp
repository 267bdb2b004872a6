// A test of the kit and its findings. A test runs in a process of its own and sends its findings through a pipe to the
// process that started it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "case.hpp"
#include "cases/models.hpp"
#include "instance.hpp"

namespace deputy::conformance {

// The settings of the command line.
struct Settings {
  std::string plugin;    // absolute path
  std::string delegate;  // id; "": the plugin's first, or on the command line all of them
  OptionList options;
  std::string filter = "*";
  std::string quirks, junit;
  std::string model;          // a file of ONNX; "": none
  std::string save_failures;  // a folder; "": nothing is saved
  int timeout_s = 20;
  int jobs = 0;  // tests at a time; 0: one for each CPU
  bool list = false;
  bool in_process = false;
  bool thorough = false;  // about ten minutes, for a release
  uint64_t seed = 1;
  int random = 200;                                   // networks
  deputy_dtype computes_in = DEPUTY_DTYPE_UNDEFINED;  // from the list of quirks
};

// kWarning: no failure, and likely not what the vendor wants.
// kUnavailable: skipped because the delegate says that it cannot run on this machine.
// kCoverage: of the operator `subject`; the text is "TAKEN FIXED_TAKEN FIXED", all of cases.
enum class FindingKind : char {
  kPassed = 'P',
  kFailed = 'F',
  kSkipped = 'S',
  kUnavailable = 'U',
  kNote = 'N',
  kWarning = 'W',
  kCoverage = 'C'
};

// About a test ("" as the case) or one of its cases.
struct Finding {
  FindingKind kind;
  std::string subject;  // "dilations=[2,1]"
  std::string text;     // the failure, or the reason for skipping
};

// `instance` is NULL after a failure has been recorded.
struct OpenedPlugin {
  std::unique_ptr<Plugin> plugin;
  std::unique_ptr<Instance> instance;
};

class TestRun {
 public:
  TestRun(const Settings& settings, int64_t first_case, std::function<void(const Finding&)> sink)
      : settings_(settings), first_case_(first_case), sink_(std::move(sink)) {}

  const Settings& settings() const { return settings_; }
  // Of the test; "" for a part in another process.
  const std::string& name() const { return name_; }
  void SetName(std::string name) { name_ = std::move(name); }
  // The first case to run; earlier ones were run by another process.
  int64_t first_case() const { return first_case_; }
  void BeginCase(int64_t index, const std::string& subject);

  void Passed(const std::string& subject) { sink_({FindingKind::kPassed, subject, ""}); }
  void Failed(const std::string& subject, const std::string& text);
  void Skipped(const std::string& reason) { sink_({FindingKind::kSkipped, "", reason}); }
  void Unavailable(const std::string& reason) { sink_({FindingKind::kUnavailable, "", reason}); }
  void Note(const std::string& text) { sink_({FindingKind::kNote, "", text}); }
  void Warn(const std::string& text) { sink_({FindingKind::kWarning, "", text}); }
  // How many cases of an operator were taken, of them fixed ones, and of how many fixed ones.
  void Covered(const std::string& op_type, size_t taken, size_t fixed_taken, size_t fixed);
  // Adds a finding of another process.
  void Found(const Finding& finding);
  size_t failures() const { return failures_; }

  // The plugin, loaded and initialized; NULL after a failure has been recorded.
  std::unique_ptr<Plugin> Load(bool init = true);
  const deputy_delegate* Delegate(Plugin& plugin);
  // Opened with the options of the command line, on top of them `more`.
  std::unique_ptr<Instance> Open(Plugin& plugin, const OptionList& more = {}, uint32_t flags = 0);
  OpenedPlugin LoadAndOpen();
  // Records the plugin's faults so far; true when there were none.
  bool NoFaults(Plugin& plugin, const std::string& subject);
  // Records a failure if the plugin has kept statuses.
  void CheckStatuses(Plugin& plugin);

 private:
  const Settings& settings_;
  std::string name_;
  int64_t first_case_;
  std::function<void(const Finding&)> sink_;
  size_t failures_ = 0;
};

struct Test {
  std::string name;  // "numerics.Conv"
  std::function<void(TestRun&)> run;
};

// Binds a check to the lists that it reads, which must outlive the result.
template <class... Lists>
std::function<void(TestRun&)> With(void (*check)(TestRun&, const Lists&...), const Lists&... lists) {
  return [check, &lists...](TestRun& run) { check(run, lists...); };
}

// In the order in which they are run. `cases` and `models` must outlive them.
std::vector<Test> AllTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models,
                           const Settings& settings);

std::vector<Test> EntryTests();
std::vector<Test> OptionTests();
std::vector<Test> OptionResultTests(const std::vector<Case>& cases);
std::vector<Test> DeviceTests(const std::vector<Case>& cases);
std::vector<Test> SeveralDeviceTests(const std::vector<Case>& cases);
std::vector<Test> LifeCycleTests(const std::vector<Case>& cases);
std::vector<Test> LoadTimeTests(const std::vector<Case>& cases);
std::vector<Test> NumericTests(const std::vector<Case>& cases);
std::vector<Test> CapabilityTests(const std::vector<Case>& cases);
std::vector<Test> PartitionTests(const std::vector<ModelCase>& models);
std::vector<Test> FusionTests(const std::vector<Case>& cases);
std::vector<Test> ExecutionTests(const std::vector<Case>& cases);
std::vector<Test> StateTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models);
std::vector<Test> ConcurrencyTests(const std::vector<Case>& cases);
std::vector<Test> ShapeTests(const std::vector<Case>& cases);
std::vector<Test> CallTests(const std::vector<Case>& cases);
std::vector<Test> AllocatorTests(const std::vector<Case>& cases);
std::vector<Test> ResizeTests(const std::vector<Case>& cases);
std::vector<Test> ProfilingTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models);
std::vector<Test> BlobTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models);
std::vector<Test> MemoryTests(const std::vector<Case>& cases);
std::vector<Test> AsyncTests(const std::vector<Case>& cases);
std::vector<Test> LeakTests(const std::vector<Case>& cases, const std::vector<ModelCase>& models);
// With --model alone.
std::vector<Test> OwnModelTests(const Settings& settings);
std::vector<Test> HostTests(const std::vector<Case>& cases);

}  // namespace deputy::conformance
