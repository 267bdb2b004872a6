// Memory of a device in a worker process: its buffers have the names that the worker gave them.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "isolation/remote_delegate.hpp"

namespace deputy::host {
namespace {

deputy_status* WishOf(deputy_context* self, uint32_t index, deputy_memory_wish* wish) {
  const RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    std::unique_ptr<Received<Reply<deputy_memory_wish>>> made;
    CallResult result =
        CallObject(context.instance, Function::kWishOf, context.token, IndexedWish{index, Whole(*wish)}, {}, made);
    if (result.failed) return result;
    const deputy_memory_wish& full = (*made)->payload;
    wish->memory = full.memory;
    wish->layout = full.layout;
    wish->layout_tag = full.layout_tag;
    wish->alignment = full.alignment;
    wish->byte_size = full.byte_size;
    return result;
  });
}

deputy_status* Allocate(deputy_instance* self, const deputy_buffer_request* request, uint64_t* handle) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    std::unique_ptr<Received<Reply<WireNumber>>> number;
    CallResult result = CallObject(instance, Function::kAllocateBuffer, instance.token, Whole(*request), {}, number);
    if (!result.failed) *handle = (*number)->payload.value;
    return result;
  });
}

// A file of memory goes along; its number is this process's own.
deputy_status* Import(deputy_instance* self, const deputy_shared_buffer* buffer, uint64_t* handle) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    if (buffer->kind != DEPUTY_MEMORY_HANDLE_MEMFD)
      return CallResult::Failure(DEPUTY_NOT_SUPPORTED, "a worker process imports memory of memfd_create only");
    const auto file = static_cast<int>(buffer->handle);
    if (fcntl(file, F_GETFD) < 0)
      return CallResult::Failure(DEPUTY_INVALID_ARGUMENT, fmt::format("{} is no open descriptor", buffer->handle));
    CallScope scope;
    scope.host = instance.host;
    RemoteCall call(instance.delegate.link(), Function::kImportBuffer, scope);
    call.Attach(file);
    std::unique_ptr<Received<Reply<WireNumber>>> number;
    CallResult result = call.Make(ObjectCall<TwoNumbers>{instance.token, {buffer->offset, buffer->byte_size}}, number);
    if (!result.failed) *handle = (*number)->payload.value;
    return result;
  });
}

void Release(deputy_instance* self, uint64_t handle) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  (void)CallObject(instance, Function::kReleaseBuffer, instance.token, WireNumber{handle});
}

// Host memory travels in the channel's region, behind an unused part, so that the place 0 is none.
deputy_status* Copy(deputy_instance* self, const deputy_copy_args* args, deputy_async_run**) {
  const RemoteInstance& instance = RemoteInstance::Of(self);
  return ForHost(instance.host, [&] {
    const void* const from = args->from->data;
    void* const to = args->to->data;
    if (args->sink != nullptr || args->wait_count != 0 || (from != nullptr && to != nullptr))
      return CallResult::Failure(DEPUTY_NOT_SUPPORTED,
                                 "copies of a worker process end before they return, and one "
                                 "side of each is a buffer");
    CallScope scope;
    scope.host = instance.host;
    RemoteCall call(instance.delegate.link(), Function::kCopyBytes, scope);
    CopyForm form{Whole(*args->from), Whole(*args->to), args->byte_size, 0};
    uint8_t* place = nullptr;
    Channel* const channel = call.channel();
    if (channel != nullptr && (from != nullptr || to != nullptr)) {
      uint64_t end = 0;
      if (__builtin_add_overflow(kAlignment, args->byte_size, &end))
        return CallResult::Failure(DEPUTY_INVALID_ARGUMENT, "more bytes than there are");
      SharedRegion& region = channel->tensors;
      if (const Status grown = region.Ensure(end, &call.link().memory()); !grown.ok())
        return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, grown.message());
      if (const int descriptor = region.TakeNew(); descriptor >= 0) call.Attach(descriptor);
      form.region_size = region.size();
      place = region.data() + kAlignment;
      (from != nullptr ? form.from : form.to).data = reinterpret_cast<void*>(uintptr_t{kAlignment});
    }
    const auto size = static_cast<size_t>(args->byte_size);
    if (place != nullptr && from != nullptr && size != 0) std::memcpy(place, from, size);
    CallResult result = call.Make(ObjectCall<CopyForm>{instance.token, form});
    if (!result.failed && place != nullptr && to != nullptr && size != 0) std::memcpy(to, place, size);
    return result;
  });
}

}  // namespace

void RemoteDelegate::FillMemory() {
  memory_.struct_size = form_.memory.struct_size;
  memory_.wish_of = Slot(form_.memory, 0, WishOf);
  memory_.allocate = Slot(form_.memory, 1, Allocate);
  memory_.release = Slot(form_.memory, 2, Release);
  memory_.copy = Slot(form_.memory, 3, Copy);
  memory_.import = Slot(form_.memory, 4, Import);
  memory_.imports = form_.memory_imports & (1u << DEPUTY_MEMORY_HANDLE_MEMFD);
}

}  // namespace deputy::host
