// Memory of the device of a plugin's delegate: its buffers and copies, and the check of its wishes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "delegate/delegate.hpp"
#include "memory/device_memory.hpp"
#include "plugin/proxy/opened_delegate.hpp"

namespace deputy::host {

class DeviceMemoryProxy final : public DeviceMemory {
 public:
  // The delegate has the extension.
  explicit DeviceMemoryProxy(std::shared_ptr<const OpenedDelegate> opened) : opened_(std::move(opened)) {}

  uint64_t domain() const override { return opened_->domain(); }
  uint64_t losses() const override { return opened_->device_losses().load(); }
  void CountLoss(uint64_t seen) override { opened_->device_losses().compare_exchange_strong(seen, seen + 1); }
  Result<uint64_t> Allocate(size_t bytes, size_t alignment) override;
  Result<uint64_t> Import(const MemoryFilePart& part) override;
  void Release(uint64_t handle) override;
  Status CopyIn(const void* from, uint64_t handle, size_t bytes) override;
  Status CopyOut(uint64_t handle, void* to, size_t bytes) override;

 private:
  // The name of a new buffer, if it is one.
  Result<uint64_t> Named(const char* function, uint64_t handle) const;
  Status Copy(const deputy_copy_side& from, const deputy_copy_side& to, size_t bytes);

  const std::shared_ptr<const OpenedDelegate> opened_;
};

// What the delegate answers for a tensor of a context, `tensor` being the host's own form of it; faults are logged, and
// what this host does not offer is as no wish.
MemoryWish AskWish(const OpenedDelegate& opened, deputy_context* context, size_t index, const deputy_tensor& tensor);

}  // namespace deputy::host
