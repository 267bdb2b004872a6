#include "plugin/table_check.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "plugin/elf_gate.hpp"
#include "plugin/manifest.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

static_assert(kPluginSize01 == DEPUTY_END_OF(deputy_plugin, get_extension));
static_assert(kDelegateSize01 == DEPUTY_END_OF(deputy_delegate, execute));
static_assert(kOptionsSize01 == DEPUTY_END_OF(deputy_ext_options, get_option));
static_assert(kProposeSize01 == DEPUTY_END_OF(deputy_ext_propose, claim_release));
static_assert(kDeviceControlSize01 == DEPUTY_END_OF(deputy_ext_device_control, device_state));
static_assert(kCapabilitiesSize01 == DEPUTY_END_OF(deputy_ext_capabilities, capability_at));
static_assert(kDevicesSize01 == DEPUTY_END_OF(deputy_ext_devices, enumerate));
static_assert(kEstimateSize01 == DEPUTY_END_OF(deputy_ext_estimate, estimate));
static_assert(kConcurrencySize01 == DEPUTY_END_OF(deputy_ext_concurrency, concurrency));
static_assert(kBlobSize01 == DEPUTY_END_OF(deputy_ext_blob, restore));
static_assert(kResizeSize01 == DEPUTY_END_OF(deputy_ext_resize, resize));
static_assert(kProfilingSize01 == DEPUTY_END_OF(deputy_ext_profiling, correlate));
static_assert(kOperatorsSize01 == DEPUTY_END_OF(deputy_ext_operators, compute));

// Far above the size of any table; a larger value was never set.
constexpr uint32_t kMaxStructSize = 64 * 1024;

Rejection Bad(std::string text) { return {RejectReason::kBadTable, std::move(text)}; }

Rejection Threw(std::string_view function) {
  return {RejectReason::kThrew, fmt::format("an exception left its {}", function)};
}

std::optional<Rejection> CheckSize(std::string_view table, uint32_t struct_size, size_t frozen) {
  if (struct_size >= frozen && struct_size <= kMaxStructSize) return std::nullopt;
  return Bad(fmt::format("its {} table says that it has {} bytes; ABI 0.1 has {}", table, struct_size, frozen));
}

// Code lies in a loaded object; a pointer elsewhere is invalid.
template <class Function>
bool IsCode(Function* function) {
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(function), &info) != 0;
}

template <class Function>
std::optional<Rejection> CheckSlot(std::string_view table, std::string_view slot, Function* function, bool required) {
  if (function == nullptr) {
    if (!required) return std::nullopt;
    return Bad(fmt::format("its {} table has no '{}'", table, slot));
  }
  if (IsCode(function)) return std::nullopt;
  return Bad(fmt::format("'{}' of its {} table points to no loaded code", slot, table));
}

std::optional<Rejection> CheckName(std::string_view subject, const deputy_str& text) {
  const CopiedText copied = CopyText(text, 128);
  if (copied.fault == "is not UTF-8")
    return Rejection{RejectReason::kBadUtf8, fmt::format("its {} is not UTF-8", subject)};
  if (!copied.fault.empty()) return Bad(fmt::format("its {} {}", subject, copied.fault));
  if (!IsPluginName(copied.text))
    return Bad(fmt::format("its {} '{}' is not valid", subject, CleanText(copied.text, 80)));
  return std::nullopt;
}

std::optional<Rejection> CheckDelegateTable(const deputy_delegate* table) {
  if (auto rejection = CheckSize("delegate", table->struct_size, kDelegateSize01)) return rejection;
  if (auto rejection = CheckName("delegate's id", table->id)) return rejection;
  const std::string name = "'" + std::string(table->id.data, table->id.size) + "'";
  for (const auto& rejection :
       {CheckSlot(name, "probe", table->probe, false), CheckSlot(name, "get_extension", table->get_extension, false),
        CheckSlot(name, "open", table->open, true), CheckSlot(name, "close", table->close, true),
        CheckSlot(name, "query_support", table->query_support, true), CheckSlot(name, "compile", table->compile, true),
        CheckSlot(name, "executable_destroy", table->executable_destroy, true),
        CheckSlot(name, "context_create", table->context_create, true),
        CheckSlot(name, "context_destroy", table->context_destroy, true),
        CheckSlot(name, "execute", table->execute, true)})
    if (rejection) return rejection;
  return std::nullopt;
}

