#include "plugin/discovery/description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "plugin/checks/handles.hpp"
#include "plugin/checks/process_keeper.hpp"
#include "plugin/checks/text.hpp"
#include "plugin/discovery/option_check.hpp"
#include "plugin/discovery/table_check.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxName = 128, kMaxNote = 256, kMaxShortText = 4096;
constexpr uint32_t kMaxOptions = 256, kMaxDTypes = 64, kMaxChoices = 256;

Rejection BadDescription(std::string text) { return {RejectReason::kBadTable, std::move(text)}; }

std::string OwnerOf(const deputy_delegate& table) {
  return fmt::format("'{}'", std::string_view(table.id.data, table.id.size));
}

// The fault, or empty.
std::string CopyInto(std::string_view subject, const deputy_str& from, size_t limit, std::string& to) {
  CopiedText copied = CopyText(from, limit);
  if (!copied.fault.empty()) return fmt::format("{} {}", subject, copied.fault);
  to = CleanText(copied.text, limit);
  return {};
}

std::optional<Rejection> Copy(std::string_view subject, const deputy_str& from, std::string& to) {
  std::string fault = CopyInto(subject, from, kMaxShortText, to);
  if (fault.empty()) return std::nullopt;
  const bool is_utf8 = !fault.ends_with("is not UTF-8");
  return Rejection{is_utf8 ? RejectReason::kBadTable : RejectReason::kBadUtf8, std::move(fault)};
}

// Calls a function of the delegate; rejected if an exception leaves it.
template <class Outcome, class... Parameters, class... Arguments>
std::optional<Rejection> Call(const deputy_delegate& table, const char* name, Outcome (*function)(Parameters...),
                              Outcome& outcome, Arguments... arguments) {
  if (Returned(SiteOf(function, name), [&] { outcome = function(arguments...); })) return std::nullopt;
  return Rejection{RejectReason::kThrew, fmt::format("{} of {} threw an exception", name, OwnerOf(table))};
}

std::optional<Rejection> DescribeOption(const std::string& owner, const deputy_option_info* info,
                                        OptionSchema& option) {
  if (info == nullptr || !DEPUTY_HAS(info, deputy_option_info, reserved))
    return BadDescription(fmt::format("an option of {} has no description", owner));
  if (auto rejection = Copy("an option's name", info->name, option.name)) return rejection;
  if (!IsPluginName(option.name))
    return BadDescription(fmt::format("an option of {} has the invalid name '{}'", owner, CleanText(option.name, 80)));
  const std::string subject = fmt::format("option '{}' of {}", option.name, owner);
  option.type = info->type;
  if (option.type < DEPUTY_OPTION_BOOL || option.type > DEPUTY_OPTION_FREQUENCY)
    return BadDescription(fmt::format("{} has the unknown type {}", subject, option.type));
  for (const auto& [text, to] : {std::pair{&info->help, &option.help}, std::pair{&info->unit, &option.unit},
                                 std::pair{&info->default_value, &option.default_value}})
    if (auto rejection = Copy("a text of " + subject, *text, *to)) return rejection;
  if (info->choice_count > kMaxChoices || (info->choice_count != 0 && info->choices == nullptr))
    return BadDescription(fmt::format("{} declares {} choices, the maximum is {}", subject, info->choice_count,
                                      info->choices == nullptr ? 0 : kMaxChoices));
  for (uint64_t i = 0; i < info->choice_count; ++i)
    if (auto rejection = Copy("a choice of " + subject, info->choices[i], option.choices.emplace_back()))
      return rejection;
  if (option.type == DEPUTY_OPTION_ENUM && option.choices.empty()) return BadDescription(subject + " has no choices");
  if ((info->flags & ~uint32_t{DEPUTY_OPTION_SETTABLE}) != 0)
    return BadDescription(fmt::format("{} has flags that this host does not know: {:#x}", subject, info->flags));
  option.settable = (info->flags & DEPUTY_OPTION_SETTABLE) != 0;
  option.int_minimum = info->int_minimum;
  option.int_maximum = info->int_maximum;
  option.minimum = info->minimum;
  option.maximum = info->maximum;
  if (std::isnan(option.minimum) || std::isnan(option.maximum) || option.minimum > option.maximum ||
      option.int_minimum > option.int_maximum)
    return BadDescription(subject + " has an invalid range");
  const std::pair<std::string, std::string> given[] = {{option.name, option.default_value}};
  if (!CheckOptions({&option, 1}, given).problems.empty())
    return BadDescription(fmt::format("the default of {} must be {}, not '{}'", subject, AcceptedBy(option),
                                      CleanText(option.default_value, 80)));
  return std::nullopt;
}

