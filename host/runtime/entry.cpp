#include "runtime/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>

#include "base/nearest.hpp"
#include "plugin/discovery/option_check.hpp"
#include "runtime/config_layers.hpp"

namespace deputy::host {
namespace {

RunHandling HandlingOf(const DelegateConfig& config) {
  const VerifyConfig& verify = config.verify;
  RunHandling handling;
  handling.falls_back = !*config.required && *config.on_failure == OnFailure::kNext;
  handling.first_run = *verify.when == VerifyWhen::kFirstRun;
  // Whether the plugin is one of those is known when it is found.
  handling.every = *verify.when == VerifyWhen::kAlways ? 1 : static_cast<uint32_t>(*verify.every);
  handling.replaces_wrong = handling.falls_back && *verify.on_mismatch == OnFailure::kNext;
  return handling;
}

// Whether no layer gives the entry a `delegate`.
bool TakesOwnName(const DelegateConfig& config) { return config.delegate.origin.source == Origin().source; }

// An entry without `delegate` may be meant to change one of a lower layer, whose name it does not have.
Status NoProvider(const PluginRegistry& registry, const Entry& entry, std::vector<std::string> names) {
  const auto missing = [&](const char* also) {
    return Error(StatusCode::kPlugin, "no plugin offers the delegate '{}'{}", entry.delegate, also)
        .At(entry.delegate_origin.ToString());
  };
  if (std::string refusal = registry.RefusalOf(entry.delegate); !refusal.empty())
    return missing("").Advise(std::move(refusal));
  constexpr const char* kNoEntry = ", and no lower layer has an entry of this name";
  if (entry.takes_own_name && !IsOfTheDefault(entry)) {
    if (const std::string shipped = ShippedWith(entry.name); !shipped.empty())
      return missing(kNoEntry).Advise(shipped.substr(2));
    std::erase(names, entry.name);
    if (const std::string nearest = NearestMatch(entry.name, names); !nearest.empty())
      return missing(kNoEntry).Advise("did you mean '" + nearest + "'?");
  }
  const std::string nearest = NearestMatch(entry.delegate, registry.delegate_ids());
  if (!nearest.empty()) return missing("").Advise("did you mean '" + nearest + "'?");
  return missing("").Advise("'deputy plugins --why' lists the plugins that were found");
}

// The device that the entry names, by id, by name or by number; null for the one device of a delegate that lists none.
// The message of an error, or empty.
std::string FindDevice(const Entry& entry, const DelegateDescription& description, const DeviceEntry*& device) {
  std::vector<std::string> names;
  for (const DeviceEntry& one : description.devices) names.insert(names.end(), {one.id, one.name});
  std::string alike;
  for (const DeviceEntry& one : description.devices) {
    if (one.id != entry.device && one.name != entry.device) continue;
    if (one.name == entry.device) alike += fmt::format("{}{}", alike.empty() ? "" : ", ", one.id);
    // An id is of one device alone.
    const bool is_id = one.id == entry.device;
    if (is_id || device == nullptr) device = &one;
    if (is_id) return {};
  }
  if (alike.find(", ") != std::string::npos) {
    device = nullptr;
    return fmt::format("delegate '{}': several devices are called '{}'; name one of them by its id: {}", entry.name,
                       entry.device, alike);
  }
  if (device != nullptr) return {};
  size_t number = 0;
  const char* const end = entry.device.data() + entry.device.size();
  const auto parsed = std::from_chars(entry.device.data(), end, number);
  const size_t count = description.enumerates ? description.devices.size() : 1;
  if (parsed.ec == std::errc() && parsed.ptr == end && number < count) {
    if (description.enumerates) device = &description.devices[number];
    return {};
  }
  std::string known;
  for (size_t i = 0; i < description.devices.size(); ++i)
    known += fmt::format("{}{} ({})", i == 0 ? "" : ", ", i, description.devices[i].name);
  return fmt::format("delegate '{}': there is no device '{}' ({}){}", entry.name, entry.device,
                     description.enumerates ? "devices: " + known : "it lists no devices, so only 0 exists",
                     DidYouMean(entry.device, std::span<const std::string>(names)));
}

bool IsSet(const Origin& origin) { return origin.source != Origin().source; }

// Of the first word of the lists.
std::string FirstPlace(std::initializer_list<const List<Setting<std::string>>*> lists) {
  for (const auto* list : lists)
    if (!list->empty()) return list->items.front().origin.ToString();
  return {};
}

}  // namespace

std::string RulePlace(const PlacementRule& rule) {
  return IsSet(rule.to.origin) ? rule.to.origin.ToString() : FirstPlace({&rule.avoid, &rule.ops, &rule.nodes});
}

bool HasLimit(const Entry& entry) { return IsSet(entry.limit) || IsSet(entry.call_limit); }

std::vector<std::string> Texts(const List<Setting<std::string>>& list) {
  std::vector<std::string> texts;
  for (const Setting<std::string>& item : list) texts.push_back(*item);
  return texts;
}

bool IsIsolated(const Entry& entry, const PluginEntry& provider, bool trusts_all) {
  if (entry.isolation != Isolation::kAuto || provider.path.empty()) return entry.isolation == Isolation::kProcess;
  return HasLimit(entry) || !provider.replaceable.empty() || !(provider.is_covered() || trusts_all);
}

bool IsOfTheDefault(const Entry& entry) {
  const std::string shipped = ShippedConfigFile("default");
  return !shipped.empty() && entry.delegate_origin.source == shipped;
}

Entry EntryFromConfig(const DelegateConfig& config) {
  Entry entry;
  entry.name = *config.name;
  entry.delegate = config.id();
  entry.origin = config.name.origin;
  entry.delegate_origin = TakesOwnName(config) ? config.name.origin : config.delegate.origin;
  entry.device = *config.device;
  // The default has no origin; a mistake in it is reported at the entry.
  entry.device_origin = IsSet(config.device.origin) ? config.device.origin : entry.origin;
  entry.takes_own_name = TakesOwnName(config);
  entry.priority = static_cast<int32_t>(*config.priority);
  switch (*config.precision) {
    case Precision::kOwn: break;
    case Precision::kFloat32: entry.precision = DType::kFloat32; break;
    case Precision::kFloat16: entry.precision = DType::kFloat16; break;
    case Precision::kBfloat16: entry.precision = DType::kBFloat16; break;
  }
  entry.required = *config.required;
  entry.required_origin = config.required.origin;
  entry.handling = HandlingOf(config);
  entry.isolation = *config.isolation;
  entry.call_timeout = std::chrono::ceil<std::chrono::milliseconds>(*config.call_timeout);
  entry.call_timeout_total = std::chrono::ceil<std::chrono::milliseconds>(*config.call_timeout_total);
  entry.run_timeout =
      *config.timeout == kAutomatic ? kAutomaticTimeout : std::chrono::ceil<std::chrono::milliseconds>(*config.timeout);
  entry.spin = *config.spin;
  entry.memory_limit = static_cast<uint64_t>(config.memory_limit->count);
  const DelegateConfig defaults;
  if (*config.spin != *defaults.spin) entry.spin_origin = config.spin.origin;
  if (*config.memory_limit != *defaults.memory_limit) entry.limit = config.memory_limit.origin;
  if (config.timeout->count() > 0) entry.limit = config.timeout.origin;
  if (*config.call_timeout_total != *defaults.call_timeout_total) entry.limit = config.call_timeout_total.origin;
  if (*config.call_timeout != *defaults.call_timeout) entry.call_limit = config.call_timeout.origin;
  entry.tolerance.rtol = *config.verify.rtol;
  entry.tolerance.atol = *config.verify.atol;
  entry.tolerance.atol_scale = *config.verify.atol_scale;
  entry.tolerance.outliers = *config.verify.outliers;
  entry.verifies_unlisted = *config.verify.when == VerifyWhen::kAuto;
  for (const Named<OptionValue>& option : config.options) {
    entry.options.emplace_back(option.name, (*option).text);
    entry.option_origins.push_back(option.origin());
    entry.option_name_origins.push_back(option.name_origin);
  }
  entry.limits = {
      Texts(config.rules.allow_ops), Texts(config.rules.deny_ops), Texts(config.rules.nodes),
      Texts(config.rules.deny_nodes), static_cast<uint32_t>(*config.min_nodes),
      // A multiply-add counts as two operations.
      static_cast<uint64_t>(*config.min_flops) / 2, entry.required,
      FirstPlace({&config.rules.allow_ops, &config.rules.deny_ops, &config.rules.nodes, &config.rules.deny_nodes})};
  return entry;
}

Entry EntryFromDeviceInfo(const DeviceInfo& info) {
  Entry entry;
  entry.name = info.name;
  entry.delegate = info.delegate.empty() ? info.name : info.delegate;
  entry.origin = entry.delegate_origin = {"api", 0, 0};
  entry.device = info.device_name.empty() ? std::to_string(info.device) : info.device_name;
  entry.device_origin = entry.origin;
  entry.required = entry.limits.required = info.required;
  entry.handling.falls_back = entry.handling.replaces_wrong = !info.required;
  entry.verifies_unlisted = true;
  for (const auto& option : info.options) {
    entry.options.push_back(option);
    entry.option_origins.push_back({"api option " + option.first, 0, 0});
    entry.option_name_origins.push_back(entry.option_origins.back());
  }
  return entry;
}

Status AsPluginError(Status status, const Entry& entry) {
  return std::move(status)
      .At("delegate '" + entry.name + "'")
      .At(entry.origin.ToString())
      .WithCode(StatusCode::kPlugin);
}

std::vector<std::string> NamesOf(const Config& config) {
  std::vector<std::string> names;
  for (const DelegateConfig& delegate : config.delegates) names.push_back(*delegate.name);
  return names;
}

std::vector<Problem> DisabledNames(const Config& config, const PluginRegistry& registry, bool misspelled) {
  std::vector<Problem> problems;
  for (const DelegateConfig& delegate : config.delegates) {
    const bool only_disables = !*delegate.enabled && TakesOwnName(delegate) && delegate.options.empty() &&
                               registry.ProviderOf(*delegate.name) == nullptr &&
                               registry.RefusalOf(*delegate.name).empty();
    if (!only_disables) continue;
    std::vector<std::string> others = NamesOf(config);
    std::erase(others, *delegate.name);
    const std::string meant = DidYouMean(*delegate.name, others);
    if (misspelled && meant.empty()) continue;
    problems.push_back(
        {delegate.name.origin,
         fmt::format("{} disables nothing: no lower layer has an entry of this name{}", Quoted(*delegate.name), meant),
         ProblemCode::kNoEffect});
  }
  return problems;
}

Status WithRequired(Status status, const Entry& entry) {
  if (status.ok() || !entry.required || entry.required_origin.source == Origin().source) return status;
  const std::string remedy =
      fmt::format("'required: true' ({}) makes this an error: remove it where the delegate may be absent",
                  entry.required_origin.ToString());
  const std::string advice = status.advice().empty() ? remedy : status.advice() + "; " + remedy;
  return Status(status.code(), status.message()).At(status.where()).Advise(advice);
}

EntryCheck CheckEntry(PluginRegistry& registry, const Entry& entry, const std::vector<std::string>& names) {
  EntryCheck check;
  check.provider = registry.ProviderOf(entry.delegate);
  if (check.provider == nullptr) {
    check.unusable = NoProvider(registry, entry, names);
    return check;
  }
  Result<DelegateDescription> description = registry.Describe(entry.delegate);
  if (!description.ok()) {
    check.unusable = AsPluginError(std::move(description).status(), entry);
    return check;
  }
  check.description = *std::move(description);
  CheckedOptions checked = CheckOptions(check.description.options, entry.options);
  check.options = std::move(checked.values);
  for (const OptionProblem& problem : checked.problems) {
    Origin origin = entry.origin;
    for (size_t i = 0; i < entry.options.size(); ++i)
      if (entry.options[i].first == problem.option)
        origin = problem.unknown ? entry.option_name_origins[i] : entry.option_origins[i];
    check.mistakes.push_back(
        {origin, fmt::format("delegate '{}': {}", entry.name, problem.message), ProblemCode::kOption});
  }
  if (entry.isolation == Isolation::kInProcess)
    for (const Origin& key : {entry.limit, entry.spin_origin})
      if (IsSet(key))
        check.mistakes.push_back({key, fmt::format("delegate '{}': has no effect with isolation: none", entry.name),
                                  ProblemCode::kNoEffect});
  if (!check.description.available) {
    check.unusable = AsPluginError(Error(StatusCode::kPlugin, "{}", check.description.unavailable), entry);
    return check;
  }
  if (entry.isolation == Isolation::kInProcess && !check.provider->replaceable.empty()) {
    check.unusable =
        AsPluginError(Error(StatusCode::kPlugin, "'isolation: none' is refused, because others could replace {}: {}",
                            check.provider->path.string(), check.provider->replaceable)
                          .Advise("'isolation: auto' runs it in a worker process"),
                      entry);
    return check;
  }
  const DeviceEntry* device = nullptr;
  std::string message = FindDevice(entry, check.description, device);
  if (!message.empty()) check.mistakes.push_back({entry.device_origin, std::move(message), ProblemCode::kOption});
  if (device != nullptr) {
    check.device = device->id;
    check.driver = device->driver;
    check.is_accelerator =
        device->kind == DEPUTY_DEVICE_GPU || device->kind == DEPUTY_DEVICE_NPU || device->kind == DEPUTY_DEVICE_DSP;
  }
  return check;
}

}  // namespace deputy::host
