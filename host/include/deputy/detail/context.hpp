// Context for programs, on the C API.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deputy.h"
#include "deputy/context.hpp"
#include "deputy/detail/call.hpp"
#include "deputy/detail/report_reader.hpp"
#include "deputy/fields/cache.hpp"
#include "deputy/fields/context.hpp"
#include "deputy/fields/health.hpp"
#include "deputy/fields/placement.hpp"
#include "deputy/fields/plugins.hpp"
#include "deputy/fields/progress.hpp"
#include "deputy/fields/quarantine.hpp"

namespace deputy {

struct Context::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { DeputyContextFree(context); }

  // What `make(context)` makes, with the state of the program for it.
  template <class F>
  static Result<std::shared_ptr<State>> Made(const F& make) {
    auto state = std::make_shared<State>();
    DEPUTY_RETURN_IF_ERROR(detail::StatusOf(make(&state->context)));
    return state;
  }
  static std::shared_ptr<State> CopyOf(const State& other) {
    auto state = std::make_shared<State>();
    detail::ThrowIfOutOfMemory(DeputyContextCopy(other.context, &state->context));
    state->delegates = other.delegates;
    const std::lock_guard lock(other.mutex);
    state->told = other.told;
    return state;
  }

  // The context of the library, which has the delegates made in code. [any-thread]
  Result<DeputyContext*> Told() {
    const std::lock_guard lock(mutex);
    std::string options = Options();
    if (options != told) {
      DEPUTY_RETURN_IF_ERROR(detail::StatusOf(DeputyContextSetDelegates(context, options.c_str())));
      told = std::move(options);
    }
    return context;
  }
  static Result<DeputyContext*> Told(const std::shared_ptr<State>& state) {
    if (state == nullptr) return Status(StatusCode::kFailedPrecondition, "the context was moved from");
    return state->Told();
  }

  // The delegates made in code, to be changed: those that are in force, after a reload too. From now on the context
  // shares nothing with its copies.
  std::vector<DeviceInfo>& Mutable() {
    if (Options() == told)
      delegates = detail::ReportedAlways<fields::DelegatesInCode>([this](DeputyReport** report) {
                    return DeputyContextDelegatesInCode(context, report);
                  }).delegates;
    told = Options();
    detail::ThrowIfOutOfMemory(DeputyContextSetDelegates(context, told.c_str()));
    return delegates;
  }

  DeputyContext* context = nullptr;
  std::vector<DeviceInfo> delegates;  // made in code
  mutable std::mutex mutex;           // of `told`
  std::string told = "{\"delegates\": []}";

 private:
  std::string Options() const { return detail::OptionsWriter::Json(fields::DelegatesInCode{delegates}); }
};

namespace detail {

// The report that `function(context, report)` makes of a context.
template <class T, class F>
Result<T> ReportedOf(const std::shared_ptr<Context::State>& state, const F& function) {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, Context::State::Told(state));
  return Reported<T>([&](DeputyReport** report) { return function(context, report); });
}

// The same where a failure gives an empty one.
template <class T, class F>
T ReportedOrEmpty(const std::shared_ptr<Context::State>& state, const F& function) {
  Result<T> made = ReportedOf<T>(state, function);
  if (made.status().code() == StatusCode::kResourceExhausted) throw std::bad_alloc();
  return made.ok() ? std::move(made).value() : T{};
}

}  // namespace detail

inline void SetLogSink(std::function<void(LogLevel, std::string_view source, std::string_view message)> sink) {
  using Sink = std::function<void(LogLevel, std::string_view, std::string_view)>;
  if (sink == nullptr) return detail::ThrowIfOutOfMemory(DeputySetLogSink(nullptr, nullptr, nullptr));
  const auto call = [](void* user, DeputyLogLevel level, const char* source, const char* message) {
    (*static_cast<Sink*>(user))(static_cast<LogLevel>(level), source, message);
  };
  detail::ThrowIfOutOfMemory(DeputySetLogSink(call, new Sink(std::move(sink)), &detail::Delete<Sink>));
}

inline std::string LogText(LogLevel level, std::string_view source, std::string_view message) {
  const std::string from(source), text(message);
  return detail::ReportedAlways<std::string>([&](DeputyReport** made) {
    return DeputyLogText(static_cast<DeputyLogLevel>(level), from.c_str(), text.c_str(), made);
  });
}

inline const char* NameOf(LogLevel level) { return DeputyLogLevelName(static_cast<DeputyLogLevel>(level)); }

