#include "runtime/plugin_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/plural.hpp"
#include "base/printable.hpp"

namespace deputy::host {
namespace {

// A clock that was set back makes no fault old.
bool IsRecent(std::chrono::system_clock::time_point time, std::chrono::system_clock::time_point now) {
  const auto age = now > time ? now - time : time - now;
  return age <= PluginFaults::kWindow;
}

}  // namespace

void AddFault(std::vector<FaultRecord>& records, FaultRecord fault, bool apart) {
  const auto known = std::find_if(records.begin(), records.end(), [&](const FaultRecord& record) {
    return record.content.IsSame(fault.content) && (!apart || record.limits == fault.limits);
  });
  if (known != records.end()) {
    // Those of the plugin itself count together as long as one follows another.
    if (!fault.is_of_plugin() || IsRecent(known->last, fault.last)) {
      fault.count += known->count;
      fault.alone += known->alone;
      fault.limits.Add(known->limits);
    }
    records.erase(known);
  }
  records.push_back(std::move(fault));  // the latest last
  // The oldest of those that keep nothing away go first.
  while (records.size() > PluginFaults::kMostRecords) {
    const auto light = std::find_if(records.begin(), records.end(), [](const auto& r) { return !r.is_kept_away(); });
    records.erase(light == records.end() ? records.begin() : light);
  }
}

std::vector<FaultRecord> CountingWith(const std::vector<FaultRecord>& records, const FaultLimits& limits) {
  std::vector<FaultRecord> counting;
  for (const FaultRecord& record : records)
    if (record.limits.CountsWith(limits)) AddFault(counting, record);
  return counting;
}

PluginFaults::PluginFaults(FaultHandling handling) : handling_(std::move(handling)), records_(handling_.known) {
  keeps_any_away_ = std::any_of(records_.begin(), records_.end(), [](const auto& r) { return r.is_kept_away(); });
}

void PluginFaults::Count(const std::string& fault, const std::optional<FaultContent>& content, bool alone, bool kept,
                         FaultLimits limits) {
  const MutexLock lock(mutex_);
  if (!given_up_.empty()) return;
  const auto now = std::chrono::system_clock::now();
  if (!kept) limits.Add(FaultLimits::kDeadline, 0);  // for this process alone
  const auto add = [&](const FaultContent& subject, uint32_t count, uint32_t on_its_own) DEPUTY_REQUIRES(mutex_) {
    const FaultRecord record{subject, count, on_its_own, fault, now, limits};
    std::optional<std::vector<FaultRecord>> all = kept && handling_.keep ? handling_.keep(record) : std::nullopt;
    if (all)
      records_ = *std::move(all);
    else
      AddFault(records_, record);
    const FaultRecord& last = records_.back();
    if (!last.content.IsSame(subject) || !last.is_kept_away()) return;
    keeps_any_away_ = true;
    if (last.count == FaultRecord::kMost)
      Log(LogLevel::kWarning, "{} of {}: ended the worker process of a plugin twice, and is kept away from it",
          Printable(subject.part), Printable(subject.model_name));
  };
  // Faults of calls without a part of a model add up over processes as well: such a plugin fails at each start anew.
  if (!content) {
    add({{}, {}, "", "no part of a model"}, 1, 1);
    return Judge(fault);
  }
  add(*content, 1, alone ? 1 : 0);
  uint32_t of_model = 0;
  for (const FaultRecord& record : records_)
    if (record.content.model == content->model && record.content.content != content->model) {
      of_model += record.count;
      limits.Add(record.limits);
    }
  if (of_model >= kMostOfModel && content->content != content->model)
    add({content->model, content->model, content->model_name, "all parts"}, FaultRecord::kMost, 0);
  Judge(fault);
}

void PluginFaults::Judge(const std::string& fault) {
  const auto now = std::chrono::system_clock::now();
  std::set<Digest> models;
  FaultLimits limits;
  size_t of_plugin = 0;
  for (const FaultRecord& record : records_) {
    if (record.alone == 0 || !IsRecent(record.last, now)) continue;
    limits.Add(record.limits);
    if (record.is_of_plugin())
      of_plugin += record.count;
    else
      models.insert(record.content.model);
  }
  const size_t faults = models.size() + of_plugin;
  if (faults < kMostModels) return;
  given_up_ = fmt::format("failed {} within five minutes{}: its worker process {}", Plural(faults, "time"),
                          models.size() < 2 ? "" : fmt::format(", with {} different models", models.size()), fault);
  if (handling_.give_up) handling_.give_up(given_up_, limits);
}

Status PluginFaults::Check(const FaultContent& content) const {
  const MutexLock lock(mutex_);
  const auto refusal = [](const FaultRecord& record, const std::string& what, const char* how_often) {
    // The text comes last: it may end in remarks of its own.
    return Error(StatusCode::kPlugin, "it failed with {} before, {}: its worker process {}", what, how_often,
                 record.text)
        .Advise("'deputy quarantine ls' lists what is kept away from plugins, 'clear' releases it");
  };
  size_t models = 0;  // from which the content is kept away
  for (const FaultRecord& record : records_) {
    if (!record.is_kept_away()) continue;
    if (record.content.content == content.model) return refusal(record, "parts of this model", "for the second time");
    if (record.content.content != content.content) continue;
    if (record.content.model == content.model) return refusal(record, "this " + content.part, "for the second time");
    if (++models == FaultRecord::kMostModels) return refusal(record, "this " + content.part, "in two other models");
  }
  return {};
}

Status PluginFaults::given_up() const {
  const MutexLock lock(mutex_);
  return given_up_.empty() ? Status() : Error(StatusCode::kUnavailable, "{}", given_up_);
}

}  // namespace deputy::host
