// A plugin that a worker process serves, as a table like that of any other plugin: each function of it, of its
// delegates and of their extensions is a call to the worker. Only functions that the real plugin has are there.
//
// A failure of the real function comes back as it is. Beside these, every function that returns a status may return
// DEVICE_LOST when the worker has ended, with how, and INTERNAL when it broke the protocol, after which it is ended.
// Functions that end an object always return.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "deputy/abi/delegate.h"
#include "isolation/remote_delegate.hpp"
#include "isolation/worker_link.hpp"

namespace deputy::host {

class RemotePlugin {
 public:
  // Starts the worker, which loads the library and calls its entry function.
  static Result<std::shared_ptr<RemotePlugin>> Start(const RemotePluginOptions& options);
  ~RemotePlugin();
  RemotePlugin(const RemotePlugin&) = delete;
  RemotePlugin& operator=(const RemotePlugin&) = delete;

  // For LoadedPlugin::Adopt or PluginRegistry::AddInProcess, with this as what is kept. Its delegates are known once
  // init has returned.
  const deputy_plugin* table() const { return &table_; }
  WorkerLink& link() { return *link_; }

 private:
  RemotePlugin() = default;
  Status FillTable();
  CallResult Describe(const deputy_host* host);

  static RemotePlugin& Of(const deputy_plugin* self) { return *static_cast<RemotePlugin*>(self->impl); }
  static deputy_status* Init(const deputy_plugin* self, const deputy_host* host);
  static void Shutdown(const deputy_plugin* self);

  std::unique_ptr<WorkerLink> link_;
  deputy_plugin table_{};
  const deputy_host* host_ = nullptr;  // of init
  std::unique_ptr<Received<Reply<PluginForm>>> form_;
  std::vector<std::unique_ptr<RemoteDelegate>> delegates_;
};

}  // namespace deputy::host