inline LogLineForm LogLineFormInUse() { return static_cast<LogLineForm>(DeputyLogLineFormInUse()); }

inline std::string ConfigSchema() { return detail::ReportedAlways<std::string>(&DeputyConfigSchema); }

inline Context::Context() : state_(std::make_shared<State>()) {
  detail::ThrowIfOutOfMemory(DeputyContextFromYaml("", nullptr, 0, &state_->context));
}
inline Context::~Context() = default;
inline Context::Context(const Context& other) : state_(State::CopyOf(*other.state_)) {}
inline Context& Context::operator=(const Context& other) {
  if (this != &other) state_ = State::CopyOf(*other.state_);
  return *this;
}
inline Context::Context(Context&&) noexcept = default;
inline Context& Context::operator=(Context&&) noexcept = default;

inline Result<Context> Context::FromLayers(const ConfigSources& sources) {
  const auto files = detail::PointersTo(sources.files), settings = detail::PointersTo(sources.settings);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<State> state, State::Made([&](DeputyContext** context) {
                            return DeputyContextFromLayers(files.data(), files.size(), settings.data(), settings.size(),
                                                           context);
                          }));
  return Context(std::move(state));
}

inline Result<Context> Context::FromYaml(const std::string& path, const std::vector<std::string>& settings) {
  const auto texts = detail::PointersTo(settings);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<State> state, State::Made([&](DeputyContext** context) {
                            return DeputyContextFromYaml(path.c_str(), texts.data(), texts.size(), context);
                          }));
  return Context(std::move(state));
}

inline Result<Context> Context::FromYamlText(const std::string& name, const std::string& text,
                                             const std::vector<std::string>& settings) {
  const auto texts = detail::PointersTo(settings);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<State> state, State::Made([&](DeputyContext** context) {
                            return DeputyContextFromYamlText(name.c_str(), text.c_str(), texts.data(), texts.size(),
                                                             context);
                          }));
  return Context(std::move(state));
}

inline Result<Context> Context::FromBundle(const std::string& bundle, const std::vector<std::string>& settings) {
  const auto texts = detail::PointersTo(settings);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<State> state, State::Made([&](DeputyContext** context) {
                            return DeputyContextFromBundle(bundle.c_str(), texts.data(), texts.size(), context);
                          }));
  return Context(std::move(state));
}

inline std::vector<DeviceInfo> Context::ConfiguredDelegates() const {
  return detail::ReportedOrEmpty<std::vector<DeviceInfo>>(state_, &DeputyContextConfiguredDelegates);
}

inline bool Context::MeasuresPlacements() const { return DeputyContextMeasuresPlacements(state_->context) != 0; }
inline bool Context::HasFallback() const { return DeputyContextHasFallback(state_->context) != 0; }

inline std::vector<DeviceInfo>& Context::MutableDeviceInfo() { return state_->Mutable(); }

inline void Context::SetDelegate(std::nullptr_t) {
  detail::ThrowIfOutOfMemory(
      DeputyContextAddInProcess(state_->context, nullptr, nullptr, nullptr, 1, nullptr, nullptr));
}

inline std::string Context::NextInProcessName() const {
  return detail::ReportedAlways<std::string>(
      [this](DeputyReport** name) { return DeputyContextNextInProcess(state_->context, name); });
}

namespace detail {

// The library owns `keep` from now on.
inline void Add(DeputyContext* context, InProcessDelegate delegate, const char* before, bool alone) {
  auto keep = std::make_unique<std::shared_ptr<void>>(std::move(delegate.keep));
  detail::ThrowIfOutOfMemory(DeputyContextAddInProcess(context, delegate.plugin, delegate.id.c_str(), before,
                                                       alone ? 1 : 0, keep.release(), &Delete<std::shared_ptr<void>>));
}

}  // namespace detail

inline void Context::SetInProcess(InProcessDelegate delegate) {
  detail::Add(state_->context, std::move(delegate), nullptr, true);
}
inline void Context::AddInProcess(InProcessDelegate delegate, const std::string& before) {
  detail::Add(state_->context, std::move(delegate), before.c_str(), false);
}

inline Status Context::SetOption(const std::string& delegate, const std::string& option, const std::string& value) {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, State::Told(state_));
  return detail::StatusOf(DeputyContextSetOption(context, delegate.c_str(), option.c_str(), value.c_str()));
}

inline Status Context::Reload() {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, State::Told(state_));
  return detail::StatusOf(DeputyContextReload(context, nullptr));
}

