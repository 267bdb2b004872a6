#include "runtime/in_force.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/process_fork.hpp"
#include "runtime/context_state.hpp"
#include "runtime/fallback.hpp"
#include "runtime/file_watch.hpp"
#include "runtime/model_state.hpp"
#include "runtime/scan.hpp"

namespace deputy::host {
namespace {

// The most that a reload waits for runs on the former delegates, so that no run has to close these.
constexpr std::chrono::seconds kLongestWait(1);

}  // namespace

// What a reload has replaced; destroyed in the opposite order. Plans have references to their models.
struct InForce::Former {
  std::vector<std::shared_ptr<Model::State>> models;
  std::shared_ptr<Engine> engine;
  std::vector<std::shared_ptr<ModelPlans>> plans;

  // Takes what sessions hold of it until they hold nothing, again and again, as a run that was just ending may not have
  // seen the reload; not for long.
  void TakeFromSessions() {
    const auto end = std::chrono::steady_clock::now() + kLongestWait;
    const auto is_used = [](const std::shared_ptr<ModelPlans>& one) { return one.use_count() > 1; };
    for (;;) {
      for (const std::shared_ptr<Model::State>& model : models) model->LetGo();
      if (std::none_of(plans.begin(), plans.end(), is_used) || std::chrono::steady_clock::now() >= end) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

Result<std::shared_ptr<Engine>> InForce::Open(const Context::State& settings) {
  DEPUTY_RETURN_IF_ERROR(CheckNotForked());
  if (std::shared_ptr<Engine> opened = engine()) return opened;
  const MutexLock opening(changing_);
  if (std::shared_ptr<Engine> opened = engine()) return opened;
  RecogniseForks();
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<Engine> opened, OpenEngine(settings));
  const MutexLock lock(mutex_);
  PutInForce(opened, settings);
  return opened;
}

void InForce::PutInForce(std::shared_ptr<Engine> engine, const Context::State& settings) {
  engine_ = std::move(engine);
  ++report_.generation;
  report_.since = std::chrono::system_clock::now();
  report_.files = settings.files;
}

std::shared_ptr<Engine> InForce::engine() const {
  const MutexLock lock(mutex_);
  return engine_;
}

std::shared_ptr<const Context::State> InForce::settings() const {
  const MutexLock lock(mutex_);
  return settings_;
}

bool InForce::Add(const std::shared_ptr<Model::State>& model) {
  const MutexLock lock(mutex_);
  if (model->plans()->engine != engine_) return false;
  std::erase_if(models_, [](const std::weak_ptr<Model::State>& other) { return other.expired(); });
  models_.push_back(model);
  return true;
}

void InForce::Add(FileWatch& watch) {
  const MutexLock lock(mutex_);
  watches_.push_back(&watch);
  watch.AskForPlaces();  // a reload may have come before
}

void InForce::Remove(FileWatch& watch) {
  const MutexLock lock(mutex_);
  std::erase(watches_, &watch);
}

Result<std::shared_ptr<Engine>> InForce::OpenNext(const Context::State& next) {
  RecogniseForks();
  const std::shared_ptr<Engine> former = engine();
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<Engine> opened,
                          OpenEngine(next, former == nullptr ? nullptr : former->arenas));
  if (former == nullptr) return opened;
  for (const auto& [name, value] : former->set_options()) {
    Status status(StatusCode::kNotFound, "there is no such delegate any more");
    for (const HostedDelegate& delegate : opened->delegates)
      if (delegate->name() == name.first) status = delegate->SetOption(name.second, value);
    if (status.ok()) {
      opened->KeepOption(name.first, name.second, value);
    } else {
      Log(LogLevel::kWarning, "{}: option '{}', which the application has set to '{}', is as configured again: {}",
          name.first, name.second, value, status.ToString());
    }
  }
  return opened;
}

Status InForce::PlanAndSwitch(const std::shared_ptr<const Context::State>& next, const std::shared_ptr<Engine>& engine,
                              Former& former) {
  std::vector<std::pair<std::shared_ptr<Model::State>, std::shared_ptr<ModelPlans>>> ready;
  const auto is_ready = [&](const std::shared_ptr<Model::State>& model) {
    return std::any_of(ready.begin(), ready.end(), [&](const auto& one) { return one.first == model; });
  };
  for (;;) {
    std::vector<std::shared_ptr<Model::State>> unplanned;
    {
      const MutexLock lock(mutex_);
      for (const std::weak_ptr<Model::State>& known : models_)
        if (std::shared_ptr<Model::State> model = known.lock(); model != nullptr && !is_ready(model))
          unplanned.push_back(std::move(model));
      if (unplanned.empty()) {
        former.engine = engine_;
        settings_ = next;
        PutInForce(engine, *next);
        ++report_.succeeded;
        report_.error.clear();
        for (const auto& [model, plans] : ready) {
          former.plans.push_back(model->Use(plans));
          former.models.push_back(model);
        }
        for (FileWatch* const watch : watches_) watch->AskForPlaces();
        return {};
      }
    }
    std::vector<Status> errors;
    for (std::shared_ptr<Model::State>& model : unplanned) {
      Result<std::shared_ptr<ModelPlans>> plans = ModelPlans::Make(*model, engine, model->plans()->ShapesInUse());
      errors.push_back(plans.status());
      if (plans.ok()) ready.emplace_back(std::move(model), std::move(plans).value());
    }
    DEPUTY_RETURN_IF_ERROR(Joined(errors));
  }
}

Status InForce::Reload(const Context::State& settings, const MakeSettings& make) {
  const MutexLock changing(changing_);
  const Result<std::shared_ptr<const Context::State>> made = make();
  if (!made.ok()) return RefuseReload(made.status());
  const std::shared_ptr<const Context::State>& next = *made;
  const std::shared_ptr<const Context::State> reloaded = this->settings();
  LogSettings log = CurrentLogSettings();
  ReplaceLogLevels((reloaded == nullptr ? settings : *reloaded).config.log, next->config.log);
  Former former;
  const Result<std::shared_ptr<Engine>> engine = OpenNext(*next);
  Status status = engine.ok() ? PlanAndSwitch(next, *engine, former) : engine.status();
  if (!status.ok()) {
    SetLogSettings(std::move(log));
    return RefuseReload(std::move(status));
  }
  former.TakeFromSessions();
  const uint64_t generation = [this] {
    const MutexLock lock(mutex_);
    return report_.generation;
  }();
  Log(LogLevel::kInfo, "configuration {} is in force{}{}", generation, next->files.empty() ? "" : ": ",
      fmt::join(next->files, ", "));
  return {};
}

Status InForce::RefuseReload(Status status) {
  const MutexLock lock(mutex_);
  ++report_.failed;
  report_.failed_at = std::chrono::system_clock::now();
  report_.error = status.ToString();
  return status;
}

Status InForce::SetOption(const Context::State& settings, const std::string& delegate, const std::string& option,
                          const std::string& value) {
  DEPUTY_RETURN_IF_ERROR(Open(settings).status());
  const MutexLock changing(changing_);
  const std::shared_ptr<Engine> engine = this->engine();
  for (const HostedDelegate& opened : engine->delegates)
    if (opened->name() == delegate) {
      DEPUTY_RETURN_IF_ERROR(opened->SetOption(option, value));
      engine->KeepOption(delegate, option, value);
      return {};
    }
  return Error(StatusCode::kNotFound, "there is no delegate '{}'", delegate);
}

HealthReport InForce::Health() const {
  std::shared_ptr<Engine> engine;
  ReloadReport configuration;
  {
    const MutexLock lock(mutex_);
    engine = engine_;
    configuration = report_;
  }
  HealthReport health = engine == nullptr ? HealthReport() : engine->incidents->Report(*engine);
  health.configuration = std::move(configuration);
  return health;
}

}  // namespace deputy::host
