#include "plugin/discovery/table_check.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <set>
#include <string_view>

#include "plugin/checks/text.hpp"
#include "plugin/discovery/manifest.hpp"

namespace deputy::host {
namespace {

// Far above the size of any table; a larger value was never set.
constexpr uint32_t kMaxStructSize = 64 * 1024;

Rejection Bad(std::string text) { return {RejectReason::kBadTable, std::move(text)}; }

Rejection Threw(std::string_view function) {
  return {RejectReason::kThrew, fmt::format("its {} threw an exception", function)};
}

// `frozen`: the size of the table in ABI 0.2, by its last member then. sizeof grows with the header.
std::optional<Rejection> CheckSize(std::string_view table, uint32_t struct_size, size_t frozen) {
  if (struct_size >= frozen && struct_size <= kMaxStructSize) return std::nullopt;
  return Bad(
      fmt::format("its {} table has the invalid struct_size {}; that of ABI 0.2 is {}", table, struct_size, frozen));
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
  return Bad(fmt::format("'{}' of its {} table does not point to loaded code", slot, table));
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

// A bit that this host does not know would change the meaning of the table.
std::optional<Rejection> CheckFlags(std::string_view table, uint32_t flags, uint32_t known) {
  if ((flags & ~known) == 0) return std::nullopt;
  return Bad(
      fmt::format("the flags of its {} table have bits that this host does not know: {:#x}", table, flags & ~known));
}

constexpr uint32_t kDelegateFlags = DEPUTY_DELEGATE_SERIAL | DEPUTY_DELEGATE_DYNAMIC_SHAPES |
                                    DEPUTY_DELEGATE_SIMULATED | DEPUTY_DELEGATE_LOADS_WHILE_RUNNING |
                                    DEPUTY_DELEGATE_STREAMS_CONSTANTS;

std::optional<Rejection> CheckOpsets(const std::string& name, const deputy_delegate& table) {
  constexpr uint64_t kMostDomains = 256;
  if (table.opset_count > kMostDomains || (table.opset_count != 0 && table.opsets == nullptr))
    return Bad(fmt::format("{} declares {} opsets, which is invalid", name, table.opset_count));
  std::set<std::string> domains;
  for (uint64_t i = 0; i < table.opset_count; ++i) {
    const CopiedText domain = CopyText(table.opsets[i].domain, 128);
    if (!domain.fault.empty()) return Bad(fmt::format("the domain of opset {} of {} {}", i, name, domain.fault));
    if (!domains.insert(domain.text).second)
      return Bad(fmt::format("{} declares two opsets of domain '{}'", name, CleanText(domain.text, 80)));
  }
  if (domains.count("") == 0) return Bad(fmt::format("{} declares no opset of ONNX's own domain", name));
  return std::nullopt;
}

std::optional<Rejection> CheckDelegateTable(const deputy_delegate* table) {
  if (auto rejection = CheckSize("delegate", table->struct_size, DEPUTY_END_OF(deputy_delegate, cancel)))
    return rejection;
  if (auto rejection = CheckName("delegate's id", table->id)) return rejection;
  const std::string name = "'" + std::string(table->id.data, table->id.size) + "'";
  if (auto rejection = CheckFlags(name, table->flags, kDelegateFlags)) return rejection;
  if (auto rejection = CheckOpsets(name, *table)) return rejection;
  for (const auto& rejection :
       {CheckSlot(name, "probe", table->probe, false), CheckSlot(name, "get_extension", table->get_extension, false),
        CheckSlot(name, "open", table->open, true), CheckSlot(name, "close", table->close, true),
        CheckSlot(name, "query_support", table->query_support, true), CheckSlot(name, "compile", table->compile, true),
        CheckSlot(name, "executable_destroy", table->executable_destroy, true),
        CheckSlot(name, "context_create", table->context_create, true),
        CheckSlot(name, "context_destroy", table->context_destroy, true),
        CheckSlot(name, "scratch_size", table->scratch_size, false), CheckSlot(name, "execute", table->execute, true),
        CheckSlot(name, "cancel", table->cancel, false)})
    if (rejection) return rejection;
  return std::nullopt;
}

// The flags that this host knows in the table of an extension; those that have none have `reserved` in their place.
template <class T>
constexpr uint32_t kKnownFlags = 0;
template <>
constexpr uint32_t kKnownFlags<deputy_ext_blob> = DEPUTY_BLOB_COMPILE_ONLY;
template <>
constexpr uint32_t kKnownFlags<deputy_ext_async> = DEPUTY_ASYNC_CANCELS;

template <class T>
uint32_t FlagsOf(const T&) {
  return 0;
}
uint32_t FlagsOf(const deputy_ext_blob& table) { return table.flags; }
uint32_t FlagsOf(const deputy_ext_async& table) { return table.flags; }

// Null where the delegate lacks the table, or the table one of the functions, or where its flags are not known.
template <class T, class... Functions>
const T* Extension(const deputy_delegate& delegate, const char* id, size_t frozen, Functions T::*... required) {
  const void* found = nullptr;
  if (delegate.get_extension == nullptr || !Returned(SiteOf(delegate.get_extension, "get_extension"),
                                                     [&] { found = delegate.get_extension(&delegate, id); }))
    return nullptr;
  const T* table = static_cast<const T*>(found);
  const bool complete = table != nullptr && !CheckSize(id, table->struct_size, frozen) &&
                        (... && (table->*required != nullptr)) && !CheckFlags(id, FlagsOf(*table), kKnownFlags<T>);
  return complete ? table : nullptr;
}

}  // namespace

Checked<const deputy_plugin*> QueryTable(deputy_plugin_query_fn query) {
  const deputy_plugin* table = nullptr;
  if (!Returned(SiteOf(query, DEPUTY_ENTRY_SYMBOL), [&] { table = query(DEPUTY_ABI_VERSION, nullptr); }))
    return Threw(DEPUTY_ENTRY_SYMBOL);
  if (table == nullptr)
    return Rejection{RejectReason::kNoTable,
                     fmt::format("does not support a host with plugin ABI {}", AbiText(DEPUTY_ABI_VERSION))};
  if (auto rejection = CheckPluginTable(table)) return *std::move(rejection);
  return table;
}

std::optional<Rejection> CheckPluginTable(const deputy_plugin* table) {
  if (auto rejection = CheckSize("plugin", table->struct_size, DEPUTY_END_OF(deputy_plugin, get_extension)))
    return rejection;
  if (!AbiFits(table->abi_version, table->min_host_abi, DEPUTY_ABI_VERSION))
    return Rejection{RejectReason::kAbiMismatch, fmt::format("its table is of plugin ABI {}, this host has {}",
                                                             AbiText(table->abi_version), AbiText(DEPUTY_ABI_VERSION))};
  if (auto rejection = CheckName("id", table->id)) return rejection;
  for (const auto& [field, text] : {std::pair{"vendor", table->vendor}, std::pair{"version", table->version}}) {
    const CopiedText copied = CopyText(text, 256);
    if (!copied.fault.empty()) return Bad(fmt::format("its {} {}", field, copied.fault));
  }
  if (auto rejection = CheckFlags("plugin", table->flags, 0)) return rejection;
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
    return Bad(fmt::format("it declares {} delegates, the maximum is {}", count, kMaxDelegates));
  std::vector<const deputy_delegate*> tables;
  std::set<std::string> ids;
  for (uint32_t i = 0; i < count; ++i) {
    const deputy_delegate* table = nullptr;
    if (!Returned(SiteOf(plugin.delegate_at, "delegate_at"), [&] { table = plugin.delegate_at(&plugin, i); }))
      return Threw("delegate_at");
    if (table == nullptr) return Bad(fmt::format("it declares {} delegates, but delegate {} is NULL", count, i));
    if (auto rejection = CheckDelegateTable(table)) return *std::move(rejection);
    if (!ids.emplace(table->id.data, table->id.size).second)
      return Bad(fmt::format("two of its delegates are called '{}'", std::string_view(table->id.data, table->id.size)));
    tables.push_back(table);
  }
  return tables;
}

const deputy_ext_options* OptionsOf(const deputy_delegate& delegate) {
  using T = deputy_ext_options;
  return Extension(delegate, DEPUTY_EXT_OPTIONS, DEPUTY_END_OF(deputy_ext_options, set_option), &T::option_count,
                   &T::option_at);
}

const deputy_ext_propose* ProposeOf(const deputy_delegate& delegate) {
  using T = deputy_ext_propose;
  return Extension(delegate, DEPUTY_EXT_PROPOSE, DEPUTY_END_OF(deputy_ext_propose, claim_release), &T::propose,
                   &T::claim_release);
}

const deputy_ext_propose* GroupsOf(const deputy_delegate& delegate) {
  const auto* table =
      Extension<deputy_ext_propose>(delegate, DEPUTY_EXT_PROPOSE, DEPUTY_END_OF(deputy_ext_propose, claim_release));
  const bool groups = table != nullptr && DEPUTY_HAS_FN(table, deputy_ext_propose, groups);
  return groups && table->propose == nullptr ? table : nullptr;
}

const deputy_ext_capabilities* CapabilitiesOf(const deputy_delegate& delegate) {
  using T = deputy_ext_capabilities;
  return Extension(delegate, DEPUTY_EXT_CAPABILITIES, DEPUTY_END_OF(deputy_ext_capabilities, capability_at),
                   &T::capability_count, &T::capability_at);
}

const deputy_ext_devices* DevicesOf(const deputy_delegate& delegate) {
  return Extension(delegate, DEPUTY_EXT_DEVICES, DEPUTY_END_OF(deputy_ext_devices, enumerate),
                   &deputy_ext_devices::enumerate);
}

const deputy_ext_estimate* EstimateOf(const deputy_delegate& delegate) {
  return Extension(delegate, DEPUTY_EXT_ESTIMATE, DEPUTY_END_OF(deputy_ext_estimate, estimate),
                   &deputy_ext_estimate::estimate);
}

const deputy_ext_concurrency* ConcurrencyOf(const deputy_delegate& delegate) {
  return Extension(delegate, DEPUTY_EXT_CONCURRENCY, DEPUTY_END_OF(deputy_ext_concurrency, concurrency),
                   &deputy_ext_concurrency::concurrency);
}

const deputy_ext_device_control* DeviceControlOf(const deputy_delegate& delegate) {
  using T = deputy_ext_device_control;
  return Extension(delegate, DEPUTY_EXT_DEVICE_CONTROL, DEPUTY_END_OF(deputy_ext_device_control, device_state),
                   &T::device_state);
}

const deputy_ext_blob* BlobOf(const deputy_delegate& delegate) {
  using T = deputy_ext_blob;
  return Extension(delegate, DEPUTY_EXT_BLOB, DEPUTY_END_OF(deputy_ext_blob, restore), &T::compatibility, &T::serialize,
                   &T::restore);
}

const deputy_ext_resize* ResizeOf(const deputy_delegate& delegate) {
  return Extension(delegate, DEPUTY_EXT_RESIZE, DEPUTY_END_OF(deputy_ext_resize, resize), &deputy_ext_resize::resize);
}

const deputy_ext_profiling* ProfilingOf(const deputy_delegate& delegate) {
  using T = deputy_ext_profiling;
  return Extension(delegate, DEPUTY_EXT_PROFILING, DEPUTY_END_OF(deputy_ext_profiling, correlate), &T::debug_map,
                   &T::set_profiling);
}

const deputy_ext_memory* MemoryOf(const deputy_delegate& delegate) {
  using T = deputy_ext_memory;
  return Extension(delegate, DEPUTY_EXT_MEMORY, DEPUTY_END_OF(deputy_ext_memory, copy), &T::wish_of, &T::allocate,
                   &T::release, &T::copy);
}

const deputy_ext_async* AsyncOf(const deputy_delegate& delegate) {
  using T = deputy_ext_async;
  return Extension(delegate, DEPUTY_EXT_ASYNC, DEPUTY_END_OF(deputy_ext_async, run_destroy), &T::submit, &T::poll,
                   &T::wait, &T::cancel, &T::run_destroy);
}

const deputy_ext_scheduling* SchedulingOf(const deputy_delegate& delegate) {
  return Extension(delegate, DEPUTY_EXT_SCHEDULING, DEPUTY_END_OF(deputy_ext_scheduling, limits),
                   &deputy_ext_scheduling::limits);
}

const deputy_ext_operators* OperatorsOf(const deputy_delegate& delegate) {
  using T = deputy_ext_operators;
  return Extension(delegate, DEPUTY_EXT_OPERATORS, DEPUTY_END_OF(deputy_ext_operators, compute), &T::operator_count,
                   &T::operator_at, &T::infer);
}

}  // namespace deputy::host
