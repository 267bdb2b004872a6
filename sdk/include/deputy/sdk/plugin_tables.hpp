// The constant tables that a plugin shows: one per delegate, made from the delegate's class, and one for the plugin.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "deputy/sdk/delegate.hpp"
#include "deputy/sdk/placement_thunks.hpp"
#include "deputy/sdk/thunks.hpp"
#include "deputy/sdk/trait_names.hpp"

namespace deputy::sdk {
namespace detail {

// True if D reports a clock. An abstract D is a static type whose real class is not known.
template <class D>
constexpr bool ControlsDevice() {
  return std::is_abstract_v<D> || !std::is_same_v<decltype(&D::device_state), decltype(&DelegateBase::device_state)>;
}

template <class D, class = void>
struct ChecksBlobs : std::false_type {};
template <class D>
struct ChecksBlobs<D, std::void_t<decltype(D::CheckBlob(std::declval<const Host&>(), std::string_view()))>>
    : std::true_type {};

// The newest definition of each domain that the SDK's list has.
inline std::vector<deputy_opset> KnownOpsets() {
  std::vector<deputy_opset> opsets;
  for (const OperatorRow& row : kOperatorRows) {
    auto known = opsets.begin();
    while (known != opsets.end() && ToView(known->domain) != row.domain) ++known;
    if (known == opsets.end()) known = opsets.insert(known, {ToStr(row.domain), 0, 0});
    known->version = std::max(known->version, static_cast<uint32_t>(row.newest_definition));
  }
  return opsets;
}

template <class D>
std::unique_ptr<Record> MakeRecord(std::string id, std::string description,
                                   std::function<std::shared_ptr<Holder>()> make) {
  static_assert(std::is_base_of_v<DelegateBase, D>, "a delegate derives from Delegate or PartitionDelegate");
  static_assert(CheckTraits<D>(), "a trait of the delegate is wrong");
  auto record = std::make_unique<Record>();
  record->id = std::move(id);
  record->description = std::move(description);
  record->schema = D::Options();
  for (const OptionSchema::Option& option : record->schema.options()) record->option_infos.push_back(option.Info());
  record->proposes = std::is_base_of_v<Delegate, D>;
  record->controls_device = ControlsDevice<D>();
  record->probe = [](const Host& host) { return D::Probe(host); };
  AddPlacement<D>(*record);
  record->reads_precision = D::kReadsPrecision;
  record->make = std::move(make);
  record->extensions = D::kExtensions;
  record->operators = D::Operators();
  if constexpr (ChecksBlobs<D>::value)
    record->check_blob = [](const Host& host, std::string_view text) { return D::CheckBlob(host, text); };
  ExtensionThunks::FillTables(*record);
  record->options = {sizeof record->options, 0, Thunks::OptionCount, Thunks::OptionAt, Thunks::GetOption, nullptr};
  for (const OptionSchema::Option& option : record->schema.options())
    if (option.settable) record->options.set_option = Thunks::SetOption;
  record->opsets = KnownOpsets();
  deputy_delegate& table = record->table;
  table.struct_size = sizeof table;
  table.flags = record->proposes ? D::kFlags | DEPUTY_DELEGATE_SERIAL : D::kFlags;
  table.id = ToStr(record->id);
  table.description = ToStr(record->description);
  table.impl = record.get();
  table.opsets = record->opsets.data();
  table.opset_count = record->opsets.size();
  table.probe = Thunks::Probe;
  table.get_extension = Thunks::GetExtension;
  table.open = Thunks::Open;
  table.close = Thunks::Close;
  table.query_support = Thunks::QuerySupport;
  table.compile = Thunks::Compile;
  table.executable_destroy = Thunks::ExecutableDestroy;
  table.context_create = Thunks::ContextCreate;
  table.context_destroy = Thunks::ContextDestroy;
  table.scratch_size = Thunks::ScratchSize;
  table.execute = Thunks::Execute;
  table.cancel = Thunks::Cancel;
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
    table_.min_host_abi = DEPUTY_ABI_MIN_HOST;
    table_.id = ToStr(id_);
    table_.vendor = ToStr(vendor_);
    table_.version = ToStr(version_);
    table_.impl = this;
    table_.init = [](const deputy_plugin*, const deputy_host* host) noexcept -> deputy_status* {
      if (DEPUTY_HAS(host, deputy_host, clock_ns)) return nullptr;
      return Host(host).Make(Status(Code::kFailedPrecondition, "the host's table lacks functions of ABI 0.2"));
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

// Before 1.0 only hosts of the same minor version are supported; afterwards an older host of the same major version is
// too old only if it lacks functions, which init checks.
constexpr bool CanServe(uint32_t host_abi) {
  return (host_abi >> 16) == DEPUTY_ABI_MAJOR && host_abi >= DEPUTY_ABI_MIN_HOST &&
         (DEPUTY_ABI_MAJOR != 0 || host_abi == DEPUTY_ABI_VERSION);
}

}  // namespace detail
}  // namespace deputy::sdk
