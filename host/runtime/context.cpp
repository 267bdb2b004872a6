// deputy::Context: the configuration side of the API.
#include "deputy/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/log.hpp"
#include "base/process_fork.hpp"
#include "config/loader.hpp"
#include "config/reference.hpp"
#include "config/show.hpp"
#include "runtime/config_layers.hpp"
#include "runtime/context_state.hpp"
#include "runtime/fallback.hpp"
#include "runtime/model_state.hpp"
#include "runtime/scan.hpp"

namespace deputy {
namespace {

// The value of an option that was set while the delegates were open.
void SetOptionOf(host::Config& config, const std::string& delegate, const std::string& option,
                 const std::string& value) {
  const host::Origin origin{fmt::format("api delegates.{}.options.{}", delegate, option), 0, 0};
  for (host::DelegateConfig& entry : config.delegates.items) {
    if (*entry.name != delegate) continue;
    std::vector<host::Named<host::OptionValue>>& options = entry.options.items;
    const auto known = std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.name == option; });
    if (known == options.end())
      options.push_back({option, {{value, false}, origin}, {}});
    else
      known->setting = {{value, known->setting.value.quoted}, origin};
  }
}

}  // namespace

Result<std::shared_ptr<Context::State>> Context::State::From(host::ConfigLoader& loader) {
  auto state = std::make_shared<State>();
  DEPUTY_ASSIGN_OR_RETURN(state->config, loader.Finish());
  state->config_warnings = host::EnvironmentWarnings();
  for (const host::Problem& warning : loader.warnings()) state->config_warnings.push_back(warning.ToString());
  return state;
}

void SetLogSink(std::function<void(LogLevel, std::string_view, std::string_view)> sink) {
  if (sink == nullptr) return host::SetLogSink(nullptr);
  host::SetLogSink([sink = std::move(sink)](host::LogLevel level, std::string_view source, std::string_view message) {
    sink(static_cast<LogLevel>(level), source, message);
  });
}

std::string ConfigSchema() { return host::ConfigJsonSchema(); }

std::vector<ConfigKey> ConfigKeys() {
  std::vector<ConfigKey> keys;
  for (host::KeyEntry& key : host::KeyReference(*host::ConfigLoader().Finish()))
    keys.push_back({std::move(key.path), std::move(key.type), std::move(key.default_value), std::move(key.meaning),
                    std::move(key.example), key.available});
  return keys;
}

Context::Context() {
  host::ConfigLoader loader;
  // The built-in text is constant and tested to be valid.
  Result<std::shared_ptr<State>> state = State::From(loader);
  state_ = state.ok() ? *state : std::make_shared<State>();
}

Context::~Context() { host::KeepInForkedChild(state_); }
Context::Context(const Context& other) : state_(std::make_shared<State>(*other.state_)) {}
Context& Context::operator=(const Context& other) {
  if (this != &other) state_ = std::make_shared<State>(*other.state_);
  return *this;
}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;

Result<Context> Context::FromLayers(const ConfigSources& sources) {
  host::ConfigLoader loader;
  const std::string note = host::AddLayers(sources, loader);
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, State::From(loader));
  context.state_->config_note = note.empty() ? host::NamesNoDelegates(context.state_->config, loader.files()) : note;
  for (const host::Problem& place : loader.notes())
    context.state_->config_note += (context.state_->config_note.empty() ? "" : "; ") + place.ToString();
  return context;
}

Result<Context> Context::FromYaml(const std::string& path, const std::vector<std::string>& settings) {
  host::ConfigLoader loader;
  if (!path.empty()) host::AddPath(path, loader);
  for (const std::string& setting : settings) loader.AddSetting(setting);
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, State::From(loader));
  return context;
}

Result<Context> Context::FromYamlText(const std::string& name, const std::string& text,
                                      const std::vector<std::string>& settings) {
  host::ConfigLoader loader;
  loader.AddText(name, text);
  for (const std::string& setting : settings) loader.AddSetting(setting);
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, State::From(loader));
  return context;
}

