#include "plugin/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "plugin/option_check.hpp"
#include "plugin/status_handle.hpp"
#include "plugin/table_check.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxShortText = 4096;
constexpr uint32_t kMaxOptions = 256;

Rejection Bad(std::string text) { return {RejectReason::kBadTable, std::move(text)}; }

std::optional<Rejection> Copy(std::string_view subject, const deputy_str& from, std::string& to) {
  CopiedText copied = CopyText(from, kMaxShortText);
  if (copied.fault == "is not UTF-8") return Rejection{RejectReason::kBadUtf8, fmt::format("{} is not UTF-8", subject)};
  if (!copied.fault.empty()) return Bad(fmt::format("{} {}", subject, copied.fault));
  to = CleanText(copied.text, kMaxShortText);
  return std::nullopt;
}

std::vector<std::string> SplitChoices(std::string_view text) {
  std::vector<std::string> choices;
  while (!text.empty()) {
    const size_t bar = std::min(text.find('|'), text.size());
    choices.emplace_back(text.substr(0, bar));
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return choices;
}

std::optional<Rejection> DescribeOption(const std::string& owner, const deputy_option_info* info,
                                        OptionSchema& option) {
  constexpr size_t kSize01 = 104;
  static_assert(kSize01 == DEPUTY_END_OF(deputy_option_info, maximum));
  if (info == nullptr || info->struct_size < kSize01)
    return Bad(fmt::format("an option of {} has no description", owner));
  if (auto rejection = Copy("an option's name", info->name, option.name)) return rejection;
  if (!IsPluginName(option.name))
    return Bad(fmt::format("an option of {} is called '{}'", owner, CleanText(option.name, 80)));
  const std::string subject = fmt::format("option '{}' of {}", option.name, owner);
  option.type = info->type;
  if (option.type < DEPUTY_OPTION_BOOL || option.type > DEPUTY_OPTION_FREQUENCY)
    return Bad(fmt::format("{} has the unknown type {}", subject, option.type));
  std::string choices;
  for (const auto& [text, to] :
       {std::pair{&info->help, &option.help}, std::pair{&info->unit, &option.unit},
        std::pair{&info->default_value, &option.default_value}, std::pair{&info->choices, &choices}})
    if (auto rejection = Copy("a text of " + subject, *text, *to)) return rejection;
  option.choices = SplitChoices(choices);
  if (option.type == DEPUTY_OPTION_ENUM && option.choices.empty()) return Bad(subject + " has no choices");
  option.minimum = info->minimum;
  option.maximum = info->maximum;
  if (std::isnan(option.minimum) || std::isnan(option.maximum) || option.minimum > option.maximum)
    return Bad(subject + " has an impossible range");
  const std::pair<std::string, std::string> given[] = {{option.name, option.default_value}};
  if (!CheckOptions({&option, 1}, given).problems.empty())
    return Bad(fmt::format("the default of {} must be {}, not '{}'", subject, AcceptedBy(option),
                           CleanText(option.default_value, 80)));
  return std::nullopt;
}

std::optional<Rejection> DescribeOptions(const deputy_delegate& table, DelegateDescription& delegate) {
  const deputy_ext_options* options = OptionsOf(table);
  if (options == nullptr) return std::nullopt;
  const std::string owner = "'" + delegate.id + "'";
  uint32_t count = 0;
  if (!Returned(SiteOf(options->option_count, "option_count"), [&] { count = options->option_count(&table); }))
    return Rejection{RejectReason::kThrew, "an exception left option_count of " + owner};
  if (count > kMaxOptions) return Bad(fmt::format("{} says that it has {} options", owner, count));
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_option_info* info = nullptr;
    if (!Returned(SiteOf(options->option_at, "option_at"), [&] { info = options->option_at(&table, i); }))
      return Rejection{RejectReason::kThrew, "an exception left option_at of " + owner};
    OptionSchema option;
    if (auto rejection = DescribeOption(owner, info, option)) return rejection;
    for (const OptionSchema& other : delegate.options)
      if (other.name == option.name) return Bad(fmt::format("{} has two options called '{}'", owner, option.name));
    delegate.options.push_back(std::move(option));
  }
  return std::nullopt;
}

