#include "worker/serve_mode.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "base/worker_process.hpp"
#include "worker/served_calls.hpp"

namespace deputy::host {
namespace {

std::mutex control_mutex;  // of frames to the host on the control socket

template <class Message>
void SendControl(Function function, const Message& message) {
  const std::lock_guard lock(control_mutex);
  if (SendFrame(kWorkerReplyFd, {FrameKind::kNotice, function}, Encode(message)) != Transfer::kDone) EndWorker();
}

void ServeChannel(ServedPlugin& plugin, HostChannel& channel) {
  WireFrame frame;
  while (channel.TakeCall(frame)) {
    const Function function = frame.function;
    ReplyWords reply;
    try {
      // What a call holds of the model is given up before the host hears of its end.
      reply = ServedCall(plugin, channel).Serve(std::move(frame));
    } catch (...) {  // no memory
      reply = {};
    }
    channel.Return(function, reply);
  }
}

void OpenChannel(ServedPlugin& plugin, WireFrame& frame) {
  if (frame.descriptors.size() != 2) EndWorker();
  std::unique_ptr<Mapping> page = Mapping::Of(frame.descriptors[1].get(), 0, sizeof(ChannelPage), true);
  if (page == nullptr) EndWorker();
  auto channel = std::make_unique<HostChannel>(std::move(frame.descriptors[0]), std::move(page));
  // Without a further thread the channel is closed, which the host sees.
  if (Result<std::thread> started =
          StartThread([&plugin, channel = std::move(channel)] { ServeChannel(plugin, *channel); });
      started.ok())
    started->detach();
  else
    Log(LogLevel::kError, "{}", started.status().message());
}

// Holds the context meanwhile: neither it nor its run is destroyed under the plugin's feet.
void CancelRun(ServedPlugin& plugin, uint64_t token, uint64_t run, bool submitted) {
  const std::shared_ptr<ServedContext> context = plugin.contexts.Find(token);
  if (context == nullptr) return;
  const std::lock_guard lock(context->mutex);
  if (context->raw == nullptr) return;
  if (submitted) {
    context->cancelled_number = run;
    if (context->in_flight != nullptr && context->in_flight_number == run) CancelInFlight(*context);
    return;
  }
  const deputy_delegate* table = context->executable->instance->delegate->table;
  InvokeVoid(table->cancel, "cancel", [&] { table->cancel(context->raw, run); });
}

}  // namespace

void SendLog(uint64_t host, deputy_log_level level, std::string_view message) {
  const LogForm line{host, level, {message.data(), message.size()}};
  if (HostChannel* channel = HostChannel::Current())
    channel->Notify(Function::kLog, line);
  else
    SendControl(Function::kLog, line);
}

void RunServe(const std::filesystem::path& path, bool sandbox) {
  const auto loaded = ServedPlugin::Load(path, sandbox);
  if (const Rejection* rejection = RejectionOf(loaded)) {
    Hello refusal;
    refusal.refusal = {rejection->text.c_str(), rejection->text.size()};
    refusal.reason = static_cast<uint32_t>(rejection->reason);
    SendControl(Function::kHello, refusal);
    EndWorker();
  }
  ServedPlugin& plugin = *std::get<ServedPlugin*>(loaded);
  // Reports of the checks around a plugin's functions.
  SetLogLevel(LogLevel::kDebug);
  SetLogSink([](LogLevel level, std::string_view, std::string_view message) {
    SendLog(0, static_cast<deputy_log_level>(level), message);
  });
  SendControl(Function::kHello, plugin.Greeting());
  WireFrame frame;
  while (ReceiveFrame(kWorkerReplyFd, frame) == Transfer::kDone) {
    if (frame.function == Function::kNewChannel) {
      OpenChannel(plugin, frame);
    } else if (frame.function == Function::kFreeRegion) {
      plugin.regions.Free(**Decode<RegionForm>(std::move(frame)));
    } else if (frame.function == Function::kCancel || frame.function == Function::kCancelSubmitted) {
      const bool submitted = frame.function == Function::kCancelSubmitted;
      const auto message = Decode<TwoNumbers>(std::move(frame));
      CancelRun(plugin, (*message)->first, (*message)->second, submitted);
    }
  }
  EndWorker();
}

}  // namespace deputy::host
