// What is in force of a context, its copies and the models built with them: the settings, the opened delegates, and
// how a reload replaces both while models run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "deputy/context.hpp"
#include "deputy/health.hpp"
#include "deputy/model.hpp"
#include "runtime/engine.hpp"

namespace deputy::host {

class FileWatch;

// [any-thread]
class InForce {
 public:
  // The engine; the first caller opens it with these settings, others wait. After a failure the next call tries again.
  Result<std::shared_ptr<Engine>> Open(const Context::State& settings);
  // Null while it has not been opened.
  std::shared_ptr<Engine> engine() const;
  // Those of the last reload; null: those of the context.
  std::shared_ptr<const Context::State> settings() const;

  // The model follows reloads from now on. False: its plans are of another engine than the one in force.
  bool Add(const std::shared_ptr<Model::State>& model);
  // Until Remove, the watch asks for its places after each reload.
  void Add(FileWatch& watch);
  void Remove(FileWatch& watch);

  // Opens an engine with the next settings, makes plans of all models with it, and puts them in force; or keeps what is
  // in force, and returns all errors. One at a time, the making of the settings included: those that are made later
  // replace those that are made before. What runs in flight do not hold of the former engine is closed when this
  // returns; the rest when the last of these runs ends.
  using MakeSettings = std::function<Result<std::shared_ptr<const Context::State>>()>;
  Status Reload(const Context::State& settings, const MakeSettings& make);
  // Changes an option of a delegate, and keeps it over reloads. Waits for a reload that is under way.
  Status SetOption(const Context::State& settings, const std::string& delegate, const std::string& option,
                   const std::string& value);

  HealthReport Health() const;

 private:
  struct Former;
  Status RefuseReload(Status status);
  Result<std::shared_ptr<Engine>> OpenNext(const Context::State& next) DEPUTY_REQUIRES(changing_);
  Status PlanAndSwitch(const std::shared_ptr<const Context::State>& next, const std::shared_ptr<Engine>& engine,
                       Former& former) DEPUTY_REQUIRES(changing_);
  void PutInForce(std::shared_ptr<Engine> engine, const Context::State& settings) DEPUTY_REQUIRES(mutex_);

  Mutex changing_;  // held while engines are opened
  mutable Mutex mutex_;
  std::shared_ptr<Engine> engine_ DEPUTY_GUARDED_BY(mutex_);
  std::shared_ptr<const Context::State> settings_ DEPUTY_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Model::State>> models_ DEPUTY_GUARDED_BY(mutex_);
  std::vector<FileWatch*> watches_ DEPUTY_GUARDED_BY(mutex_);
  ReloadReport report_ DEPUTY_GUARDED_BY(mutex_);
};

}  // namespace deputy::host