inline Status Context::Reload(const Context& next) {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, State::Told(state_));
  DEPUTY_ASSIGN_OR_RETURN(const DeputyContext* const other, State::Told(next.state_));
  return detail::StatusOf(DeputyContextReload(context, other));
}

inline Status Context::WatchFiles(std::function<void(const Status&)> reloaded) {
  using Callback = std::function<void(const Status&)>;
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, State::Told(state_));
  const auto call = [](void* user, const DeputyError* error) {
    const auto& callback = *static_cast<Callback*>(user);
    if (callback) callback(error == nullptr ? Status() : detail::CopyOf(error));
  };
  auto callback = std::make_unique<Callback>(std::move(reloaded));
  return detail::StatusOf(DeputyContextWatchFiles(context, call, callback.release(), &detail::Delete<Callback>));
}

inline void Context::SetProgress(std::function<void(const Progress&)> progress) {
  using Sink = std::function<void(const Progress&)>;
  if (progress == nullptr) {
    detail::ThrowIfOutOfMemory(DeputyContextSetProgress(state_->context, nullptr, nullptr, nullptr));
    return;
  }
  const auto call = [](void* user, const DeputyProgress* given) {
    Progress made;
    made.stage = fields::FindNamed<ProgressStage>(given->stage).value_or(ProgressStage{});
    made.delegate = given->delegate;
    made.subject = given->subject;
    made.number = given->number;
    made.count = given->count;
    made.nodes = given->nodes;
    made.permille = given->permille;
    made.step = given->step;
    (*static_cast<Sink*>(user))(made);
  };
  auto sink = std::make_unique<Sink>(std::move(progress));
  detail::ThrowIfOutOfMemory(DeputyContextSetProgress(state_->context, call, sink.release(), &detail::Delete<Sink>));
}

inline Status Context::Check() const {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, State::Told(state_));
  return detail::StatusOf(DeputyContextCheck(context));
}

inline Status Context::Load() {
  DEPUTY_ASSIGN_OR_RETURN(DeputyContext* const context, State::Told(state_));
  return detail::StatusOf(DeputyContextLoad(context));
}

inline Result<DelegateListing> Context::ListDelegates() const {
  return detail::ReportedOf<DelegateListing>(state_, &DeputyContextDelegates);
}

inline Result<PluginListing> Context::ListPlugins(const PluginQuery& query) const {
  return detail::ReportedOf<PluginListing>(state_, [&](DeputyContext* context, DeputyReport** report) {
    return DeputyContextPlugins(context, detail::OptionsWriter::Json(query).c_str(), report);
  });
}

inline Result<CacheListing> Context::ListCache(bool check) const {
  return detail::ReportedOf<CacheListing>(state_, [&](DeputyContext* context, DeputyReport** report) {
    return DeputyContextCache(context, check ? 1 : 0, report);
  });
}

inline Result<CacheListing> Context::PurgeCache(const CacheFilter& filter) const {
  return detail::ReportedOf<CacheListing>(state_, [&](DeputyContext* context, DeputyReport** report) {
    return DeputyContextPurgeCache(context, detail::OptionsWriter::Json(filter).c_str(), report);
  });
}

inline Result<std::vector<QuarantinedPlugin>> Context::ListQuarantine(const std::optional<std::string>& name) const {
  using Plugins = std::vector<QuarantinedPlugin>;
  return detail::ReportedOf<Plugins>(state_, [&](DeputyContext* context, DeputyReport** report) {
    return DeputyContextQuarantine(context, name ? name->c_str() : nullptr, report);
  });
}

inline Result<std::vector<QuarantinedPlugin>> Context::ClearQuarantine(const std::optional<std::string>& name) const {
  using Plugins = std::vector<QuarantinedPlugin>;
  return detail::ReportedOf<Plugins>(state_, [&](DeputyContext* context, DeputyReport** report) {
    return DeputyContextClearQuarantine(context, name ? name->c_str() : nullptr, report);
  });
}

inline HealthReport Context::Health() const {
  return detail::ReportedOrEmpty<HealthReport>(state_, &DeputyContextHealth);
}

inline std::string Context::ShowConfig(bool plugin_defaults) const {
  return detail::ReportedOrEmpty<std::string>(state_, [&](DeputyContext* context, DeputyReport** report) {
    return DeputyContextConfig(context, plugin_defaults ? 1 : 0, report);
  });
}

}  // namespace deputy
