// Calls of the host that run, resize, serialize, or ask for texts and maps of what was compiled.
#include <algorithm>
#include <utility>

#include "worker/served_calls.hpp"

namespace deputy::host {
namespace {

deputy_status* WriteBlob(void* self, const void* data, uint64_t size) {
  auto& channel = *static_cast<HostChannel*>(self);
  constexpr uint64_t kPiece = 1u << 20;
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (bytes == nullptr) return channel.Ask(Function::kWriteBlob, WireBytes{nullptr, size});
  uint64_t done = 0;
  do {
    const uint64_t piece = std::min(size - done, kPiece);
    if (deputy_status* refused = channel.Ask(Function::kWriteBlob, WireBytes{bytes + done, piece})) return refused;
    done += piece;
  } while (done < size);
  return nullptr;
}

deputy_status* AddDebugIds(void* self, uint32_t id, const deputy_node_id* nodes, uint64_t count) {
  // More nodes than a frame holds are not those of a partition.
  constexpr uint64_t kMost = 1u << 24;
  return static_cast<HostChannel*>(self)->Ask(Function::kAddDebugIds,
                                              DebugIds{id, {count > kMost ? nullptr : nodes, count}});
}

}  // namespace

void CancelInFlight(const ServedContext& context) {
  const deputy_ext_async& async = *context.executable->instance->delegate->async;
  const StatusHandle status = Invoke(async.cancel, "cancel", [&] { return async.cancel(context.in_flight); });
  if (status != nullptr) Log(LogLevel::kWarning, "cancel: {}", status->message);
}

void* ServedCall::At(const void* place, uint64_t size) const {
  const auto offset = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(place));
  if (offset == 0) return nullptr;
  if (const uint32_t region = RegionOf(offset); region != 0) {
    uint8_t* const bytes = plugin_.regions.At(region, OffsetOf(offset), size);
    if (bytes == nullptr) EndWorker();
    return bytes;
  }
  const uint64_t whole = channel_.tensors == nullptr ? 0 : channel_.tensors->size();
  if (offset > whole || size > whole - offset) EndWorker();
  return channel_.tensors->data() + offset;
}

void ServedCall::TakeRegionOf(uint64_t size, std::vector<Descriptor>& descriptors) {
  if (!descriptors.empty()) channel_.tensors = Mapping::Of(descriptors.front().get(), 0, size, true);
  descriptors.clear();  // a context keeps its last message
}

void ServedCall::Bind(RunForm& run, std::vector<Descriptor>& descriptors) {
  TakeRegionOf(run.region_size, descriptors);
  deputy_run_args& args = run.args;
  for (const auto& [tensors, count] :
       {std::pair{args.inputs, args.input_count}, std::pair{args.outputs, args.output_count}})
    for (uint32_t i = 0; tensors != nullptr && i < count; ++i)
      // Decoded just now, and this process' own.
      if (auto* tensor = const_cast<deputy_tensor*>(tensors[i])) tensor->data = At(tensor->data, tensor->byte_size);
  args.scratch = At(args.scratch, args.scratch_size);
  run_ = &args;
}

deputy_status* ServedCall::Allocate(void* self, uint32_t output, const int64_t* dims, uint32_t rank, void** data) {
  auto& call = *static_cast<ServedCall*>(self);
  HostChannel& channel = call.channel_;
  constexpr uint32_t kMostRank = 1024;  // more than the host takes
  const OutputShape shape{output, 0, dims, std::min(rank, kMostRank)};
  const auto reply = channel.Ask<TwoNumbers>(Function::kAllocateOutput, shape);
  if (deputy_status* refused = StatusOf((*reply)->outcome)) return refused;
  *data = nullptr;
  const auto [size, region_size] = (*reply)->payload;
  if (size == 0) return nullptr;
  std::unique_ptr<Mapping>& region = channel.outputs[output];
  if (!reply->descriptors().empty()) region = Mapping::Of(reply->descriptors().front().get(), 0, region_size, true);
  if (region == nullptr || region->size() < size)
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "an output cannot be mapped");
  *data = region->data();
  return nullptr;
}

