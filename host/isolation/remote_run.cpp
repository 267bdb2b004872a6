#include "isolation/remote_run.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "delegate/kept_outputs.hpp"

namespace deputy::host {
namespace {

// In the channel's region, after an unused part, so that 0 is none.
uint64_t PlaceFor(uint64_t size, uint64_t& end) {
  const uint64_t place = end;
  if (__builtin_add_overflow(end, size, &end) || __builtin_add_overflow(end, kAlignment - 1, &end)) return 0;
  end = end / kAlignment * kAlignment;
  return RegionOf(end) == 0 ? place : 0;
}

}  // namespace

void RunTransfer::Find(WorkerLink& link, KnownPlaces& known) {
  const uint64_t generation = link.generation();
  if (generation == 0) return;
  if (known.generation != generation || known.inputs.size() != args_.input_count)
    known = {generation, std::vector<KnownPlaces::Input>(args_.input_count)};
  found_.resize(args_.input_count);
  for (uint32_t i = 0; i < args_.input_count; ++i) {
    const deputy_tensor* input = args_.inputs[i];
    if (input == nullptr || input->data == nullptr || input->byte_size == 0) continue;
    KnownPlaces::Input& last = known.inputs[i];
    if (last.data != input->data || last.size != input->byte_size)
      last = {input->data, input->byte_size, link.PlaceOf(input->data, input->byte_size)};
    found_[i] = last.place;
  }
}

bool RunTransfer::Place(const deputy_tensor* const* tensors, uint32_t count, uint64_t& end) {
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = pointers_.size();
    pointers_.push_back(nullptr);
    if (tensors[i] == nullptr) {
      tensors_.emplace_back();
      continue;
    }
    deputy_tensor& tensor = tensors_.emplace_back(Whole(*tensors[i]));
    pointers_.back() = &tensor;
    if (tensor.memory != DEPUTY_MEMORY_HOST || tensor.layout != DEPUTY_LAYOUT_DENSE) return false;
    const bool has_bytes = tensor.data != nullptr && tensor.byte_size != 0;
    uint64_t place = at < found_.size() ? found_[at] : 0;
    if (has_bytes && place == 0) {
      place = PlaceFor(tensor.byte_size, end);
      if (place == 0) return false;
    }
    tensor.data = reinterpret_cast<void*>(static_cast<uintptr_t>(place));
  }
  return true;
}

CallResult RunTransfer::Prepare(RemoteCall& call, RunForm& form) {
  uint64_t end = kAlignment;
  const size_t count = size_t{args_.input_count} + args_.output_count;
  tensors_.reserve(count);
  pointers_.reserve(count);
  if (!Place(args_.inputs, args_.input_count, end) || !Place(args_.outputs, args_.output_count, end))
    return CallResult::Failure(DEPUTY_INVALID_ARGUMENT,
                               "only dense tensors in the host's memory can be shared with a worker process");
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
  const size_t copied = KeptOutputs::AreWanted() ? count : args_.input_count;
  for (size_t i = 0; i < copied; ++i) {
    const deputy_tensor* from = i < args_.input_count ? args_.inputs[i] : args_.outputs[i - args_.input_count];
    if (uint8_t* to = Own(region, i)) std::memcpy(to, from->data, from->byte_size);
  }
  return {};
}

void RunTransfer::Finish(RemoteCall& call) const {
  Channel& channel = *call.channel();
  for (uint32_t i = 0; i < args_.output_count; ++i)
    if (const uint8_t* from = Own(channel.tensors, size_t{args_.input_count} + i))
      std::memcpy(args_.outputs[i]->data, from, args_.outputs[i]->byte_size);
  for (const RemoteCall::Allocated& output : call.allocated())
    std::memcpy(output.data, channel.outputs[output.output].data(), output.size);
}

// The bytes of a tensor in the channel's region; null where it has none there.
uint8_t* RunTransfer::Own(const SharedRegion& region, size_t tensor) const {
  const auto place = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(tensors_[tensor].data));
  return place == 0 || RegionOf(place) != 0 ? nullptr : region.data() + place;
}

void Deliver(const Events& events, const deputy_profile_sink* sink) {
  for (const deputy_profile_event& event : events.events)
    if (sink != nullptr) sink->event(sink->self, &event);
}

deputy_status* RemoteExecute(deputy_context* self, const deputy_run_args* args) {
  RemoteContext& context = RemoteContext::Of(self);
  return ForHost(context.instance.host, [&] {
    CallScope scope;
    scope.host = context.instance.host;
    scope.run = args;
    RunTransfer run(*args);
    run.Find(context.instance.delegate.link(), context.places);
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