std::optional<Rejection> DescribeDevices(const deputy_delegate& table, const deputy_host* host,
                                         DelegateDescription& delegate) {
  delegate.enumerates = DevicesOf(table) != nullptr;
  // An unavailable delegate cannot look for devices either.
  if (!delegate.enumerates || !delegate.available) return std::nullopt;
  Status failure;
  if (auto rejection = EnumerateDevices(table, host, delegate.devices, failure)) return rejection;
  if (failure.ok() && delegate.devices.empty()) failure = Status(StatusCode::kNotFound, "no device was found");
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
  if (auto rejection = Copy("the description of " + OwnerOf(table), table.description, delegate.description))
    return rejection;
  if (table.probe != nullptr) {
    deputy_status* raw = nullptr;
    if (auto rejection = Call(table, "probe", table.probe, raw, &table, host)) return rejection;
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
  if (MemoryOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_MEMORY);
  if (AsyncOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_ASYNC);
  if (SchedulingOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_SCHEDULING);
  if (OperatorsOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_OPERATORS);
  if (CapabilitiesOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_CAPABILITIES);
  if (DevicesOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_DEVICES);
  if (EstimateOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_ESTIMATE);
  if (ConcurrencyOf(table) != nullptr) delegate.extensions.push_back(DEPUTY_EXT_CONCURRENCY);
  if (auto rejection = ListCapabilities(table, delegate.capabilities)) return rejection;
  if (auto rejection = DescribeDevices(table, host, delegate)) return rejection;
  return ListOptions(table, delegate.options);
}

// The fault, or empty.
std::string CopyRow(const deputy_capability* raw, CapabilityRow& row) {
  if (raw == nullptr || !DEPUTY_HAS(raw, deputy_capability, note)) return "has no description";
  for (const auto& [field, from, to] :
       {std::tuple{"domain", &raw->domain, &row.domain}, std::tuple{"operator", &raw->op_type, &row.op_type}})
    if (std::string fault = CopyInto(field, *from, kMaxName, *to); !fault.empty()) return fault;
  if (std::string fault = CopyInto("note", raw->note, kMaxNote, row.note); !fault.empty()) return fault;
  if (row.op_type.empty()) return "has no operator";
  row.min_version = raw->min_version;
  row.max_version = raw->max_version;
  row.min_rank = raw->min_rank;
  row.max_rank = raw->max_rank;
  row.layouts = raw->layouts == 0 ? 1u << DEPUTY_LAYOUT_DENSE : raw->layouts;
  if (row.min_rank > row.max_rank)
    return fmt::format("has the invalid rank range {} to {}", row.min_rank, row.max_rank);
  if (row.max_version != 0 && row.min_version > row.max_version)
    return fmt::format("has the invalid version range {} to {}", row.min_version, row.max_version);
  if (raw->dtype_count > kMaxDTypes || (raw->dtype_count != 0 && raw->dtypes == nullptr))
    return fmt::format("declares {} dtypes, which is invalid", raw->dtype_count);
  for (uint32_t i = 0; i < raw->dtype_count; ++i) row.dtypes.push_back(raw->dtypes[i]);
  return {};
}

// Behind a deputy_device_sink.
struct DeviceCollector {
  std::vector<DeviceEntry>& devices;
  std::string fault;

  std::string Take(const deputy_device_info* raw) {
    if (raw == nullptr || !DEPUTY_HAS(raw, deputy_device_info, frequency_hz)) return "a device has no description";
    if (devices.size() >= kMaxDevices) return fmt::format("it adds more than {} devices", kMaxDevices);
    DeviceEntry device;
    for (const auto& [subject, from, limit, to] :
         {std::tuple{"a device's id", &raw->id, kMaxName, &device.id},
          std::tuple{"a device's name", &raw->name, kMaxName, &device.name},
          std::tuple{"a device's driver", &raw->driver, kMaxNote, &device.driver}})
      if (std::string wrong = CopyInto(subject, *from, limit, *to); !wrong.empty()) return wrong;
    if (device.id.empty()) return "a device has no id";
    if (device.name.empty()) return "a device has no name";
    // Identical cards may have one name.
    for (const DeviceEntry& other : devices)
      if (other.id == device.id) return fmt::format("two devices have the id '{}'", device.id);
    device.kind = raw->kind <= DEPUTY_DEVICE_DSP ? raw->kind : deputy_device_kind{DEPUTY_DEVICE_OTHER};
    device.memory_bytes = raw->memory_bytes;
    device.frequency_hz = raw->frequency_hz;
    devices.push_back(std::move(device));
    return {};
  }

  static deputy_status* Add(void* self, const deputy_device_info* raw) {
    auto& collector = *static_cast<DeviceCollector*>(self);
    return AnswerOfSink([&] { return collector.Take(raw); },
                        [&](const std::string& wrong) {
                          if (collector.fault.empty()) collector.fault = wrong;
                        });
  }
};

}  // namespace

