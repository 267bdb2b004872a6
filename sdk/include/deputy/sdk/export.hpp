// Making a plugin of delegates: DEPUTY_EXPORT_DELEGATE in one source of the library, or MakeInProcessPlugin for an
// object of the application's own. Both give the host the same tables.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "deputy/sdk/delegate.hpp"
#include "deputy/sdk/thunks.hpp"

// Written once, in CMake: deputy_add_delegate() defines them, and puts the same into the plugin's note.
#ifndef DEPUTY_PLUGIN_ID
#define DEPUTY_PLUGIN_ID ""
#endif
#ifndef DEPUTY_PLUGIN_VENDOR
#define DEPUTY_PLUGIN_VENDOR ""
#endif
#ifndef DEPUTY_PLUGIN_VERSION
#define DEPUTY_PLUGIN_VERSION ""
#endif

namespace deputy::sdk {
namespace detail {

// Does D report a clock? An abstract D is a static type behind which the real class is not known.
template <class D>
constexpr bool ControlsDevice() {
  return std::is_abstract_v<D> || !std::is_same_v<decltype(&D::device_state), decltype(&DelegateBase::device_state)>;
}

template <class D>
std::unique_ptr<Record> MakeRecord(std::string id, std::string description,
                                   std::function<std::shared_ptr<Holder>()> make) {
  static_assert(std::is_base_of_v<DelegateBase, D>, "a delegate derives from Delegate or PartitionDelegate");
  auto record = std::make_unique<Record>();
  record->id = std::move(id);
  record->description = std::move(description);
  record->schema = D::Options();
  for (const OptionSchema::Option& option : record->schema.options()) record->option_infos.push_back(option.Info());
  record->proposes = std::is_base_of_v<Delegate, D>;
  record->controls_device = ControlsDevice<D>();
  record->probe = [](const Host& host) { return D::Probe(host); };
  record->make = std::move(make);
  deputy_delegate& table = record->table;
  table.struct_size = sizeof table;
  table.flags = record->proposes ? D::kFlags | DEPUTY_DELEGATE_SERIAL : D::kFlags;
  table.id = ToStr(record->id);
  table.description = ToStr(record->description);
  table.impl = record.get();
  table.probe = Thunks::Probe;
  table.get_extension = Thunks::GetExtension;
  table.open = Thunks::Open;
  table.close = Thunks::Close;
  table.query_support = Thunks::QuerySupport;
  table.compile = Thunks::Compile;
  table.executable_destroy = Thunks::ExecutableDestroy;
  table.context_create = Thunks::ContextCreate;
  table.context_destroy = Thunks::ContextDestroy;
  table.execute = Thunks::Execute;
  return record;
}

// One object of D per opened instance.
template <class D>
std::unique_ptr<Record> MakeRecord(std::string id, std::string description) {
  return MakeRecord<D>(std::move(id), std::move(description), [] {
    auto holder = std::make_shared<Holder>();
    holder->delegate = std::make_shared<D>();
    return holder;
  });
}

// The plugin's table over its records.
class Plugin {
 public:
  Plugin(std::string id, std::string vendor, std::string version, std::vector<std::unique_ptr<Record>> records)
      : id_(std::move(id)), vendor_(std::move(vendor)), version_(std::move(version)), records_(std::move(records)) {
    if (id_.empty()) id_ = records_.front()->id;
    table_.struct_size = sizeof table_;
    table_.abi_version = DEPUTY_ABI_VERSION;
    table_.min_host_abi = DEPUTY_ABI_VERSION;
    table_.id = ToStr(id_);
    table_.vendor = ToStr(vendor_);
    table_.version = ToStr(version_);
    table_.impl = this;
    table_.init = [](const deputy_plugin*, const deputy_host* host) noexcept -> deputy_status* {
      if (DEPUTY_HAS(host, deputy_host, clock_ns)) return nullptr;
      return Host(host).Make(Status(Code::kFailedPrecondition, "the host's table lacks functions of ABI 0.1"));
    };
    table_.shutdown = [](const deputy_plugin*) noexcept {};
    table_.delegate_count = [](const deputy_plugin* self) noexcept { return static_cast<uint32_t>(Of(self).size()); };
    table_.delegate_at = [](const deputy_plugin* self, uint32_t index) noexcept -> const deputy_delegate* {
      return index < Of(self).size() ? &Of(self)[index]->table : nullptr;
    };
    table_.get_extension = [](const deputy_plugin*, const char*) noexcept -> const void* { return nullptr; };
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const deputy_plugin* table() const { return &table_; }

 private:
  static const std::vector<std::unique_ptr<Record>>& Of(const deputy_plugin* self) {
    return static_cast<const Plugin*>(self->impl)->records_;
  }

  std::string id_, vendor_, version_;
  std::vector<std::unique_ptr<Record>> records_;
  deputy_plugin table_{};
};

// Before 1.0 every minor version stands alone; afterwards an older host of the same major version is too old only for
// what it lacks, which init checks.
constexpr bool CanServe(uint32_t host_abi) {
  return (host_abi >> 16) == DEPUTY_ABI_MAJOR && (DEPUTY_ABI_MAJOR != 0 || host_abi == DEPUTY_ABI_VERSION);
}

template <class... Records>
std::unique_ptr<Plugin> MakePlugin(Records&&... made) {
  std::vector<std::unique_ptr<Record>> records;
  (records.push_back(std::forward<Records>(made)), ...);
  return std::make_unique<Plugin>(DEPUTY_PLUGIN_ID, DEPUTY_PLUGIN_VENDOR, DEPUTY_PLUGIN_VERSION, std::move(records));
}

// The tables are never destroyed: the host may ask until the process ends.
template <class Make>
const deputy_plugin* Query(uint32_t host_abi, Make make) noexcept {
  if (!CanServe(host_abi)) return nullptr;
  try {
    static const Plugin* const plugin = make().release();
    return plugin->table();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace detail

// A plugin around one object of the application's. `plugin` lives as long as `keep`.
struct InProcessPlugin {
  std::shared_ptr<void> keep;
  const deputy_plugin* plugin = nullptr;
  std::string delegate_id;
};

// Every instance that is opened on it shares the object; Init runs at the first open, with the options of that open.
// Found by argument-dependent lookup: MakeInProcessPlugin(std::make_shared<MyDelegate>()).
template <class D, class = std::enable_if_t<std::is_base_of_v<DelegateBase, D>>>
InProcessPlugin MakeInProcessPlugin(std::shared_ptr<D> delegate, std::string id = "in_process") {
  auto holder = std::make_shared<detail::Holder>();
  holder->delegate = std::move(delegate);
  std::vector<std::unique_ptr<detail::Record>> records;
  records.push_back(detail::MakeRecord<D>(id, "in the application", [holder] { return holder; }));
  const auto plugin = std::make_shared<detail::Plugin>(id, "", "", std::move(records));
  return {plugin, plugin->table(), std::move(id)};
}

}  // namespace deputy::sdk

// DEPUTY_EXPORT_DELEGATES(DEPUTY_DELEGATE(MyNpu, "my_npu", "NPU of the X1"), DEPUTY_DELEGATE(MyDsp, "my_dsp", "..."))
#define DEPUTY_DELEGATE(Class, id, description) ::deputy::sdk::detail::MakeRecord<Class>(id, description)
#define DEPUTY_EXPORT_DELEGATES(...)                                                                       \
  extern "C" DEPUTY_EXPORT const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void*);    \
  extern "C" DEPUTY_EXPORT const deputy_plugin* deputy_plugin_query_v1(uint32_t host_abi, const void*) {   \
    return ::deputy::sdk::detail::Query(host_abi, [] { return ::deputy::sdk::detail::MakePlugin(__VA_ARGS__); }); \
  }
#define DEPUTY_EXPORT_DELEGATE(Class, id, description) DEPUTY_EXPORT_DELEGATES(DEPUTY_DELEGATE(Class, id, description))
