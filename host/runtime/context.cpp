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
  for (const std::filesystem::path& file : loader.files()) state->files.push_back(file.string());
  // The working directory may change.
  std::error_code ignored;
  for (const std::filesystem::path& place : loader.places())
    state->places.push_back(std::filesystem::absolute(place, ignored));
  return state;
}

std::string LogText(LogLevel level, std::string_view source, std::string_view message) {
  return host::LogText(static_cast<host::LogLevel>(level), source, message);
}

const char* NameOf(LogLevel level) { return host::NameOf(static_cast<host::LogLevel>(level)); }

LogLineForm LogLineFormInUse() { return static_cast<LogLineForm>(host::LogLineFormInUse()); }

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

Result<std::vector<ConfigValue>> ConfigValues(const std::vector<ConfigText>& layers) {
  host::ConfigLoader loader;
  for (const ConfigText& layer : layers) loader.AddText(layer.name, layer.text);
  DEPUTY_ASSIGN_OR_RETURN(const host::Config config, loader.Finish());
  std::vector<ConfigValue> values;
  for (host::PathValue& value : host::ListValues(config))
    values.push_back({std::move(value.path), std::move(value.value)});
  return values;
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

namespace {

// The working directory may change before the file is read again. Names of shipped configurations stay as they are.
std::string Fixed(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? std::filesystem::absolute(file, ignored).string() : file;
}

using State = std::shared_ptr<Context::State>;

// What `read` makes of the sources, now and in every reload.
template <class Sources, class Read>
Result<State> ReadNowAndAgain(const Sources& sources, const Sources& again, Read read) {
  DEPUTY_ASSIGN_OR_RETURN(State state, read(sources));
  state->read_again = [again, read] { return read(again); };
  return state;
}

Result<State> ReadLayers(const ConfigSources& sources) {
  host::ConfigLoader loader;
  const std::string note = host::AddLayers(sources, loader);
  DEPUTY_ASSIGN_OR_RETURN(State state, Context::State::From(loader));
  state->config_note = note.empty() ? host::NamesNoDelegates(state->config, loader.files()) : note;
  for (const host::Problem& place : loader.notes())
    state->config_note += (state->config_note.empty() ? "" : "; ") + place.ToString();
  return state;
}

Result<State> ReadFile(const ConfigSources& sources) {
  host::ConfigLoader loader;
  for (const std::string& path : sources.files) host::AddPath(path, loader);
  for (const std::string& setting : sources.settings) loader.AddSetting(setting);
  return Context::State::From(loader);
}

}  // namespace

Result<Context> Context::FromLayers(const ConfigSources& sources) {
  ConfigSources again = sources;
  for (std::string& file : again.files) file = Fixed(file);
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, ReadNowAndAgain(sources, again, ReadLayers));
  return context;
}

Result<Context> Context::FromYaml(const std::string& path, const std::vector<std::string>& settings) {
  ConfigSources sources{{}, settings}, again = sources;
  if (!path.empty()) {
    sources.files.push_back(path);
    again.files.push_back(Fixed(path));
  }
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, ReadNowAndAgain(sources, again, ReadFile));
  return context;
}

Result<Context> Context::FromYamlText(const std::string& name, const std::string& text,
                                      const std::vector<std::string>& settings) {
  std::error_code ignored;
  const auto read = [name, text, settings, folder = std::filesystem::current_path(ignored)] {
    host::ConfigLoader loader;
    loader.AddText(name, text, folder);
    for (const std::string& setting : settings) loader.AddSetting(setting);
    return State::From(loader);
  };
  Context context;
  DEPUTY_ASSIGN_OR_RETURN(context.state_, read());
  context.state_->read_again = read;
  return context;
}

