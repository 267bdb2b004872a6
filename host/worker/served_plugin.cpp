#include "worker/served_plugin.hpp"

#include <fmt/format.h>

#include <string_view>

#include "plugin/checks/plugin_code.hpp"
#include "plugin/discovery/manifest.hpp"
#include "plugin/discovery/plugin_file.hpp"
#include "plugin/discovery/table_check.hpp"
#include "worker/sandbox.hpp"

namespace deputy::host {
namespace {

// More rows than a host reads.
constexpr uint32_t kMostRows = 4097;

// The table of an extension, with the functions that it has, in the order in which they are given.
template <class T, class... Functions>
const T* Find(const deputy_delegate& delegate, const char* id, TableForm& form, Functions T::*... functions) {
  const void* found = nullptr;
  if (!DEPUTY_HAS_FN(&delegate, deputy_delegate, get_extension) ||
      !Returned(SiteOf(delegate.get_extension, "get_extension"),
                [&] { found = delegate.get_extension(&delegate, id); }))
    return nullptr;
  const T* table = static_cast<const T*>(found);
  if (table == nullptr) return nullptr;
  form.present = true;
  form.struct_size = table->struct_size;
  uint32_t bit = 1;
  const auto look = [&](const auto& function) {
    const auto end = reinterpret_cast<const char*>(&function + 1) - reinterpret_cast<const char*>(table);
    if (static_cast<size_t>(end) <= table->struct_size && function != nullptr) form.functions |= bit;
    bit <<= 1;
  };
  (look(table->*functions), ...);
  return table;
}

template <class Table, class T>
void ReadRows(const deputy_delegate& delegate, const Table* table, const TableForm& form,
              uint32_t (*Table::*count)(const deputy_delegate*),
              const T* (*Table::*at)(const deputy_delegate*, uint32_t), Rows<T>& rows) {
  constexpr uint32_t kBoth = 3;
  if (table == nullptr || (form.functions & kBoth) != kBoth) return;
  (void)Returned(SiteOf(table->*count, "count"), [&] { rows.counted = (table->*count)(&delegate); });
  for (uint32_t i = 0; i < rows.counted && i < kMostRows; ++i) {
    const T* row = nullptr;
    (void)Returned(SiteOf(table->*at, "at"), [&] { row = (table->*at)(&delegate, i); });
    rows.rows.push_back(row);
  }
}

}  // namespace

std::pair<uint64_t, bool> ServedClaims::Add(void* handle, std::shared_ptr<Keep> keep) {
  static std::atomic<uint64_t> last{0};
  const std::lock_guard lock(mutex_);
  const auto [found, added] = tokens_.try_emplace(handle, 0);
  if (added) {
    found->second = ++last;
    claims_.emplace(found->second, std::pair{handle, std::move(keep)});
  }
  return {found->second, added};
}

std::pair<void*, std::shared_ptr<Keep>> ServedClaims::Find(uint64_t token) {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find(token);
  return found == claims_.end() ? std::pair<void*, std::shared_ptr<Keep>>() : found->second;
}

void ServedClaims::Remove(uint64_t token) {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find(token);
  if (found == claims_.end()) return;
  tokens_.erase(found->second.first);
  claims_.erase(found);
}

void InputRegions::Set(const RegionForm& form, std::unique_ptr<Mapping> bytes) {
  const std::lock_guard lock(mutex_);
  if (form.region >= regions_.size()) regions_.resize(size_t{form.region} + 1);
  regions_[form.region] = {form.id, std::move(bytes)};
}

void InputRegions::Free(const RegionForm& form) {
  const std::lock_guard lock(mutex_);
  if (form.region < regions_.size() && regions_[form.region].id == form.id) regions_[form.region] = {};
}

uint8_t* InputRegions::At(uint32_t number, uint64_t offset, uint64_t size) {
  const std::lock_guard lock(mutex_);
  if (number >= regions_.size() || regions_[number].bytes == nullptr) return nullptr;
  const Mapping& bytes = *regions_[number].bytes;
  return offset > bytes.size() || size > bytes.size() - offset ? nullptr : bytes.data() + offset;
}

ServedBlob::~ServedBlob() {
  constexpr std::string_view kText = "restore: its blob was never released";
  if (released.load() == 0) host->log(host->self, DEPUTY_LOG_WARNING, kText.data(), kText.size());
}

void ServedBlob::Release(void* owner) {
  auto& blob = *static_cast<ServedBlob*>(owner);
  constexpr std::string_view kText = "restore: it releases its blob twice";
  if (blob.released.fetch_add(1) == 0)
    blob.bytes.reset();
  else
    blob.host->log(blob.host->self, DEPUTY_LOG_WARNING, kText.data(), kText.size());
}

Checked<ServedPlugin*> ServedPlugin::Load(const std::filesystem::path& path, bool sandbox) {
  DEPUTY_ASSIGN_OR_REJECT(const std::unique_ptr<PluginFile> file, PluginFile::Open(path));
  DEPUTY_ASSIGN_OR_REJECT(const Manifest manifest, ReadManifest(*file, ThisHost()));
  ApplyEnvironment(manifest);
  if (sandbox)
    if (auto rejection = EnterSandbox(path, manifest.devices)) return *std::move(rejection);
  std::unique_ptr<ServedPlugin> plugin(new ServedPlugin);
  DEPUTY_ASSIGN_OR_REJECT(plugin->library_, Library::Open(path, PluginLabel(manifest.id, path.filename().string())));
  DEPUTY_ASSIGN_OR_REJECT(plugin->table_, QueryTable(plugin->library_->entry()));
  const std::string_view id(plugin->table_->id.data, plugin->table_->id.size);
  if (id != manifest.id)
    return Rejection{RejectReason::kBadTable,
                     fmt::format("calls itself '{}', but its manifest says '{}'", id, manifest.id)};
  plugin->hosts_ = std::make_unique<WorkerHosts>(manifest.id);
  return plugin.release();
}

Hello ServedPlugin::Greeting() const {
  Hello hello;
  hello.abi_version = table_->abi_version;
  hello.min_host_abi = table_->min_host_abi;
  hello.flags = table_->flags;
  hello.id = table_->id;
  hello.vendor = table_->vendor;
  hello.plugin_version = table_->version;
  hello.has_init = table_->init != nullptr;
  hello.has_shutdown = table_->shutdown != nullptr;
  hello.has_get_extension = table_->get_extension != nullptr;
  return hello;
}

std::string ServedPlugin::Describe(PluginForm& form) {
  const auto tables = DelegateTables(*table_);
  if (const Rejection* rejection = RejectionOf(tables)) return rejection->text;
  delegates_.clear();
  for (const deputy_delegate* raw : std::get<0>(tables)) {
    const deputy_delegate whole = Whole(*raw);
    DelegateForm& made = form.delegates.emplace_back();
    made.flags = whole.flags;
    made.id = whole.id;
    made.description = whole.description;
    made.opsets = whole.opsets;
    made.opset_count = whole.opset_count;
    made.has_probe = whole.probe != nullptr;
    made.has_get_extension = whole.get_extension != nullptr;
    made.has_scratch_size = whole.scratch_size != nullptr;
    made.has_cancel = whole.cancel != nullptr;
    ServedDelegate served;
    served.table = raw;
    using Async = deputy_ext_async;
    served.async = Find(*raw, DEPUTY_EXT_ASYNC, made.async, &Async::submit, &Async::poll, &Async::wait, &Async::cancel,
                        &Async::run_destroy);
    if (served.async != nullptr) made.async.flags = served.async->flags;
    served.blob = Find(*raw, DEPUTY_EXT_BLOB, made.blob, &deputy_ext_blob::compatibility, &deputy_ext_blob::check,
                       &deputy_ext_blob::serialize, &deputy_ext_blob::restore);
    if (served.blob != nullptr) made.blob.flags = served.blob->flags;
    using Capabilities = deputy_ext_capabilities;
    served.capabilities = Find(*raw, DEPUTY_EXT_CAPABILITIES, made.capabilities, &Capabilities::capability_count,
                               &Capabilities::capability_at);
    served.concurrency = Find(*raw, DEPUTY_EXT_CONCURRENCY, made.concurrency, &deputy_ext_concurrency::concurrency);
    served.device_control =
        Find(*raw, DEPUTY_EXT_DEVICE_CONTROL, made.device_control, &deputy_ext_device_control::device_state);
    served.devices = Find(*raw, DEPUTY_EXT_DEVICES, made.devices, &deputy_ext_devices::enumerate);
    served.estimate = Find(*raw, DEPUTY_EXT_ESTIMATE, made.estimate, &deputy_ext_estimate::estimate);
    using Memory = deputy_ext_memory;
    served.memory = Find(*raw, DEPUTY_EXT_MEMORY, made.memory, &Memory::wish_of, &Memory::allocate, &Memory::release,
                         &Memory::copy, &Memory::import);
    if (served.memory != nullptr && DEPUTY_HAS_FN(served.memory, deputy_ext_memory, import))
      made.memory_imports = served.memory->imports;
    using Operators = deputy_ext_operators;
    served.operators = Find(*raw, DEPUTY_EXT_OPERATORS, made.operators, &Operators::operator_count,
                            &Operators::operator_at, &Operators::infer, &Operators::compute);
    using Options = deputy_ext_options;
    served.options = Find(*raw, DEPUTY_EXT_OPTIONS, made.options, &Options::option_count, &Options::option_at,
                          &Options::get_option, &Options::set_option);
    using Profiling = deputy_ext_profiling;
    served.profiling = Find(*raw, DEPUTY_EXT_PROFILING, made.profiling, &Profiling::debug_map,
                            &Profiling::set_profiling, &Profiling::collect, &Profiling::correlate);
    using Propose = deputy_ext_propose;
    served.propose =
        Find(*raw, DEPUTY_EXT_PROPOSE, made.propose, &Propose::propose, &Propose::claim_release, &Propose::groups);
    served.resize = Find(*raw, DEPUTY_EXT_RESIZE, made.resize, &deputy_ext_resize::resize);
    using Scheduling = deputy_ext_scheduling;
    served.scheduling = Find(*raw, DEPUTY_EXT_SCHEDULING, made.scheduling, &Scheduling::limits, &Scheduling::choose);
    ReadRows(*raw, served.capabilities, made.capabilities, &Capabilities::capability_count,
             &Capabilities::capability_at, made.capability_rows);
    ReadRows(*raw, served.operators, made.operators, &Operators::operator_count, &Operators::operator_at,
             made.operator_rows);
    ReadRows(*raw, served.options, made.options, &Options::option_count, &Options::option_at, made.option_rows);
    delegates_.push_back(served);
  }
  form.counted = static_cast<uint32_t>(form.delegates.size());
  return {};
}

}  // namespace deputy::host
