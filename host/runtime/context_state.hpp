// State of a Context: the configuration, the application's own delegates, and the engine once it is opened.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "config/config.hpp"
#include "config/loader.hpp"
#include "delegate/factory.hpp"
#include "deputy/context.hpp"
#include "runtime/engine.hpp"

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
  // Opens all delegates of plugins; null: the plugin registry does, in this process.
  std::shared_ptr<host::DelegateFactory> factory;

  State() = default;
  // Shares the engine of the other, if that has one.
  State(const State& other);
  State& operator=(const State&) = delete;
  static State& Of(Context& context) { return *context.state_; }
  // With the configuration and the warnings of the loader.
  static Result<std::shared_ptr<State>> From(host::ConfigLoader& loader);

  // The engine, opened by the first caller; others wait for it. After a failure the next call tries again. [any-thread]
  Result<std::shared_ptr<host::Engine>> Open() const;
  // After a change: models that were built before keep their engine.
  void ForgetEngine();

  // Null while it has not been opened. [any-thread]
  std::shared_ptr<host::Engine> opened() const;

 private:
  mutable host::Mutex engine_mutex_;
  // Null until first used, and again after a change.
  mutable std::shared_ptr<host::Engine> engine_ DEPUTY_GUARDED_BY(engine_mutex_);
};

}  // namespace deputy

namespace deputy::host {

// kConfig where a rule or a log level names a delegate that is neither in the configuration nor added by the
// application nor in `found`, the ids of plugins that have no entry.
Status CheckReferences(const Context::State& state, const std::vector<std::string>& found);

// Scans, loads and opens the delegates that the state names. A delegate that cannot be used is a warning, or an error
// when it is required.
Result<std::shared_ptr<Engine>> OpenEngine(const Context::State& state);

Result<PluginListing> ListPluginFiles(const Context::State& state, const PluginQuery& query);

}  // namespace deputy::host