std::vector<DeviceInfo> Context::ConfiguredDelegates() const {
  std::vector<DeviceInfo> all;
  for (const host::DelegateConfig& entry : state_->config.delegates.items) {
    if (!*entry.enabled) continue;
    DeviceInfo info;
    info.name = *entry.name;
    info.delegate = *entry.delegate;
    const std::string& device = *entry.device;
    const auto parsed = std::from_chars(device.data(), device.data() + device.size(), info.device);
    if (parsed.ec != std::errc() || parsed.ptr != device.data() + device.size()) info.device_name = device;
    info.required = *entry.required;
    for (const auto& option : entry.options.items) info.options[option.name] = option->text;
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<DeviceInfo>& Context::MutableDeviceInfo() {
  state_->ForgetEngine();
  return state_->device_infos;
}

void Context::SetProgress(std::function<void(const Progress&)> progress) {
  state_->ForgetEngine();
  state_->progress = std::move(progress);
}

void Context::SetDelegate(std::nullptr_t) {
  state_->ForgetEngine();
  state_->added.clear();
  state_->replaced = true;
}

std::string Context::NextInProcessName() const {
  const size_t number = state_->added.size() + 1;
  return number == 1 ? "in_process" : "in_process_" + std::to_string(number);
}

void Context::SetInProcess(InProcessDelegate delegate) {
  SetDelegate(nullptr);
  state_->added.push_back({std::move(delegate), ""});
}

void Context::AddInProcess(InProcessDelegate delegate, const std::string& before) {
  state_->ForgetEngine();
  state_->added.push_back({std::move(delegate), before});
}

Context::State::State(const State& other)
    : config(other.config),
      config_warnings(other.config_warnings),
      config_note(other.config_note),
      device_infos(other.device_infos),
      added(other.added),
      replaced(other.replaced),
      progress(other.progress),
      factory(other.factory),
      engine_(other.opened()) {}

std::shared_ptr<host::Engine> Context::State::opened() const {
  const host::MutexLock lock(engine_mutex_);
  return engine_;
}

Result<std::shared_ptr<host::Engine>> Context::State::Open() const {
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const host::MutexLock lock(engine_mutex_);
  if (engine_ == nullptr) {
    host::RecogniseForks();
    DEPUTY_ASSIGN_OR_RETURN(engine_, host::OpenEngine(*this));
  }
  return engine_;
}

void Context::State::ForgetEngine() {
  const host::MutexLock lock(engine_mutex_);
  engine_ = nullptr;
}

Status Context::Load() { return state_->Open().status(); }

Status Context::Check() const {
  const bool automatic = !state_->replaced && *state_->config.plugins.auto_use == host::AutoUse::kLast;
  return automatic ? Status() : host::CheckReferences(*state_, {});
}

Result<DelegateListing> Context::ListDelegates() const {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<host::Engine> engine, state_->Open());
  DelegateListing listing{host::ReportDelegates(*engine), engine->absent, engine->pool->thread_count()};
  for (size_t d = engine->delegates.size(); d-- > 0;)
    if (engine->delegates[d]->traits().runs_custom_operators_only)
      listing.delegates.erase(listing.delegates.begin() + static_cast<ptrdiff_t>(d));
  return listing;
}

Result<PluginListing> Context::ListPlugins(const PluginQuery& query) const {
  return host::ListPluginFiles(*state_, query);
}

Status Context::SetOption(const std::string& delegate, const std::string& option, const std::string& value) {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<host::Engine> engine, state_->Open());
  for (const host::HostedDelegate& opened : engine->delegates)
    if (opened->name() == delegate) {
      DEPUTY_RETURN_IF_ERROR(opened->SetOption(option, value));
      engine->KeepOption(delegate, option, value);
      return {};
    }
  return host::Error(StatusCode::kNotFound, "there is no delegate '{}'", delegate);
}

HealthReport Context::Health() const {
  const std::shared_ptr<host::Engine> engine = state_->opened();
  return engine == nullptr ? HealthReport() : engine->incidents->Report(*engine);
}

bool Context::MeasuresPlacements() const { return *state_->config.placement.policy == host::Policy::kMeasured; }

bool Context::HasFallback() const { return *state_->config.fallback != host::Fallback::kDisabled; }

std::string Context::ShowConfig(bool plugin_defaults) const {
  host::Config config = plugin_defaults ? host::WithPluginDefaults(state_->config) : state_->config;
  if (const std::shared_ptr<host::Engine> engine = state_->opened())
    for (const auto& [name, value] : engine->set_options()) SetOptionOf(config, name.first, name.second, value);
  return host::ShowConfig(config);
}

}  // namespace deputy
