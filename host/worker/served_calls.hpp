// The calls of the host, carried out on the plugin that this process serves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isolation/frame.hpp"
#include "plugin/checks/handles.hpp"
#include "plugin/checks/plugin_code.hpp"
#include "worker/graph_mirror.hpp"
#include "worker/host_channel.hpp"
#include "worker/refused_files.hpp"
#include "worker/served_plugin.hpp"

namespace deputy::host {

// The words to return.
using ReplyWords = std::vector<uint64_t>;

// One call on one channel.
class ServedCall {
 public:
  ServedCall(ServedPlugin& plugin, HostChannel& channel) : plugin_(plugin), channel_(channel) {}

  ReplyWords Serve(WireFrame frame);

 private:
  // By what the call is for.
  ReplyWords ServePlugin(WireFrame frame);
  ReplyWords ServeDelegate(WireFrame frame);
  ReplyWords ServeInstance(WireFrame frame);
  ReplyWords ServeExecutable(WireFrame frame);
  ReplyWords ServeContext(WireFrame frame);

  ReplyWords Open(WireFrame frame);
  ReplyWords Close(uint64_t token);
  ReplyWords QuerySupport(ServedInstance& instance);
  ReplyWords Propose(ServedInstance& instance);
  ReplyWords NameGroups(ServedInstance& instance);
  ReplyWords EstimatePartition(WireFrame frame);
  ReplyWords Compile(WireFrame frame);
  ReplyWords Restore(WireFrame frame);
  ReplyWords Infer(WireFrame frame);
  ReplyWords Compute(WireFrame frame);
  ReplyWords Enumerate(const ServedDelegate& delegate, WorkerHost& host);
  ReplyWords GetText(WireFrame frame);
  ReplyWords TakeRegion(WireFrame frame);
  ReplyWords Execute(WireFrame frame);
  ReplyWords ExecuteAgain(WireFrame frame);
  ReplyWords Run(ServedContext& context, std::vector<Descriptor>& descriptors);
  StatusHandle RunSubmitted(ServedContext& context, const RunForm& run);
  ReplyWords Resize(WireFrame frame);
  ReplyWords ContextCreate(WireFrame frame);
  ReplyWords Serialize(ServedExecutable& executable);
  ReplyWords AddDebugMap(ServedExecutable& executable);
  ReplyWords AskWish(WireFrame frame);
  ReplyWords AllocateBuffer(WireFrame frame);
  ReplyWords ImportBuffer(WireFrame frame);
  ReplyWords ReleaseBuffer(WireFrame frame);
  ReplyWords CopyBytes(WireFrame frame);
  ReplyWords ChooseRun(WireFrame frame);

  // The channel's region is this memory from now on, if a descriptor is in the message.
  void TakeRegionOf(uint64_t size, std::vector<Descriptor>& descriptors);
  // Puts the memory of this process into a run's arguments.
  void Bind(RunForm& run, std::vector<Descriptor>& descriptors);
  void* At(const void* place, uint64_t size) const;
  static deputy_status* Allocate(void* self, uint32_t output, const int64_t* dims, uint32_t rank, void** data);
  deputy_output_allocator allocator() { return {sizeof(deputy_output_allocator), 0, this, Allocate}; }
  deputy_control control();

  ServedPlugin& plugin_;
  HostChannel& channel_;
  const deputy_run_args* run_ = nullptr;
};

// Calls a function of the plugin that returns a status.
template <class Function, class Call>
StatusHandle Invoke(Function* function, const char* name, Call&& call) {
  deputy_status* raw = nullptr;
  if (!Returned(SiteOf(function, name), [&] { raw = call(); }))
    raw = NewStatus(DEPUTY_INTERNAL, DEPUTY_NO_NODE, "it threw an exception");
  return StatusHandle(raw);
}
// The same for one that returns nothing.
template <class Function, class Call>
void InvokeVoid(Function* function, const char* name, Call&& call) {
  (void)Returned(SiteOf(function, name), std::forward<Call>(call));
}

// With the context's mutex, while a run is in flight.
void CancelInFlight(const ServedContext& context);

template <class Payload>
ReplyWords ReplyWith(const StatusHandle& status, const Payload& payload) {
  Outcome outcome;
  std::string message;
  if (status != nullptr) {
    message = status->message + RefusedFilesText();
    outcome = {true, status->code, status->node, {message.c_str(), message.size()}};
  }
  Reply<Payload> reply{outcome, {}};
  reply.payload = payload;
  return Encode(reply);
}
inline ReplyWords ReplyWith(const StatusHandle& status) { return ReplyWith(status, Nothing()); }

// A text of the plugin for the host, which takes no longer ones: cut off, so that its size costs nothing.
inline deputy_str Cut(deputy_str text) {
  constexpr uint64_t kMost = 8192;
  return {text.data, text.data == nullptr ? text.size : std::min(text.size, kMost)};
}

// A message of the host, which is trusted.
template <class Message>
std::unique_ptr<Received<Message>> Decode(WireFrame frame) {
  auto message = std::make_unique<Received<Message>>(std::move(frame));
  if (!message->valid()) EndWorker();
  return message;
}

}  // namespace deputy::host