template <class T>
const T* Extension(const deputy_delegate& delegate, const char* id, size_t frozen) {
  const void* found = nullptr;
  if (delegate.get_extension == nullptr || !Returned(SiteOf(delegate.get_extension, "get_extension"),
                                                     [&] { found = delegate.get_extension(&delegate, id); }))
    return nullptr;
  const T* table = static_cast<const T*>(found);
  return table != nullptr && !CheckSize(id, table->struct_size, frozen) ? table : nullptr;
}

}  // namespace

CopiedText CopyText(const deputy_str& text, size_t limit) {
  if (text.size == 0) return {};
  if (text.data == nullptr) return {"", fmt::format("has {} bytes at NULL", text.size)};
  if (text.size > limit) return {"", fmt::format("has {} bytes; {} are allowed", text.size, limit)};
  std::string copy(text.data, text.size);
  if (!IsUtf8(copy)) return {"", "is not UTF-8"};
  if (copy.find('\0') != std::string::npos) return {"", "holds a NUL"};
  return {std::move(copy), ""};
}

Checked<const deputy_plugin*> QueryTable(deputy_plugin_query_fn query) {
  const deputy_plugin* table = nullptr;
  if (!Returned(SiteOf(query, DEPUTY_ENTRY_SYMBOL), [&] { table = query(DEPUTY_ABI_VERSION, nullptr); }))
    return Threw(DEPUTY_ENTRY_SYMBOL);
  if (table == nullptr)
    return Rejection{RejectReason::kNoTable,
                     fmt::format("has nothing for a host with plugin ABI {}", AbiText(DEPUTY_ABI_VERSION))};
  if (auto rejection = CheckPluginTable(table)) return *std::move(rejection);
  return table;
}

std::optional<Rejection> CheckPluginTable(const deputy_plugin* table) {
  if (auto rejection = CheckSize("plugin", table->struct_size, kPluginSize01)) return rejection;
  if (!AbiFits(table->abi_version, table->min_host_abi, DEPUTY_ABI_VERSION))
    return Rejection{RejectReason::kAbiMismatch, fmt::format("its table is of plugin ABI {}, this host has {}",
                                                             AbiText(table->abi_version), AbiText(DEPUTY_ABI_VERSION))};
  if (auto rejection = CheckName("id", table->id)) return rejection;
  for (const auto& [field, text] : {std::pair{"vendor", table->vendor}, std::pair{"version", table->version}}) {
    const CopiedText copied = CopyText(text, 256);
    if (!copied.fault.empty()) return Bad(fmt::format("its {} {}", field, copied.fault));
  }
  for (const auto& rejection :
       {CheckSlot("plugin", "init", table->init, false), CheckSlot("plugin", "shutdown", table->shutdown, false),
        CheckSlot("plugin", "delegate_count", table->delegate_count, true),
        CheckSlot("plugin", "delegate_at", table->delegate_at, true),
        CheckSlot("plugin", "get_extension", table->get_extension, false)})
    if (rejection) return rejection;
  return std::nullopt;
}