ReplyWords ServedCall::TakeRegion(WireFrame frame) {
  const auto message = Decode<RegionForm>(std::move(frame));
  if (message->descriptors().size() != 1) EndWorker();
  const RegionForm& form = **message;
  std::unique_ptr<Mapping> bytes = Mapping::Of(message->descriptors().front().get(), 0, form.size, false);
  if (bytes == nullptr)
    return ReplyWith(StatusHandle(NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "inputs cannot be mapped")));
  plugin_.regions.Set(form, std::move(bytes));
  return ReplyWith(nullptr);
}

ReplyWords ServedCall::Execute(WireFrame frame) {
  auto message = Decode<ObjectCall<RunForm>>(std::move(frame));
  const auto context = plugin_.contexts.Find((*message)->object);
  if (context == nullptr) EndWorker();
  context->last_run = std::move(message);
  return Run(*context, context->last_run->descriptors());
}

ReplyWords ServedCall::ExecuteAgain(WireFrame frame) {
  const auto message = Decode<ObjectCall<RunAgainForm>>(std::move(frame));
  const auto context = plugin_.contexts.Find((*message)->object);
  if (context == nullptr || context->last_run == nullptr) EndWorker();
  const RunAgainForm& now = (*message)->args;
  RunForm& run = (*context->last_run)->args;
  if (now.count != uint64_t{run.args.input_count} + run.args.output_count || (now.count != 0 && now.places == nullptr))
    EndWorker();
  run.start = now.start;
  run.region_size = now.region_size;
  deputy_run_args& args = run.args;
  args.run = now.run;
  args.deadline_ns = now.deadline_ns;
  args.power_level = now.power_level;
  args.precision = now.precision;
  args.scratch = reinterpret_cast<void*>(static_cast<uintptr_t>(now.scratch));
  const uint64_t* place = now.places;
  for (const auto& [tensors, count] :
       {std::pair{args.inputs, args.input_count}, std::pair{args.outputs, args.output_count}})
    for (uint32_t i = 0; i < count; ++i, ++place)
      // Decoded by the first of these runs, and this process' own.
      if (auto* tensor = const_cast<deputy_tensor*>(tensors[i]))
        tensor->data = reinterpret_cast<void*>(static_cast<uintptr_t>(*place));
  return Run(*context, message->descriptors());
}

ReplyWords ServedCall::Run(ServedContext& context, std::vector<Descriptor>& descriptors) {
  RunForm& run = (*context.last_run)->args;
  Bind(run, descriptors);
  const deputy_output_allocator outputs = allocator();
  if (run.args.allocator != nullptr) run.args.allocator = &outputs;
  const deputy_delegate& table = *context.executable->instance->delegate->table;
  const StatusHandle status =
      run.start.submits ? RunSubmitted(context, run)
                        : Invoke(table.execute, "execute", [&] { return table.execute(context.raw, &run.args); });
  EventBuffer::Taken taken;
  context.events.TakeAll(taken);
  return ReplyWith(status, taken.events);
}

StatusHandle ServedCall::RunSubmitted(ServedContext& context, const RunForm& run) {
  const deputy_ext_async& async = *context.executable->instance->delegate->async;
  SubmittedRuns::Run submitted(plugin_.submitted_runs);
  deputy_async_args args{};
  args.struct_size = sizeof args;
  args.run = &run.args;
  args.sink = plugin_.submitted_runs.sink();
  args.number = submitted.number();
  args.queue = run.start.queue;
  args.priority = run.start.priority;
  deputy_async_run* made = nullptr;
  StatusHandle status = Invoke(async.submit, "submit", [&] { return async.submit(context.raw, &args, &made); });
  if (status != nullptr && made != nullptr)
    Log(LogLevel::kWarning, "submit broke its contract: it failed and made a run");
  if (status != nullptr || made == nullptr) return status;
  channel_.NoteSubmitted();
  {
    const std::lock_guard lock(context.mutex);
    context.in_flight = made;
    context.in_flight_number = run.args.run;
    if (context.cancelled_number == run.args.run) CancelInFlight(context);
  }
  submitted.Wait(nullptr, channel_.run_spin());
  {
    const std::lock_guard lock(context.mutex);
    context.in_flight = nullptr;
  }
  status = StatusHandle(submitted.TakeStatus());
  InvokeVoid(async.run_destroy, "run_destroy", [&] { async.run_destroy(made); });
  return status;
}

