// The configuration of runs: the delegates in their order with their options, from YAML or made in code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy/cache.hpp"
#include "deputy/config.hpp"
#include "deputy/health.hpp"
#include "deputy/placement.hpp"
#include "deputy/plugins.hpp"
#include "deputy/progress.hpp"
#include "deputy/quarantine.hpp"
#include "deputy/status.hpp"

extern "C" {
typedef struct deputy_plugin deputy_plugin;
}

namespace deputy {

// One delegate made in code; ordered after those of the YAML, in the order of the list. The fields have the meaning of
// the YAML keys of the same name.
struct DeviceInfo {
  std::string name;      // unique
  std::string delegate;  // id; empty: the name
  int device = 0;
  std::string device_name;  // or its id; used instead of the number if not empty
  bool required = false;
  std::map<std::string, std::string> options;

  // 1 low, 2 balanced, 3 high, 4 extreme; checked against the delegate's schema when a model is built.
  DeviceInfo& SetFrequency(int level) {
    options["frequency"] = std::to_string(level);
    return *this;
  }
};

// A delegate object of the application, as deputy::sdk makes it from a Delegate (deputy/sdk/in_process.hpp).
struct InProcessDelegate {
  const deputy_plugin* plugin = nullptr;
  std::shared_ptr<void> keep;
  std::string id;
};

// Levels of the log; as a threshold, messages of this level and above.
enum class LogLevel { kDebug = 1, kInfo = 2, kWarning = 3, kError = 4, kOff = 5 };

// Sets the log sink, process-wide; null logs to stderr again. `source` is "host" or the name of a delegate. The sink is
// called by every thread that logs, several at once. When this returns, the previous sink is not running any more and
// is not called again, unless it is a sink that calls this. [any-thread]
void SetLogSink(std::function<void(LogLevel, std::string_view source, std::string_view message)> sink);
// The line that is written on stderr for a message, without its end, by `log: {format}` of the configuration that was
// used last: for sinks that write messages elsewhere in the same form. [any-thread]
std::string LogText(LogLevel level, std::string_view source, std::string_view message);
// "debug", "info", "warning", "error", as in JSON. [any-thread]
const char* NameOf(LogLevel level);

// The form of the lines of LogText: text; text behind its priority for the journal of systemd ("<4>"); an object of
// JSON.
enum class LogLineForm { kText = 1, kJournal, kJson };
// [any-thread]
LogLineForm LogLineFormInUse();

// The schema of configuration files, as a JSON Schema (draft 2020-12) for editors and other checkers. It accepts any
// options of delegates: `deputy config schema` adds those of the plugins that it finds. [any-thread]
std::string ConfigSchema();

// Copies of a context share its opened delegates. Delegates are found, checked and opened at the first use (a Build,
// Load), once for all models of a context, and stay open as long as any context or model that uses them lives. A change
// of a context does not affect models that were built before, but a reload does. Const functions, and Model::Build with
// this context, may be called by several threads at once; the others need exclusive access.
class Context {
 public:
  // The built-in defaults: the plugin folder of the installation, no delegates but the CPU.
  Context();
  ~Context();
  Context(const Context&);
  Context& operator=(const Context&);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // The configuration of this machine and user with these files and settings over it, as the command `deputy` reads it.
  // Where the default configuration of the installation is used, a message at the first use says so. [any-thread]
  static Result<Context> FromLayers(const ConfigSources& sources = {});
  // One file and its conf.d/*.yaml over the built-in defaults, without the configuration of the machine and the user.
  // `settings` are "path.to.key=value" and win over the file. Errors carry file, line and column, all of them at once.
  // An empty path: the settings over the built-in defaults. Files that users other than root and this one could change
  // or replace are errors (host/docs/configuration.md); text that the application vouches for is that of FromYamlText.
  static Result<Context> FromYaml(const std::string& path, const std::vector<std::string>& settings = {});
  // `name` is the file's name in messages; relative plugin paths are relative to the working directory.
  static Result<Context> FromYamlText(const std::string& name, const std::string& text,
                                      const std::vector<std::string>& settings = {});

  // The configuration of an installed bundle: the name of one, or an unpacked folder (a path with '/'); empty:
  // $DEPUTY_BUNDLE. `settings` win over it; its plugins are those of the bundle, with `trust: listed`. kNotFound: no
  // such bundle; kConfig: its configuration, or a file of it was changed; kFailedPrecondition: users other than root
  // and this one could change or replace it.
  static Result<Context> FromBundle(const std::string& bundle, const std::vector<std::string>& settings = {});

  // The entries of the configuration, in their order, with their options as written. Disabled ones are left out.
  std::vector<DeviceInfo> ConfiguredDelegates() const;

  // Whether the configuration has policy `measured`, under which placements are searched for and read beside models.
  bool MeasuresPlacements() const;

  // Whether the CPU runs nodes that no delegate runs: not with `fallback: none`.
  bool HasFallback() const;

  // Delegates made in code.
  std::vector<DeviceInfo>& MutableDeviceInfo();

