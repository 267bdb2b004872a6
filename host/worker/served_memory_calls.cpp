// Calls of the host about memory of the device.
#include <utility>

#include "worker/served_calls.hpp"

namespace deputy::host {

ReplyWords ServedCall::AskWish(WireFrame frame) {
  const auto message = Decode<ObjectCall<IndexedWish>>(std::move(frame));
  const auto context = plugin_.contexts.Find((*message)->object);
  if (context == nullptr) EndWorker();
  auto& [index, wish] = (*message)->args;
  const deputy_ext_memory& memory = *context->executable->instance->delegate->memory;
  const StatusHandle status =
      Invoke(memory.wish_of, "wish_of", [&] { return memory.wish_of(context->raw, index, &wish); });
  wish.struct_size = sizeof wish;
  return ReplyWith(status, wish);
}

ReplyWords ServedCall::AllocateBuffer(WireFrame frame) {
  const auto message = Decode<ObjectCall<deputy_buffer_request>>(std::move(frame));
  const auto instance = plugin_.instances.Find((*message)->object);
  if (instance == nullptr) EndWorker();
  uint64_t handle = 0;
  const deputy_ext_memory& memory = *instance->delegate->memory;
  const StatusHandle status =
      Invoke(memory.allocate, "allocate", [&] { return memory.allocate(instance->raw, &(*message)->args, &handle); });
  return ReplyWith(status, WireNumber{handle});
}

ReplyWords ServedCall::ImportBuffer(WireFrame frame) {
  const auto message = Decode<ObjectCall<TwoNumbers>>(std::move(frame));
  const auto instance = plugin_.instances.Find((*message)->object);
  if (instance == nullptr || message->descriptors().size() != 1) EndWorker();
  deputy_shared_buffer buffer{};
  buffer.struct_size = sizeof buffer;
  buffer.kind = DEPUTY_MEMORY_HANDLE_MEMFD;
  buffer.handle = message->descriptors()[0].get();
  buffer.offset = (*message)->args.first;
  buffer.byte_size = (*message)->args.second;
  uint64_t handle = 0;
  const deputy_ext_memory& memory = *instance->delegate->memory;
  const StatusHandle status =
      Invoke(memory.import, "import", [&] { return memory.import(instance->raw, &buffer, &handle); });
  return ReplyWith(status, WireNumber{handle});
}

ReplyWords ServedCall::ReleaseBuffer(WireFrame frame) {
  const auto message = Decode<ObjectCall<WireNumber>>(std::move(frame));
  const auto instance = plugin_.instances.Find((*message)->object);
  if (instance == nullptr) EndWorker();
  const deputy_ext_memory& memory = *instance->delegate->memory;
  InvokeVoid(memory.release, "release", [&] { memory.release(instance->raw, (*message)->args.value); });
  return ReplyWith(nullptr);
}

ReplyWords ServedCall::CopyBytes(WireFrame frame) {
  const auto message = Decode<ObjectCall<CopyForm>>(std::move(frame));
  const auto instance = plugin_.instances.Find((*message)->object);
  if (instance == nullptr) EndWorker();
  CopyForm& form = (*message)->args;
  TakeRegionOf(form.region_size, message->descriptors());
  form.from.data = At(form.from.data, form.byte_size);
  form.to.data = At(form.to.data, form.byte_size);
  deputy_copy_args args{};
  args.struct_size = sizeof args;
  args.from = &form.from;
  args.to = &form.to;
  args.byte_size = form.byte_size;
  deputy_async_run* run = nullptr;
  const deputy_ext_memory& memory = *instance->delegate->memory;
  const StatusHandle status = Invoke(memory.copy, "copy", [&] { return memory.copy(instance->raw, &args, &run); });
  if (status == nullptr && run != nullptr)
    return ReplyWith(StatusHandle(
        NewStatus(DEPUTY_INTERNAL, DEPUTY_NO_NODE, "it left a copy under way that had to end in the call")));
  return ReplyWith(status);
}

}  // namespace deputy::host