std::optional<Rejection> Init(const deputy_plugin& table, const deputy_host* host) {
  if (table.init == nullptr) return std::nullopt;
  deputy_status* raw = nullptr;
  const ProcessKeeper keeper(SiteOf(table.init, "init"));
  if (!Returned(SiteOf(table.init, "init"), [&] { raw = table.init(&table, host); }))
    return Rejection{RejectReason::kThrew, "its init threw an exception"};
  if (const StatusHandle status{raw})
    return Rejection{RejectReason::kInitFailed, "its init failed: " + ToStatus(*status).message()};
  return std::nullopt;
}

Checked<PluginDescription> Describe(const deputy_plugin& table, const deputy_host* host) {
  DEPUTY_ASSIGN_OR_REJECT(const std::vector<const deputy_delegate*> delegates, DelegateTables(table));
  PluginDescription plugin;
  plugin.abi_version = table.abi_version;
  for (const auto& [text, to] : {std::pair{&table.id, &plugin.id}, std::pair{&table.vendor, &plugin.vendor},
                                 std::pair{&table.version, &plugin.version}})
    if (auto rejection = Copy("a text of the plugin", *text, *to)) return *std::move(rejection);
  for (const deputy_delegate* delegate : delegates)
    if (auto rejection = DescribeDelegate(*delegate, host, plugin.delegates.emplace_back()))
      return *std::move(rejection);
  return plugin;
}

const char* NameOfDeviceKind(uint32_t kind) {
  switch (kind) {
    case DEPUTY_DEVICE_CPU: return "cpu";
    case DEPUTY_DEVICE_GPU: return "gpu";
    case DEPUTY_DEVICE_NPU: return "npu";
    case DEPUTY_DEVICE_DSP: return "dsp";
    default: return "other";
  }
}

std::optional<Rejection> ListCapabilities(const deputy_delegate& table, std::vector<CapabilityRow>& rows) {
  const deputy_ext_capabilities* extension = CapabilitiesOf(table);
  if (extension == nullptr) return std::nullopt;
  uint32_t count = 0;
  if (auto rejection = Call(table, "capability_count", extension->capability_count, count, &table)) return rejection;
  if (count > kMaxCapabilities)
    return BadDescription(
        fmt::format("{} declares {} capabilities, the maximum is {}", OwnerOf(table), count, kMaxCapabilities));
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_capability* raw = nullptr;
    if (auto rejection = Call(table, "capability_at", extension->capability_at, raw, &table, i)) return rejection;
    if (const std::string fault = CopyRow(raw, rows.emplace_back()); !fault.empty())
      return BadDescription(fmt::format("capability {} of {} {}", i, OwnerOf(table), fault));
  }
  return std::nullopt;
}

std::optional<Rejection> ListOptions(const deputy_delegate& table, std::vector<OptionSchema>& schema) {
  const deputy_ext_options* options = OptionsOf(table);
  if (options == nullptr) return std::nullopt;
  const std::string owner = OwnerOf(table);
  uint32_t count = 0;
  if (auto rejection = Call(table, "option_count", options->option_count, count, &table)) return rejection;
  if (count > kMaxOptions)
    return BadDescription(fmt::format("{} declares {} options, the maximum is {}", owner, count, kMaxOptions));
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_option_info* info = nullptr;
    if (auto rejection = Call(table, "option_at", options->option_at, info, &table, i)) return rejection;
    OptionSchema option;
    if (auto rejection = DescribeOption(owner, info, option)) return rejection;
    for (const OptionSchema& other : schema)
      if (other.name == option.name)
        return BadDescription(fmt::format("{} has two options called '{}'", owner, option.name));
    schema.push_back(std::move(option));
  }
  return std::nullopt;
}

std::optional<Rejection> EnumerateDevices(const deputy_delegate& table, const deputy_host* host,
                                          std::vector<DeviceEntry>& devices, Status& failure) {
  const deputy_ext_devices* extension = DevicesOf(table);
  if (extension == nullptr) return std::nullopt;
  DeviceCollector collector{devices, {}};
  const deputy_device_sink sink{sizeof sink, 0, &collector, DeviceCollector::Add};
  deputy_status* raw = nullptr;
  if (auto rejection = Call(table, "enumerate", extension->enumerate, raw, &table, host, &sink)) return rejection;
  const StatusHandle status{raw};
  if (!collector.fault.empty())
    return BadDescription(fmt::format("enumerate of {}: {}", OwnerOf(table), collector.fault));
  if (status) failure = ToStatus(*status);
  return std::nullopt;
}

}  // namespace deputy::host
