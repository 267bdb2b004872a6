// `debug: {dump}`: what a plan is made of, and the tensors of its first run, as files for people and tools. Only text
// and .npy files are written, each complete or not at all; host/docs/cli.md describes them.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "deputy/placement.hpp"
#include "execute/execution.hpp"
#include "runtime/engine.hpp"

namespace deputy::host {

// What to dump, and the folder of all models. None: nothing.
std::optional<DumpSettings> DumpSettingsOf(const Config& config);

// The dump of one plan. [any-thread]
class PlanDump {
 public:
  // Writes the graph, the placement and the plan, as far as `settings` name them, into MODEL/plan_<number>.
  static Result<std::shared_ptr<PlanDump>> Write(const DumpSettings& settings, const std::string& model, size_t number,
                                                 const Plan& plan, const Engine& engine);

  const std::filesystem::path& folder() const { return folder_; }
  // True once, if tensors are to be dumped: for the run that dumps them.
  bool BeginTensors() { return tensors_due_.exchange(false); }

 private:
  std::filesystem::path folder_;
  std::atomic<bool> tensors_due_{false};
};

// Writes the inputs of a run, and after each step its outputs, into tensors/; then a list of them. Values inside
// regions are not written.
class TensorDump final : public StepObserver {
 public:
  explicit TensorDump(const PlanDump& dump) : folder_(dump.folder() / "tensors") {}

  // Before the run.
  Status WriteInputs(const Execution& execution);
  Status Ended(const Execution& execution, size_t step) override;
  // After the run, also after one that failed.
  Status WriteList() const;

 private:
  Status WriteValue(const Execution& execution, ValueId id, const std::string& prefix, const std::string& maker);

  const std::filesystem::path folder_;
  std::vector<std::string> files_, entries_;
};

// A graph, and a plan, as text.
std::string GraphText(const Graph& graph);
std::string PlanText(const Plan& plan);

// A placement as JSON, with the keys of `deputy partition --json`, without options, devices, shares and estimates.
std::string PlacementJson(const PlacementReport& report);

// A text in the quotes of JSON, printable.
std::string JsonQuoted(std::string_view text);

}  // namespace deputy::host