std::vector<DeviceInfo> Context::ConfiguredDelegates() const {
  std::vector<DeviceInfo> all;
  const std::shared_ptr<const State> current = state_->Current();
  for (const host::DelegateConfig& entry : current->config.delegates.items) {
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
  state_->Detach();
  return state_->device_infos;
}

void Context::SetProgress(std::function<void(const Progress&)> progress) {
  state_->Detach();
  state_->progress = std::move(progress);
}

void Context::SetDelegate(std::nullptr_t) {
  state_->Detach();
  state_->added.clear();
  state_->replaced = true;
}

std::string Context::NextInProcessName() const {
  const size_t number = state_->Current()->added.size() + 1;
  return number == 1 ? "in_process" : "in_process_" + std::to_string(number);
}

void Context::SetInProcess(InProcessDelegate delegate) {
  SetDelegate(nullptr);
  state_->added.push_back({std::move(delegate), ""});
}

void Context::AddInProcess(InProcessDelegate delegate, const std::string& before) {
  state_->Detach();
  state_->added.push_back({std::move(delegate), before});
}

Context::State::State(const State& other)
    : State(*other.Current(),
            other.in_force_->engine() != nullptr ? other.in_force_ : std::make_shared<host::InForce>()) {}

Context::State::State(const State& settings, std::shared_ptr<host::InForce> in_force)
    : config(settings.config),
      config_warnings(settings.config_warnings),
      config_note(settings.config_note),
      device_infos(settings.device_infos),
      added(settings.added),
      replaced(settings.replaced),
      progress(settings.progress),
      files(settings.files),
      places(settings.places),
      read_again(settings.read_again),
      factory(settings.factory),
      in_force_(std::move(in_force)) {}

void Context::State::TakeConfiguration(State& from) {
  config = std::move(from.config);
  config_warnings = std::move(from.config_warnings);
  config_note = std::move(from.config_note);
  files = std::move(from.files);
  places = std::move(from.places);
}

std::shared_ptr<const Context::State> Context::State::Current() const {
  std::shared_ptr<const State> reloaded = in_force_->settings();
  return reloaded != nullptr ? reloaded : std::shared_ptr<const State>(std::shared_ptr<void>(), this);
}

void Context::State::EndWatch() {
  host::KeepInForkedChild(watch_);
  if (watch_ == nullptr) return;
  in_force_->Remove(*watch_);
  watch_ = nullptr;
}

void Context::State::Detach() {
  EndWatch();
  if (const std::shared_ptr<const State> reloaded = in_force_->settings()) {
    State taken(*reloaded, nullptr);
    TakeConfiguration(taken);
    device_infos = std::move(taken.device_infos);
    added = std::move(taken.added);
    replaced = taken.replaced;
    progress = std::move(taken.progress);
    factory = std::move(taken.factory);
    read_again = std::move(taken.read_again);
  }
  in_force_ = std::make_shared<host::InForce>();
}

Status Context::State::Reload() const {
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  return in_force_->Reload(*this, [this]() -> Result<std::shared_ptr<const State>> {
    auto next = std::make_shared<State>(*Current(), nullptr);
    if (next->read_again) {
      DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<State> read, next->read_again());
      next->TakeConfiguration(*read);
    }
    return std::shared_ptr<const State>(std::move(next));
  });
}

Status Context::State::Reload(const State& other) const {
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  return in_force_->Reload(*this, [&]() -> Result<std::shared_ptr<const State>> {
    return std::make_shared<const State>(*other.Current(), nullptr);
  });
}

Status Context::State::WatchFiles(std::function<void(const Status&)> reloaded) {
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  EndWatch();
  if (Current()->places.empty())
    return host::Error(StatusCode::kFailedPrecondition, "the configuration was not read from files");
  host::RecogniseForks();
  DEPUTY_ASSIGN_OR_RETURN(watch_, host::FileWatch::Start([this] { return Current()->places; },
                                                         [this, reloaded = std::move(reloaded)] {
                                                           const Status status = Reload();
                                                           if (!status.ok())
                                                             host::Log(host::LogLevel::kWarning,
                                                                       "the changed configuration is not used: {}",
                                                                       status.ToString());
                                                           if (reloaded) reloaded(status);
                                                         }));
  in_force_->Add(*watch_);
  return {};
}

Status Context::Reload() { return state_->Reload(); }
Status Context::Reload(const Context& next) { return state_->Reload(*next.state_); }
Status Context::WatchFiles(std::function<void(const Status&)> reloaded) {
  return state_->WatchFiles(std::move(reloaded));
}

Status Context::Load() { return state_->Open().status(); }

Status Context::Check() const {
  const std::shared_ptr<const State> current = state_->Current();
  const bool automatic = !current->replaced && *current->config.plugins.auto_use == host::AutoUse::kLast;
  return automatic ? Status() : host::CheckReferences(*current, {});
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
  return host::ListPluginFiles(*state_->Current(), query);
}

Status Context::SetOption(const std::string& delegate, const std::string& option, const std::string& value) {
  return state_->in_force()->SetOption(*state_, delegate, option, value);
}

HealthReport Context::Health() const { return state_->in_force()->Health(); }

bool Context::MeasuresPlacements() const {
  return *state_->Current()->config.placement.policy == host::Policy::kMeasured;
}

bool Context::HasFallback() const { return *state_->Current()->config.fallback != host::Fallback::kDisabled; }

std::string Context::ShowConfig(bool plugin_defaults) const {
  const std::shared_ptr<const State> current = state_->Current();
  host::Config config = plugin_defaults ? host::WithPluginDefaults(current->config) : current->config;
  if (const std::shared_ptr<host::Engine> engine = state_->in_force()->engine())
    for (const auto& [name, value] : engine->set_options()) SetOptionOf(config, name.first, name.second, value);
  return host::ShowConfig(config);
}

}  // namespace deputy