std::optional<Rejection> DescribeDevices(const deputy_delegate& table, const deputy_host* host,
                                         DelegateDescription& delegate) {
  delegate.enumerates = DevicesOf(table) != nullptr;
  // An unavailable delegate cannot look for devices either.
  if (!delegate.enumerates || !delegate.available) return std::nullopt;
  Status failure;
  if (auto rejection = EnumerateDevices(table, host, delegate.devices, failure)) return rejection;
  if (failure.ok() && delegate.devices.empty()) failure = Status(StatusCode::kNotFound, "there is no device for it");
  if (failure.ok()) return std::nullopt;
  delegate.available = false;
  delegate.unavailable = failure.message();
  delegate.devices.clear();
  return std::nullopt;
}

std::optional<Rejection> DescribeDelegate(const deputy_delegate& table, const deputy_host* host,
                                          DelegateDescription& delegate) {
  delegate.id.assign(table.id.data, table.id.size);
  delegate.flags = table.flags;
  if (auto rejection = Copy("the description of '" + delegate.id + "'", table.description, delegate.description))
    return rejection;
  if (table.probe != nullptr) {
    deputy_status* raw = nullptr;
    if (!Returned(SiteOf(table.probe, "probe"), [&] { raw = table.probe(&table, host); }))
      return Rejection{RejectReason::kThrew, "an exception left probe of '" + delegate.id + "'"};
    if (const StatusHandle status{raw}) {
      delegate.available = false;
      delegate.unavailable = ToStatus(*status).message();
    }
  }
  if (OptionsOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_OPTIONS);
  if (ProposeOf(table) != nullptr || GroupsOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_PROPOSE);
  if (DeviceControlOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_DEVICE_CONTROL);
  if (BlobOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_BLOB);
  if (ResizeOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_RESIZE);
  if (ProfilingOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_PROFILING);
  if (OperatorsOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_OPERATORS);
  if (CapabilitiesOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_CAPABILITIES);
  if (DevicesOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_DEVICES);
  if (EstimateOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_ESTIMATE);
  if (ConcurrencyOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_CONCURRENCY);
  if (auto rejection = ListCapabilities(table, delegate.capabilities)) return rejection;
  if (auto rejection = DescribeDevices(table, host, delegate)) return rejection;
  return DescribeOptions(table, delegate);
}

}  // namespace

std::optional<Rejection> Init(const deputy_plugin& table, const deputy_host* host) {
  if (table.init == nullptr) return std::nullopt;
  deputy_status* raw = nullptr;
  if (!Returned(SiteOf(table.init, "init"), [&] { raw = table.init(&table, host); }))
    return Rejection{RejectReason::kThrew, "an exception left its init"};
  if (const StatusHandle status{raw})
    return Rejection{RejectReason::kInitFailed, "its init failed: " + ToStatus(*status).message()};
  return std::nullopt;
}

Checked<PluginDescription> Describe(const deputy_plugin& table, const deputy_host* host) {
  const Checked<std::vector<const deputy_delegate*>> tables = DelegateTables(table);
  if (const Rejection* rejection = RejectionOf(tables)) return *rejection;
  PluginDescription plugin;
  plugin.abi_version = table.abi_version;
  for (const auto& [text, to] : {std::pair{&table.id, &plugin.id}, std::pair{&table.vendor, &plugin.vendor},
                                 std::pair{&table.version, &plugin.version}})
    if (auto rejection = Copy("a text of the plugin", *text, *to)) return *std::move(rejection);
  for (const deputy_delegate* delegate : std::get<0>(tables))
    if (auto rejection = DescribeDelegate(*delegate, host, plugin.delegates.emplace_back()))
      return *std::move(rejection);
  return plugin;
}

}  // namespace deputy::host
