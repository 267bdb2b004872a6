#include "plugin/discovery/loaded_plugin.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "plugin/discovery/description.hpp"
#include "plugin/discovery/plugin_build.hpp"
#include "plugin/discovery/plugin_parts.hpp"
#include "plugin/discovery/table_check.hpp"
#include "plugin/proxy/host_services.hpp"
#include "plugin/proxy/submitted_runs.hpp"

namespace deputy::host {

// A library is mapped once per process, so it is initialised once per process too.
class PluginLife {
 public:
  explicit PluginLife(std::string source) : services_(std::move(source), nullptr) {}

  const deputy_host* host() const { return services_.table(); }

  std::optional<Rejection> Begin(const deputy_plugin& table) {
    const std::lock_guard lock(mutex_);
    if (users_ == 0)
      if (auto rejection = Init(table, host())) return rejection;
    ++users_;
    return std::nullopt;
  }

  void End(const deputy_plugin& table) {
    const std::lock_guard lock(mutex_);
    if (--users_ != 0 || table.shutdown == nullptr) return;
    if (!Returned(SiteOf(table.shutdown, "shutdown"), [&] { table.shutdown(&table); }))
      LogLine(LogLevel::kError, services_.source(), "its shutdown threw an exception");
    services_.ReportDroppedLines();
  }

  ConcurrencyLimiter& LimiterOf(const deputy_delegate& delegate) {
    const std::lock_guard lock(mutex_);
    return limiters_[&delegate];
  }
  SubmittedRuns& RunsOf(const deputy_delegate& delegate) {
    const std::lock_guard lock(mutex_);
    return runs_.try_emplace(&delegate, services_.source()).first->second;
  }

  void Keep(std::unique_ptr<HostServices> services) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(services));
  }

  // Entries stay for ever: a thread that a plugin forgot to join may use the host table until the process ends.
  static PluginLife& Of(const deputy_plugin& table) {
    struct Lives {
      std::mutex mutex;
      std::map<std::pair<const deputy_plugin*, std::string>, PluginLife> by_table;
    };
    static auto* const lives = new Lives;
    const std::string id(table.id.data, table.id.size);
    const std::lock_guard lock(lives->mutex);
    return lives->by_table.try_emplace({&table, id}, id).first->second;
  }

 private:
  std::mutex mutex_;
  uint32_t users_ = 0;
  HostServices services_;
  std::map<const deputy_delegate*, ConcurrencyLimiter> limiters_;
  std::map<const deputy_delegate*, SubmittedRuns> runs_;
  std::vector<std::unique_ptr<HostServices>> kept_;
};

namespace {

std::optional<Rejection> CheckUnchanged(const LoadedPlugin::Expected& expected) {
  const Checked<FileIdentity> now = IdentityOf(expected.path);
  const FileIdentity* identity = std::get_if<FileIdentity>(&now);
  if (identity == nullptr || *identity != expected.identity)
    return Rejection{RejectReason::kChanged, "is no longer the file that was checked; scan again"};
  if (const PluginPart* part = ChangedPart(expected.parts))
    return Rejection{RejectReason::kChanged,
                     fmt::format("its file {} is no longer the one that was checked; scan again", part->path.native())};
  return std::nullopt;
}

}  // namespace

Checked<std::shared_ptr<LoadedPlugin>> LoadedPlugin::Load(const Expected& expected) {
  ApplyEnvironment(expected.manifest);
  if (auto rejection = CheckUnchanged(expected)) return *std::move(rejection);
  const std::string clash = ClashOf(expected.path, expected.manifest, expected.parts);
  if (!clash.empty())
    return Rejection{RejectReason::kLoadFailed, "cannot be loaded into this process: " + clash +
                                                    "; 'isolation: process' gives it a process of its own"};
  std::shared_ptr<LoadedPlugin> plugin(new LoadedPlugin);
  DEPUTY_ASSIGN_OR_REJECT(
      plugin->library_,
      Library::Open(expected.path, PluginLabel(expected.manifest.id, expected.path.filename().string())));
  // The path may have been swapped and swapped back around dlopen; the build id is of the mapped file.
  if (auto rejection = CheckUnchanged(expected)) return *std::move(rejection);
  if (plugin->library_->BuildId() != expected.manifest.build_id)
    return Rejection{RejectReason::kChanged, "was replaced while it was loaded: its build id differs"};
  // What another thread has loaded meanwhile takes the place of its libraries as well.
  if (const std::string late = ClashOf(expected.path, expected.manifest, expected.parts); !late.empty())
    return Rejection{RejectReason::kLoadFailed, "uses a library of another plugin: " + late};
  DEPUTY_ASSIGN_OR_REJECT(plugin->table_, QueryTable(plugin->library_->entry()));
  const std::string_view id(plugin->table_->id.data, plugin->table_->id.size);
  if (id != expected.manifest.id)
    return Rejection{RejectReason::kBadTable,
                     fmt::format("calls itself '{}', but its manifest says '{}'", id, expected.manifest.id)};
  plugin->build_id_ = expected.manifest.build_id;
  plugin->parts_text_ = expected.parts_text;
  // Taken first: arguments are evaluated in any order, and `plugin` is empty after its move.
  PluginLife* const life = &PluginLife::Of(*plugin->table_);
  return Finish(std::move(plugin), expected.path.filename().string(), life);
}

