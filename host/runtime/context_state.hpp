// State of a Context: the settings, which are the configuration with what was set in code, and what is in force.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/loader.hpp"
#include "delegate/factory.hpp"
#include "deputy/context.hpp"
#include "runtime/engine.hpp"
#include "runtime/file_watch.hpp"
#include "runtime/in_force.hpp"

namespace deputy {

struct Context::State {
  struct InProcess {
    InProcessDelegate delegate;
    std::string before;
  };

  host::Config config;
  std::vector<std::string> config_warnings;
  std::string config_note;  // logged before the warnings; empty: none
  std::vector<DeviceInfo> device_infos;
  std::vector<InProcess> added;
  // SetDelegate was called: with a delegate, it runs instead of all others; without, only the CPU runs.
  bool replaced = false;
  std::function<void(const Progress&)> progress;
  std::vector<std::string> files;  // that were read, lowest layer first
  // Files and folders that the configuration was searched in, absent ones included; absolute.
  std::vector<std::filesystem::path> places;
  // Reads the sources of the configuration again; empty: it has none.
  std::function<Result<std::shared_ptr<State>>()> read_again;
  // Opens all delegates of plugins; null: the plugin registry does, in this process.
  std::shared_ptr<host::DelegateFactory> factory;

  State() : in_force_(std::make_shared<host::InForce>()) {}
  // Shares what is in force of the other, if its delegates are open. Files are not watched.
  State(const State& other);
  // The settings of another one, for this; null: settings alone.
  State(const State& settings, std::shared_ptr<host::InForce> in_force);
  State& operator=(const State&) = delete;
  ~State() { EndWatch(); }
  static State& Of(Context& context) { return *context.state_; }
  static const State& Of(const Context& context) { return *context.state_; }
  // With the configuration and the warnings of the loader.
  static Result<std::shared_ptr<State>> From(host::ConfigLoader& loader);

  // The engine, opened by the first caller; others wait for it. After a failure the next call tries again. [any-thread]
  Result<std::shared_ptr<host::Engine>> Open() const { return in_force_->Open(*this); }
  const std::shared_ptr<host::InForce>& in_force() const { return in_force_; }
  // These settings, or those of the last reload. [any-thread]
  std::shared_ptr<const State> Current() const;
  // Before a change: models that were built before keep what is in force. Ends the watch of files.
  void Detach();

  // The sources of the configuration, read again, with what was set in code. [any-thread]
  Status Reload() const;
  // Those of the other context, with what was set there. [any-thread]
  Status Reload(const State& next) const;
  Status WatchFiles(std::function<void(const Status&)> reloaded);

 private:
  void TakeConfiguration(State& from);
  void EndWatch();

  std::shared_ptr<host::InForce> in_force_;
  std::unique_ptr<host::FileWatch> watch_;  // calls Reload; ends first
};

}  // namespace deputy

namespace deputy::host {

// kConfig where a rule or a log level names a delegate that is neither in the configuration nor added by the
// application nor in `found`, the ids of plugins that have no entry.
Status CheckReferences(const Context::State& state, const std::vector<std::string>& found);

// Scans, loads and opens the delegates that the state names. A delegate that cannot be used is a warning, or an error
// when it is required. `arenas`: for its worker processes, which so read tensors of an engine that it replaces; null:
// new ones.
Result<std::shared_ptr<Engine>> OpenEngine(const Context::State& state, std::shared_ptr<SharedArenas> arenas = nullptr);

Result<PluginListing> ListPluginFiles(const Context::State& state, const PluginQuery& query);

}  // namespace deputy::host
