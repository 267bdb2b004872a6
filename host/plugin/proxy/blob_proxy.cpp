// Compiled blobs of a plugin's delegate: the functions of DelegateProxy and ExecutableProxy for ext/blob.h.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "plugin/checks/text.hpp"
#include "plugin/proxy/delegate_proxy.hpp"
#include "plugin/proxy/executable_proxy.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMaxCompatibility = 1024;  // with its NUL

// Collects the bytes that an executable writes, up to a limit.
struct BlobCollector {
  const deputy_host& host;
  size_t limit;
  std::vector<uint8_t> bytes;
  std::string fault;

  deputy_status* Take(const void* data, uint64_t size) {
    if (size > limit - bytes.size()) {
      const std::string message = fmt::format("the blob exceeds the maximum of {} bytes", limit);
      return host.status_new(host.self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, message.data(), message.size());
    }
    if (data == nullptr && size != 0) fault = "it writes bytes from NULL";
    if (size == 0 || data == nullptr) return nullptr;
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
    return nullptr;
  }

  static deputy_status* Write(void* self, const void* data, uint64_t size) {
    auto& collector = *static_cast<BlobCollector*>(self);
    try {
      return collector.Take(data, size);
    } catch (...) {  // nothing may be thrown through the plugin
      return collector.host.status_new(collector.host.self, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "", 0);
    }
  }
};

// A blob lent to the plugin. It lives as long as the executable restored from it, and counts its releases.
struct LentBlob {
  Blob blob;
  std::shared_ptr<const OpenedDelegate> opened;
  std::atomic<uint32_t> released{0};

  ~LentBlob() {
    if (released.load() == 0) opened->LogFault("restore", "its blob was never released");
  }

  static void Release(void* owner) {
    auto* lent = static_cast<LentBlob*>(owner);
    if (lent->released.fetch_add(1) != 0) return lent->opened->LogFault("restore", "it releases its blob twice");
    lent->blob = Blob();
  }
};

}  // namespace

DelegateIdentity DelegateProxy::identity() const {
  const deputy_plugin& plugin = opened_->plugin().table();
  DelegateIdentity identity;
  identity.plugin.assign(plugin.id.data, plugin.id.size);
  identity.version = CopyText(plugin.version, 256).text;
  identity.build = opened_->plugin().BuildIdText();
  identity.delegate = id_;
  identity.device = opened_->device();
  identity.driver = opened_->driver();
  identity.options = options();
  if (opened_->precision() != DEPUTY_DTYPE_UNDEFINED)
    identity.options.emplace_back("precision:", NameOf(static_cast<DType>(opened_->precision())));
  return identity;
}

Result<BlobMaker> DelegateProxy::blob_maker() {
  const deputy_ext_blob* blobs = opened_->blob();
  std::array<char, kMaxCompatibility> buffer{};
  uint64_t size = 0;
  DEPUTY_RETURN_IF_ERROR(opened_->CallLoading("compatibility", nullptr, [&] {
    return blobs->compatibility(opened_->instance(), buffer.data(), buffer.size(), &size);
  }));
  if (size >= buffer.size())
    return opened_->Fault("compatibility", fmt::format("it wrote {} bytes into {}", size, buffer.size()));
  const CopiedText compatibility = CopyText({buffer.data(), size}, kMaxCompatibility);
  if (!compatibility.fault.empty()) return opened_->Fault("compatibility", "its text " + compatibility.fault);
  return BlobMaker{identity(), compatibility.text};
}

Status DelegateProxy::CheckBlob(const std::string& compatibility) {
  const deputy_ext_blob* blobs = opened_->blob();
  if (blobs->check == nullptr) {
    DEPUTY_ASSIGN_OR_RETURN(const BlobMaker maker, blob_maker());
    if (maker.compatibility == compatibility) return {};
    return Error(StatusCode::kIncompatible, "the blob was made for '{}', but this is '{}'", compatibility,
                 maker.compatibility);
  }
  const deputy_delegate* table = &opened_->table();
  return opened_->CallLoading("check", nullptr, [&] {
    return blobs->check(table, opened_->host(), {compatibility.c_str(), compatibility.size()});
  });
}

Result<std::shared_ptr<const Executable>> DelegateProxy::Restore(const GraphView& view, const PartitionSpec& partition,
                                                                 Blob blob) {
  const deputy_ext_blob* blobs = opened_->blob();
  auto graph = std::make_shared<const deputy_graph>(GraphForm::Of(view), opened_->handle_tracker(),
                                                    opened_->streams_constants());
  auto lent = std::make_shared<LentBlob>();
  lent->blob = std::move(blob);
  lent->opened = opened_;
  const std::span<const uint8_t> bytes = lent->blob.bytes;
  const deputy_blob given{sizeof given, 0, bytes.data(), bytes.size(), lent.get(), LentBlob::Release};
  const CompileCall call(*opened_, *graph, partition);
  const auto proxy = std::make_shared<ExecutableProxy>(opened_, graph, nullptr, partition, std::move(lent));
  const auto restore = [&](deputy_executable** to) {
    return blobs->restore(opened_->instance(), call.args(), &given, to);
  };
  DEPUTY_RETURN_IF_ERROR(
      opened_->CallLoading("restore", graph.get(), [&] { return MakeOwn(proxy->own(), restore); }, {proxy->place()}));
  if (proxy->handle() == nullptr) return opened_->Fault("restore", "it succeeded without an executable");
  return std::shared_ptr<const Executable>(proxy);
}

Result<std::vector<uint8_t>> ExecutableProxy::Serialize(size_t limit) const {
  const deputy_ext_blob* blobs = opened_->blob();
  if (blobs == nullptr) return Executable::Serialize(limit);
  BlobCollector collector{*opened_->host(), limit, {}, {}};
  const deputy_blob_sink sink{sizeof sink, 0, &collector, BlobCollector::Write};
  DEPUTY_RETURN_IF_ERROR(opened_->Call("serialize", graph(), [&] { return blobs->serialize(executable_, &sink); }));
  if (!collector.fault.empty()) return opened_->Fault("serialize", collector.fault);
  if (collector.bytes.empty()) return opened_->Fault("serialize", "it succeeded without writing any bytes");
  return std::move(collector.bytes);
}

}  // namespace deputy::host