  // The application's object instead of all others (the CPU stays last). Null: inner inference only on the CPU.
  void SetDelegate(std::nullptr_t);
  template <class D>
  void SetDelegate(std::shared_ptr<D> delegate) {
    if (delegate == nullptr) return SetDelegate(nullptr);
    auto made = MakeInProcessPlugin(std::move(delegate), "in_process");
    SetInProcess({made.plugin, std::move(made.keep), std::move(made.delegate_id)});
  }
  // The application's object in the order, in front of the delegate called `before`, or last when there is none. It is
  // called "in_process", the next ones "in_process_2" and so on. Null is an error of Load.
  template <class D>
  void AddDelegate(std::shared_ptr<D> delegate, const std::string& before = "") {
    if (delegate == nullptr) return AddInProcess({nullptr, nullptr, NextInProcessName()}, before);
    auto made = MakeInProcessPlugin(std::move(delegate), NextInProcessName());
    AddInProcess({made.plugin, std::move(made.keep), std::move(made.delegate_id)}, before);
  }

  // The name that the next AddDelegate gives: "in_process".
  std::string NextInProcessName() const;

  // Changes an option of a delegate that its schema calls settable ('deputy plugins NAME'), for all runs of all models
  // of this context that begin afterwards; opens the delegates if Load has not. kNotFound for the delegate or the
  // option, kInvalidArgument for the value, kFailedPrecondition for an option that is set when the delegate is opened;
  // else the delegate's failure. Runs may be under way; waits for a reload that is. [any-thread]
  Status SetOption(const std::string& delegate, const std::string& option, const std::string& value);

  // Called at the beginning of every stage of loading models and of preparing them for shapes; empty: not at all. For
  // the delegates and models that are opened after this call. The callback runs in the thread that loads, several at
  // once where several threads load, and must not call this context, its models or their sessions.
  void SetProgress(std::function<void(const Progress&)> progress);

  // Reads the sources of this context again, opens the delegates beside those that are open, makes plans of all models
  // for the shapes in use, and puts all of that in force: runs of all sessions that begin from then on use it. Options
  // of SetOption and what was set in code stay. Runs in flight end as they began. An error, of all that is wrong,
  // changes nothing. For this context, its copies that share its delegates, and their models. Health().configuration
  // says which configuration is in force. Waits for another reload; not from a callback of this context or of a run.
  // [any-thread]
  Status Reload();
  // The same with the sources of another context, and with what was set there in code, in place of this one's.
  Status Reload(const Context& next);
  // From now on, until this context is changed or destroyed, calls Reload after its files have changed: those that it
  // was read from, drop-ins that are added or removed, the link to a bundle's version; and once after a Reload with
  // the sources of another context, whose files may have changed meanwhile. `reloaded` is called with the result, on a
  // thread of the context; it must neither change nor destroy it. kFailedPrecondition: it was not read from files;
  // kUnavailable: the system refuses to watch them.
  Status WatchFiles(std::function<void(const Status&)> reloaded = {});

  // Whether every delegate that a rule or a log level names is listed in the configuration or was added in code,
  // without a scan for plugins, so not for those that `plugins: {auto: last}` finds. Load checks it too.
  Status Check() const;
  // Finds and opens the delegates now. Idempotent.
  Status Load();
  // Opens the delegates, as Load does, and reports them with their options and devices. [any-thread]
  Result<DelegateListing> ListDelegates() const;
  // Reads every plugin file without opening a delegate. Plugins that the configuration or the query names are run in a
  // helper process, which describes them; of all others only the manifest is read.
  Result<PluginListing> ListPlugins(const PluginQuery& query = {}) const;
  // The entries of the cache that this configuration names; opens no delegate. With `check` each is read whole and its
  // checksum compared. kUnavailable: the folder cannot be read, or others could change it. [any-thread]
  Result<CacheListing> ListCache(bool check = false) const;
  // Removes entries, and returns those that it removed. kInvalidArgument: a kind that does not exist; kUnavailable: as
  // above, or an entry cannot be removed. [any-thread]
  Result<CacheListing> PurgeCache(const CacheFilter& filter = {}) const;
  // Plugin files that are not run again after a fault, by path; those of the cache that this configuration names: all,
  // or those with this path, file name, plugin id or beginning of a key. Opens no delegate. kNotFound: `name` is none
  // of these; kUnavailable: as ListCache. [any-thread]
  Result<std::vector<QuarantinedPlugin>> ListQuarantine(const std::optional<std::string>& name = {}) const;
  // Lets these files be run again, and returns them. Errors as above. [any-thread]
  Result<std::vector<QuarantinedPlugin>> ClearQuarantine(const std::optional<std::string>& name = {}) const;
  // Failures of delegates in runs of this context's models, empty before the delegates are opened, and the
  // configuration in force. [any-thread]
  HealthReport Health() const;
  // The effective configuration as YAML, with the origin of every value, those of SetOption included. With
  // `plugin_defaults` also the options that it does not set, with the defaults of their plugins, which are run in a
  // helper process.
  std::string ShowConfig(bool plugin_defaults = false) const;

  struct State;  // internal to the host

 private:
  friend class Model;
  explicit Context(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void SetInProcess(InProcessDelegate delegate);
  void AddInProcess(InProcessDelegate delegate, const std::string& before);
  std::shared_ptr<State> state_;
};

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/context.hpp"  // IWYU pragma: export
#endif
