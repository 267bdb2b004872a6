// The functions of deputy.async and deputy.scheduling of the plugin every_slot. Threads of its queue write no lines:
// those of a worker process come on another way than lines of its calls, in any order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "deputy/abi/ext/draft/async.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "note.hpp"
#include "objects.hpp"

// A run on a thread of its own. Its status is made again for each that asks.
struct deputy_async_run {
  const deputy_host* host;
  std::mutex mutex;
  std::condition_variable changed;
  bool has_ended = false, is_cancelled = false;
  deputy_code code = DEPUTY_OK;
  std::thread thread;
};

namespace every {

inline deputy_status* ResultOf(const deputy_host* host, deputy_code code) {
  return code == DEPUTY_OK ? nullptr : Fail(host, code, 1, "the run did not end well");
}

// Every output is three times the first input; one that the run sizes has three elements.
inline deputy_code Triple(const deputy_run_args& args) {
  const auto* in = static_cast<const float*>(args.inputs[0]->data);
  for (uint32_t i = 0; i < args.output_count; ++i) {
    void* data = args.outputs[i]->data;
    uint64_t count = args.outputs[i]->byte_size / sizeof(float);
    if (args.outputs[i]->dims[0] < 0) {
      const int64_t dims[] = {3};
      if (args.allocator->allocate(args.allocator->self, i, dims, 1, &data) != nullptr) return DEPUTY_OUT_OF_MEMORY;
      count = 3;
    }
    for (uint64_t k = 0; k < count; ++k) static_cast<float*>(data)[k] = 3 * in[k];
  }
  return DEPUTY_OK;
}

// As execute, by the hint for power: 0 computes, 2 fails, 3 waits until it is cancelled; 5 is refused.
inline deputy_status* Submit(deputy_context* context, const deputy_async_args* args, deputy_async_run** out) {
  const deputy_host* host = context->executable->instance->host;
  Line(host, "deputy_ext_async.submit")
      .Add("queue", args->queue)
      .Add("priority", args->priority)
      .Add("run", args->run->run)
      .Add("deadline", args->run->deadline_ns)
      .Add("allocator", static_cast<int>(args->run->allocator != nullptr))
      .Add("scratch", args->run->scratch_size)
      .Add("fences", args->wait_count);
  constexpr uint32_t kFails = 2, kWaits = 3, kIsRefused = 5;
  const uint32_t way = args->run->power_level;
  if (way == kIsRefused) return Fail(host, DEPUTY_UNAVAILABLE, DEPUTY_NO_NODE, "the queue is full");
  auto* run = new deputy_async_run{host, {}, {}, false, false, DEPUTY_OK, {}};
  const deputy_async_sink* const sink = args->sink;
  run->thread = std::thread([run, sink, way, number = args->number, given = args->run] {
    const deputy_code code = way == kFails ? DEPUTY_DEVICE_LOST : way == 0 ? Triple(*given) : DEPUTY_CANCELLED;
    {
      std::unique_lock lock(run->mutex);
      run->changed.wait(lock, [&] { return way != kWaits || run->is_cancelled; });
      run->code = code;
      run->has_ended = true;
    }
    run->changed.notify_all();
    if (sink != nullptr) sink->done(sink->self, number, ResultOf(run->host, code));
  });
  *out = run;
  return nullptr;
}

inline deputy_status* Poll(deputy_async_run* run, uint32_t* finished) {
  const std::lock_guard lock(run->mutex);
  *finished = run->has_ended ? 1 : 0;
  return nullptr;
}

inline deputy_status* Wait(deputy_async_run* run, uint64_t deadline_ns) {
  std::unique_lock lock(run->mutex);
  if (deadline_ns == 0) run->changed.wait(lock, [&] { return run->has_ended; });
  if (run->has_ended) return ResultOf(run->host, run->code);
  return Fail(run->host, DEPUTY_DEADLINE_EXCEEDED, DEPUTY_NO_NODE, "the run has not ended yet");
}

inline deputy_status* CancelRun(deputy_async_run* run) {
  const std::lock_guard lock(run->mutex);
  run->is_cancelled = true;
  run->changed.notify_all();
  return nullptr;
}

inline void RunDestroy(deputy_async_run* run) {
  run->thread.join();
  delete run;
}

inline deputy_status* Limits(deputy_instance* instance, deputy_queue_limits* out) {
  Line(instance->host, "deputy_ext_scheduling.limits");
  out->queue_count = 3;
  out->most_runs_in_flight = 5;
  out->most_runs_per_context = 2;
  if (out->struct_size >= sizeof *out) out->exclusive_group = Str("the only bus");
  return nullptr;
}

inline deputy_status* Choose(deputy_instance* instance, const deputy_ready_run* const* ready, uint32_t count,
                             uint32_t* chosen, uint32_t* queue) {
  Line line(instance->host, "deputy_ext_scheduling.choose");
  line.Add("chosen", *chosen).Add("queue", *queue);
  for (uint32_t i = 0; i < count; ++i)
    line.Add("priority", ready[i]->priority)
        .Add("since", ready[i]->ready_since_ns)
        .Add("deadline", ready[i]->deadline_ns)
        .Add("instance", static_cast<int>(ready[i]->context->executable->instance == instance));
  if (count > 2) return Fail(instance->host, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "too many to choose from");
  *chosen = count - 1;
  *queue = 2;
  return nullptr;
}

inline constexpr deputy_ext_async kAsync{
    sizeof kAsync, DEPUTY_ASYNC_CANCELS, 0, 0, Submit, Poll, Wait, CancelRun, nullptr, RunDestroy};
inline constexpr deputy_ext_scheduling kScheduling{sizeof kScheduling, 0, Limits, Choose};

}  // namespace every
