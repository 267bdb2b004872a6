#include "plugin/proxy/device_memory_proxy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/file.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kHostAlignment = 64;

deputy_copy_side BufferSide(uint64_t handle) { return {sizeof(deputy_copy_side), 0, nullptr, handle, 0}; }
deputy_copy_side HostSide(const void* data) { return {sizeof(deputy_copy_side), 0, const_cast<void*>(data), 0, 0}; }

bool AreOneFile(int a, int b) {
  struct stat of_a {
  }, of_b{};
  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

}  // namespace

Result<uint64_t> DeviceMemoryProxy::Allocate(size_t bytes, size_t alignment) {
  deputy_buffer_request request{};
  request.struct_size = sizeof request;
  request.uses = DEPUTY_BUFFER_CPU_READS | DEPUTY_BUFFER_CPU_WRITES;
  request.byte_size = bytes;
  request.alignment = alignment;
  uint64_t handle = 0;
  DEPUTY_RETURN_IF_ERROR(opened_->Call(
      "allocate", nullptr, [&] { return opened_->memory()->allocate(opened_->instance(), &request, &handle); }));
  return Named("allocate", handle);
}

Result<uint64_t> DeviceMemoryProxy::Named(const char* function, uint64_t handle) const {
  if (handle == 0) return opened_->Fault(function, "it succeeded without a buffer");
  if (!opened_->buffer_names().Add(handle))
    return opened_->Fault(function, fmt::format("it gave a buffer the name {} of one that is not released", handle));
  return handle;
}

Result<uint64_t> DeviceMemoryProxy::Import(const MemoryFilePart& part) {
  const deputy_ext_memory& table = *opened_->memory();
  if (table.import == nullptr || (table.imports & (1u << DEPUTY_MEMORY_HANDLE_MEMFD)) == 0)
    return DeviceMemory::Import(part);
  // The application's own stays open regardless of what the plugin does with this one.
  Descriptor lent(fcntl(part.file, F_DUPFD_CLOEXEC, 0));
  if (lent.get() < 0) return Error(StatusCode::kResourceExhausted, "no descriptor: {}", std::strerror(errno));
  deputy_shared_buffer buffer{};
  buffer.struct_size = sizeof buffer;
  buffer.kind = DEPUTY_MEMORY_HANDLE_MEMFD;
  buffer.handle = lent.get();
  buffer.offset = part.offset;
  buffer.byte_size = part.bytes;
  uint64_t handle = 0;
  const Status status =
      opened_->Call("import", nullptr, [&] { return table.import(opened_->instance(), &buffer, &handle); });
  if (!AreOneFile(lent.get(), part.file)) {
    (void)lent.Release();  // the number may be that of another file by now
    return opened_->Fault("import", "it closed the descriptor of the memory, which is the host's");
  }
  DEPUTY_RETURN_IF_ERROR(status);
  return Named("import", handle);
}

void DeviceMemoryProxy::Release(uint64_t handle) {
  // Before it may be given again.
  opened_->buffer_names().Remove(handle);
  opened_->CallVoid("release", [&] { opened_->memory()->release(opened_->instance(), handle); });
}

Status DeviceMemoryProxy::CopyIn(const void* from, uint64_t handle, size_t bytes) {
  return Copy(HostSide(from), BufferSide(handle), bytes);
}

Status DeviceMemoryProxy::CopyOut(uint64_t handle, void* to, size_t bytes) {
  return Copy(BufferSide(handle), HostSide(to), bytes);
}

Status DeviceMemoryProxy::Copy(const deputy_copy_side& from, const deputy_copy_side& to, size_t bytes) {
  deputy_copy_args args{};
  args.struct_size = sizeof args;
  args.from = &from;
  args.to = &to;
  args.byte_size = bytes;
  deputy_async_run* run = nullptr;
  DEPUTY_RETURN_IF_ERROR(
      opened_->Call("copy", nullptr, [&] { return opened_->memory()->copy(opened_->instance(), &args, &run); }));
  if (run != nullptr) return opened_->Fault("copy", "it left a copy under way that had to end in the call");
  return {};
}

MemoryWish AskWish(const OpenedDelegate& opened, deputy_context* context, size_t index, const deputy_tensor& tensor) {
  deputy_memory_wish wish{};
  wish.struct_size = sizeof wish;
  wish.memory = DEPUTY_MEMORY_HOST;
  wish.layout = DEPUTY_LAYOUT_DENSE;
  wish.alignment = kHostAlignment;
  wish.byte_size = tensor.byte_size;
  const Status status = opened.Call(
      "wish_of", nullptr, [&] { return opened.memory()->wish_of(context, static_cast<uint32_t>(index), &wish); });
  if (status.code() == StatusCode::kNotSupported) return {};
  if (!status.ok()) {
    opened.LogFault("wish_of", status.message());
    return {};
  }
  if (wish.memory > DEPUTY_MEMORY_DEVICE || wish.layout > DEPUTY_LAYOUT_OPAQUE ||
      !std::has_single_bit(wish.alignment) || wish.byte_size < tensor.byte_size) {
    opened.LogFault("wish_of",
                    fmt::format("it wants tensor {} in memory of kind {} and layout {}, {} bytes aligned to "
                                "{}, which no tensor of {} bytes can be",
                                index, wish.memory, wish.layout, wish.byte_size, wish.alignment, tensor.byte_size));
    return {};
  }
  if (wish.memory != DEPUTY_MEMORY_DEVICE || wish.layout != DEPUTY_LAYOUT_DENSE) return {};
  return {true, wish.byte_size, wish.alignment};
}

}  // namespace deputy::host