Checked<std::shared_ptr<LoadedPlugin>> LoadedPlugin::AdoptServed(const Expected& expected, const deputy_plugin* table,
                                                                 std::shared_ptr<void> keep) {
  if (auto rejection = CheckPluginTable(table)) return *std::move(rejection);
  // The process has loaded the file by its path.
  if (auto rejection = CheckUnchanged(expected)) return *std::move(rejection);
  const std::string id(table->id.data, table->id.size);
  if (id != expected.manifest.id)
    return Rejection{RejectReason::kBadTable,
                     fmt::format("calls itself '{}', but its manifest says '{}'", id, expected.manifest.id)};
  std::shared_ptr<LoadedPlugin> plugin(new LoadedPlugin);
  plugin->own_life_.reset(new PluginLife(id));
  plugin->keep_ = std::move(keep);
  plugin->table_ = table;
  plugin->build_id_ = expected.manifest.build_id;
  plugin->parts_text_ = expected.parts_text;
  PluginLife* const life = plugin->own_life_.get();
  return Finish(std::move(plugin), expected.path.filename().string() + ", in a worker process", life);
}

Checked<std::shared_ptr<LoadedPlugin>> LoadedPlugin::Adopt(const deputy_plugin* table, std::shared_ptr<void> keep) {
  if (table == nullptr) return Rejection{RejectReason::kNoTable, "no table was given"};
  if (auto rejection = CheckPluginTable(table)) return *std::move(rejection);
  std::shared_ptr<LoadedPlugin> plugin(new LoadedPlugin);
  plugin->keep_ = std::move(keep);
  plugin->table_ = table;
  return Finish(std::move(plugin), "in process", &PluginLife::Of(*table));
}

Checked<std::shared_ptr<LoadedPlugin>> LoadedPlugin::Finish(std::shared_ptr<LoadedPlugin> plugin,
                                                            const std::string& origin, PluginLife* life) {
  const deputy_plugin& table = *plugin->table_;
  plugin->label_ = PluginLabel({table.id.data, table.id.size}, origin);
  if (auto rejection = life->Begin(table)) return *std::move(rejection);
  plugin->life_ = life;
  DEPUTY_ASSIGN_OR_REJECT(plugin->delegates_, DelegateTables(table));
  return plugin;
}

LoadedPlugin::LoadedPlugin() : own_life_(nullptr, [](PluginLife* life) { delete life; }) {}

LoadedPlugin::~LoadedPlugin() {
  if (life_ != nullptr) life_->End(*table_);
}

std::string LoadedPlugin::BuildIdText() const { return BuildText(build_id_, parts_text_); }

const deputy_host* LoadedPlugin::host() const { return life_->host(); }

const deputy_delegate* LoadedPlugin::FindDelegate(std::string_view id) const {
  for (const deputy_delegate* delegate : delegates_)
    if (std::string_view(delegate->id.data, delegate->id.size) == id) return delegate;
  return nullptr;
}

ConcurrencyLimiter& LoadedPlugin::LimiterOf(const deputy_delegate& delegate) const {
  return life_->LimiterOf(delegate);
}

SubmittedRuns& LoadedPlugin::RunsOf(const deputy_delegate& delegate) const { return life_->RunsOf(delegate); }

void LoadedPlugin::Keep(std::unique_ptr<HostServices> services) const { life_->Keep(std::move(services)); }

}  // namespace deputy::host