ReplyWords ServedCall::Compute(WireFrame frame) {
  const auto message = Decode<DelegateCallWith<NodeRun>>(std::move(frame));
  const ServedDelegate& delegate = plugin_.delegate((*message)->call.delegate);
  WorkerHost* host = plugin_.hosts().Acquire((*message)->call.host);
  GraphMirror graph(channel_, plugin_.store());
  RunForm& run = (*message)->args.run;
  Bind(run, message->descriptors());
  const deputy_output_allocator outputs = allocator();
  if (run.args.allocator != nullptr) run.args.allocator = &outputs;
  const StatusHandle status = Invoke(delegate.operators->compute, "compute", [&] {
    return delegate.operators->compute(delegate.table, host->table(), graph.handle(), (*message)->args.node, &run.args);
  });
  plugin_.hosts().Release(host);
  return ReplyWith(status);
}

ReplyWords ServedCall::Resize(WireFrame frame) {
  const auto message = Decode<ObjectCall<deputy_resize_args>>(std::move(frame));
  const auto context = plugin_.contexts.Find((*message)->object);
  if (context == nullptr) EndWorker();
  deputy_resize_outcome outcome = DEPUTY_RESIZE_DONE;
  const deputy_ext_resize& resize = *context->executable->instance->delegate->resize;
  const StatusHandle status =
      Invoke(resize.resize, "resize", [&] { return resize.resize(context->raw, &(*message)->args, &outcome); });
  return ReplyWith(status, WireNumber{outcome});
}

ReplyWords ServedCall::GetText(WireFrame frame) {
  const bool option = frame.function == Function::kGetOption;
  const auto message = Decode<ObjectCall<TextRequest>>(std::move(frame));
  const auto instance = plugin_.instances.Find((*message)->object);
  if (instance == nullptr) EndWorker();
  const ServedDelegate& delegate = *instance->delegate;
  constexpr uint64_t kMost = 1u << 20;
  const uint64_t capacity = std::min((*message)->args.capacity, kMost);
  std::vector<char> buffer(capacity + 1);
  uint64_t size = (*message)->args.size;
  const StatusHandle status =
      option ? Invoke(delegate.options->get_option, "get_option",
                      [&] {
                        return delegate.options->get_option(instance->raw, (*message)->args.name, buffer.data(),
                                                            capacity, &size);
                      })
             : Invoke(delegate.blob->compatibility, "compatibility",
                      [&] { return delegate.blob->compatibility(instance->raw, buffer.data(), capacity, &size); });
  const uint64_t written = status != nullptr ? 0 : size < capacity ? size + 1 : capacity;
  return ReplyWith(status, WrittenText{size, {reinterpret_cast<const uint8_t*>(buffer.data()), written}});
}

ReplyWords ServedCall::Serialize(ServedExecutable& executable) {
  const deputy_blob_sink sink{sizeof sink, 0, &channel_, WriteBlob};
  const deputy_ext_blob& blob = *executable.instance->delegate->blob;
  return ReplyWith(Invoke(blob.serialize, "serialize", [&] { return blob.serialize(executable.raw, &sink); }));
}

ReplyWords ServedCall::AddDebugMap(ServedExecutable& executable) {
  const deputy_debug_map_sink sink{sizeof sink, 0, &channel_, AddDebugIds};
  const deputy_ext_profiling& profiling = *executable.instance->delegate->profiling;
  return ReplyWith(
      Invoke(profiling.debug_map, "debug_map", [&] { return profiling.debug_map(executable.raw, &sink); }));
}

}  // namespace deputy::host