Checked<std::vector<const deputy_delegate*>> DelegateTables(const deputy_plugin& plugin) {
  uint32_t count = 0;
  if (!Returned(SiteOf(plugin.delegate_count, "delegate_count"), [&] { count = plugin.delegate_count(&plugin); }))
    return Threw("delegate_count");
  if (count == 0) return Bad("it has no delegate");
  if (count > kMaxDelegates)
    return Bad(fmt::format("it says that it has {} delegates; {} are allowed", count, kMaxDelegates));
  std::vector<const deputy_delegate*> tables;
  std::set<std::string> ids;
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_delegate* table = nullptr;
    if (!Returned(SiteOf(plugin.delegate_at, "delegate_at"), [&] { table = plugin.delegate_at(&plugin, i); }))
      return Threw("delegate_at");
    if (table == nullptr) return Bad(fmt::format("it says that it has {} delegates, but number {} is NULL", count, i));
    if (auto rejection = CheckDelegateTable(table)) return *std::move(rejection);
    if (!ids.emplace(table->id.data, table->id.size).second)
      return Bad(fmt::format("two of its delegates are called '{}'", std::string_view(table->id.data, table->id.size)));
    tables.push_back(table);
  }
  return tables;
}

const deputy_ext_options* OptionsOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_options>(delegate, DEPUTY_EXT_OPTIONS, kOptionsSize01);
  return table != nullptr && table->option_count != nullptr && table->option_at != nullptr ? table : nullptr;
}

const deputy_ext_propose* ProposeOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_propose>(delegate, DEPUTY_EXT_PROPOSE, kProposeSize01);
  return table != nullptr && table->propose != nullptr && table->claim_release != nullptr ? table : nullptr;
}

const deputy_ext_propose* GroupsOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_propose>(delegate, DEPUTY_EXT_PROPOSE, kProposeSize01);
  const bool groups = table != nullptr && DEPUTY_HAS_FN(table, deputy_ext_propose, groups);
  return groups && table->propose == nullptr ? table : nullptr;
}

const deputy_ext_capabilities* CapabilitiesOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_capabilities>(delegate, DEPUTY_EXT_CAPABILITIES, kCapabilitiesSize01);
  return table != nullptr && table->capability_count != nullptr && table->capability_at != nullptr ? table : nullptr;
}

const deputy_ext_devices* DevicesOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_devices>(delegate, DEPUTY_EXT_DEVICES, kDevicesSize01);
  return table != nullptr && table->enumerate != nullptr ? table : nullptr;
}

const deputy_ext_estimate* EstimateOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_estimate>(delegate, DEPUTY_EXT_ESTIMATE, kEstimateSize01);
  return table != nullptr && table->estimate != nullptr ? table : nullptr;
}

const deputy_ext_concurrency* ConcurrencyOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_concurrency>(delegate, DEPUTY_EXT_CONCURRENCY, kConcurrencySize01);
  return table != nullptr && table->concurrency != nullptr ? table : nullptr;
}

const deputy_ext_device_control* DeviceControlOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_device_control>(delegate, DEPUTY_EXT_DEVICE_CONTROL, kDeviceControlSize01);
  return table != nullptr && table->device_state != nullptr ? table : nullptr;
}

const deputy_ext_blob* BlobOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_blob>(delegate, DEPUTY_EXT_BLOB, kBlobSize01);
  return table != nullptr && table->compatibility != nullptr && table->serialize != nullptr && table->restore != nullptr
             ? table
             : nullptr;
}

const deputy_ext_resize* ResizeOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_resize>(delegate, DEPUTY_EXT_RESIZE, kResizeSize01);
  return table != nullptr && table->resize != nullptr ? table : nullptr;
}

const deputy_ext_profiling* ProfilingOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_profiling>(delegate, DEPUTY_EXT_PROFILING, kProfilingSize01);
  return table != nullptr && table->debug_map != nullptr && table->set_profiling != nullptr ? table : nullptr;
}

const deputy_ext_operators* OperatorsOf(const deputy_delegate& delegate) {
  const auto* table = Extension<deputy_ext_operators>(delegate, DEPUTY_EXT_OPERATORS, kOperatorsSize01);
  return table != nullptr && table->operator_count != nullptr && table->operator_at != nullptr &&
                 table->infer != nullptr
             ? table
             : nullptr;
}

}  // namespace deputy::host
