#include "isolation/remote_plugin.hpp"

#include <fmt/format.h>

#include <utility>

#include "isolation/call.hpp"

namespace deputy::host {

Result<std::shared_ptr<RemotePlugin>> RemotePlugin::Start(const RemotePluginOptions& options) {
  std::shared_ptr<RemotePlugin> plugin(new RemotePlugin);
  DEPUTY_ASSIGN_OR_RETURN(plugin->link_, WorkerLink::Start(options));
  DEPUTY_RETURN_IF_ERROR(plugin->FillTable());
  return plugin;
}

RemotePlugin::~RemotePlugin() = default;

Status RemotePlugin::FillTable() {
  const Hello& hello = link_->hello();
  table_.struct_size = sizeof table_;
  table_.abi_version = hello.abi_version;
  table_.min_host_abi = hello.min_host_abi;
  table_.flags = hello.flags;
  table_.id = hello.id;
  table_.vendor = hello.vendor;
  table_.version = hello.plugin_version;
  table_.impl = this;
  if (hello.has_init) table_.init = Init;
  if (hello.has_shutdown) table_.shutdown = Shutdown;
  table_.delegate_count = [](const deputy_plugin* self) -> uint32_t {
    const RemotePlugin& plugin = Of(self);
    return plugin.form_ == nullptr ? 0 : (*plugin.form_)->payload.counted;
  };
  table_.delegate_at = [](const deputy_plugin* self, uint32_t index) -> const deputy_delegate* {
    const RemotePlugin& plugin = Of(self);
    return index < plugin.delegates_.size() ? plugin.delegates_[index]->table() : nullptr;
  };
  // The ABI has no extension of a plugin yet, and one that this host does not know cannot be served.
  if (hello.has_get_extension)
    table_.get_extension = [](const deputy_plugin*, const char*) -> const void* { return nullptr; };
  if (hello.has_init) return {};
  const CallResult result = Describe(nullptr);
  if (result.failed) return Status(StatusCode::kPlugin, PrintableReason(result.message)).At(link_->label());
  return {};
}

CallResult RemotePlugin::Describe(const deputy_host* host) {
  if (form_ != nullptr) return {};
  CallScope scope;
  scope.host = host;
  RemoteCall call(*link_, Function::kDescribe, scope);
  std::unique_ptr<Received<Reply<PluginForm>>> form;
  CallResult result = call.Make(Nothing(), form);
  if (result.failed) return result;
  form_ = std::move(form);
  for (DelegateForm& delegate : (*form_)->payload.delegates)
    delegates_.push_back(std::make_unique<RemoteDelegate>(*link_, static_cast<uint32_t>(delegates_.size()), delegate));
  return {};
}

deputy_status* RemotePlugin::Init(const deputy_plugin* self, const deputy_host* host) {
  return ForHost(host, [&] {
    RemotePlugin& plugin = Of(self);
    const HostForm form = FormOf(host);
    plugin.link_->RememberHost(form.key, host);
    plugin.host_ = host;
    CallScope scope;
    scope.host = host;
    CallResult result;
    {
      RemoteCall call(*plugin.link_, Function::kInit, scope);
      result = call.Make(form);
    }
    if (!result.failed) result = plugin.Describe(host);
    if (result.failed) plugin.link_->ForgetHost(form.key);
    return result;
  });
}

void RemotePlugin::Shutdown(const deputy_plugin* self) {
  RemotePlugin& plugin = Of(self);
  CallScope scope;
  scope.host = plugin.host_;
  {
    RemoteCall call(*plugin.link_, Function::kShutdown, scope);
    (void)call.Make(Nothing());
  }
  if (plugin.host_ != nullptr) plugin.link_->ForgetHost(reinterpret_cast<uintptr_t>(plugin.host_));
}

Result<RemoteTable> ServePlugin(const RemotePluginOptions& options) {
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<RemotePlugin> plugin, RemotePlugin::Start(options));
  return RemoteTable{plugin->table(), [plugin] { return plugin->link().has_ended(); },
                     [plugin] { return plugin->link().OwnFault(); }, [plugin] { return plugin->link().fault_limits(); },
                     plugin};
}

}  // namespace deputy::host
