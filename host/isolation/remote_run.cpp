#include "isolation/remote_run.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

namespace deputy::host {
namespace {

constexpr uint64_t kAlignment = 64;

// Places begin behind an unused part, so that 0 is none.
uint64_t PlaceFor(uint64_t size, uint64_t& end) {
  const uint64_t place = end;
  if (__builtin_add_overflow(end, size, &end) || __builtin_add_overflow(end, kAlignment - 1, &end)) return 0;
  end = end / kAlignment * kAlignment;
  return place;
}

}  // namespace

bool RunTransfer::Place(deputy_tensor& tensor, uint64_t& end) {
  if (tensor.memory != DEPUTY_MEMORY_HOST || tensor.layout != DEPUTY_LAYOUT_DENSE) return false;
  const bool has_bytes = tensor.data != nullptr && tensor.byte_size != 0;
  const uint64_t place = has_bytes ? PlaceFor(tensor.byte_size, end) : 0;
  tensor.data = reinterpret_cast<void*>(static_cast<uintptr_t>(place));
  return !has_bytes || place != 0;
}

CallResult RunTransfer::Prepare(RemoteCall& call, RunForm& form) {
  uint64_t end = kAlignment;
  tensors_.reserve(size_t{args_.input_count} + args_.output_count);
  for (const auto& [tensors, count] :
       {std::pair{args_.inputs, args_.input_count}, std::pair{args_.outputs, args_.output_count}}) {
    for (uint32_t i = 0; i < count; ++i) {
      pointers_.push_back(nullptr);
      if (tensors[i] == nullptr) {
        tensors_.emplace_back();
        continue;
      }
      pointers_.back() = &tensors_.emplace_back(Whole(*tensors[i]));
      if (!Place(tensors_.back(), end))
        return CallResult::Failure(DEPUTY_INVALID_ARGUMENT,
                                   "only dense tensors in the host's memory can be shared with a worker process");
    }
  }
  form.args = args_;
  form.args.inputs = pointers_.data();
  form.args.outputs = pointers_.data() + args_.input_count;
  const bool has_scratch = args_.scratch != nullptr && args_.scratch_size != 0;
  const uint64_t scratch = has_scratch ? PlaceFor(args_.scratch_size, end) : 0;
  form.args.scratch = reinterpret_cast<void*>(static_cast<uintptr_t>(scratch));
  Channel* channel = call.channel();
  if (channel == nullptr) return {};  // the call says so
  SharedRegion& region = channel->tensors;
  if (const Status grown = region.Ensure(end); !grown.ok())
    return CallResult::Failure(DEPUTY_OUT_OF_MEMORY, grown.message());
  form.region_size = region.size();
  if (const int descriptor = region.TakeNew(); descriptor >= 0) call.Attach(descriptor);
  Copy(args_.inputs, 0, args_.input_count, region.data(), true);
  Copy(args_.outputs, args_.input_count, args_.output_count, region.data(), true);
  return {};
}

void RunTransfer::Finish(RemoteCall& call) const {
  Channel& channel = *call.channel();
  Copy(args_.outputs, args_.input_count, args_.output_count, channel.tensors.data(), false);
  for (const RemoteCall::Allocated& output : call.allocated())
    std::memcpy(output.data, channel.outputs[output.output].data(), output.size);
}

void RunTransfer::Copy(const deputy_tensor* const* originals, size_t first, uint32_t count, uint8_t* base,
                       bool into) const {
  for (uint32_t i = 0; i < count; ++i) {
    if (originals[i] == nullptr) continue;
    const uintptr_t place = reinterpret_cast<uintptr_t>(tensors_[first + i].data);
    if (place == 0) continue;
    if (into)
      std::memcpy(base + place, originals[i]->data, originals[i]->byte_size);
    else
      std::memcpy(originals[i]->data, base + place, originals[i]->byte_size);
  }
}

void Deliver(const Events& events, const deputy_profile_sink* sink) {
  for (const deputy_profile_event& event : events.events)
    if (sink != nullptr) sink->event(sink->self, &event);
}

deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args) {
  const RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    CallScope scope;
    scope.host = context.instance.host;
    scope.run = args;
    RunTransfer run(*args);
    ObjectCall<RunForm> message{context.token, {}};
    RemoteCall call(context.instance.delegate.link(), Function::kExecute, scope);
    if (CallResult failure = run.Prepare(call, message.args); failure.failed) return failure;
    std::unique_ptr<Received<Reply<Events>>> events;
    CallResult result = call.Make(message, events);
    if (!result.failed) run.Finish(call);
    if (events != nullptr) Deliver((*events)->payload, context.sink);
    return result;
  });
}

}  // namespace deputy::host
