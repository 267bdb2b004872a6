/* "deputy.async/2": a run that returns before it is done, so that a device computes while its host continues.
 *
 * DRAFT. Without any promise: no golden table contains it, and it may change or be removed in any release. A change
 * that breaks it raises the number in its id. See sdk/docs/versioning.md. This host submits the runs of a delegate that
 * has it, gives each a sink, and passes no fences.
 *
 * Without this extension a run is synchronous: execute is called on the thread of the caller, or on one of the host's
 * where steps of a plan overlap. With it the host still keeps the order of life: every run is destroyed before its
 * context is, and resize is not called while one is in flight. ext/concurrency.h and DEPUTY_DELEGATE_SERIAL limit calls
 * of submit as those of execute, and not the runs, which scheduling.h limits. */
#ifndef DEPUTY_ABI_EXT_DRAFT_ASYNC_H
#define DEPUTY_ABI_EXT_DRAFT_ASYNC_H

#include "deputy/abi/ext/draft/sharing.h"

#define DEPUTY_EXT_ASYNC "deputy.async/2"

typedef struct deputy_async_run deputy_async_run; /* plugin-owned: one run or copy, from submit to run_destroy */

/* Receives the end of a run. */
typedef struct deputy_async_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Once for each submitted run, also for one that failed or was cancelled, perhaps before submit returns, from any
   * thread of the plugin's. `number` is deputy_async_args.number. `status` is how the run ended, as from wait, and the
   * host's from then on: NULL when every element of the outputs is written. The host only marks the run and wakes a
   * thread; it calls nothing of the plugin from here. [any-thread] */
  void (*done)(void *self, uint64_t number, deputy_status *status);
} deputy_async_sink;

/* One run to start.
 *
 * Of the call alone: this struct, `waits` with its fences, `run` itself. Until the run has ended, that is until done
 * was called or wait has returned its result: the arrays of the run's inputs and outputs, the tensors with their
 * extents, strides and memory, its scratch memory, which no other run in flight has, its outputs' allocator, and the
 * sink. */
typedef struct deputy_async_args {
  uint32_t struct_size;
  uint32_t wait_count;
  const deputy_run_args *run;       /* its deadline holds for the whole run; its number is that of cancel, too */
  const deputy_fence *const *waits; /* to be passed before an input is read; they stay the host's */
  const deputy_async_sink *sink;    /* NULL: the host polls or waits */
  uint64_t number;                  /* for the sink; no other run of the instance in flight has it */
  uint32_t queue;                   /* below deputy_queue_limits.queue_count of scheduling.h; 0 without it */
  int32_t priority;                 /* as in deputy_compile_args, of this run */
} deputy_async_args;

enum {
  DEPUTY_ASYNC_CANCELS = 1u /* cancel ends a run early; without it cancel only marks it */
};

typedef struct deputy_ext_async {
  uint32_t struct_size;
  uint32_t flags;                /* DEPUTY_ASYNC_... */
  deputy_handle_kinds waits_for; /* kinds of fences that submit takes; 0: none, and the host waits on the CPU */
  deputy_handle_kinds makes;     /* kinds of fences that fence_of makes; 0: none */
  /* Starts a run and puts it into *out; the host ends it with one run_destroy. So many may be in flight on one context
   * as scheduling.h says, and one without it; they end in any order. On failure nothing was started, *out is unchanged
   * and sink is not called: UNAVAILABLE when the queue is full (the host waits for a run to end and tries again),
   * INVALID_ARGUMENT for a kind of fence that was not declared. [one-call-per-context] */
  deputy_status *(*submit)(deputy_context *context, const deputy_async_args *args, deputy_async_run **out);
  /* *finished becomes 1 when the run has ended, in any way, and 0 before. Never blocks. [any-thread] */
  deputy_status *(*poll)(deputy_async_run *run, uint32_t *finished);
  /* Blocks until the run has ended or CLOCK_MONOTONIC has reached deadline_ns (0: no limit), and returns how the run
   * ended: OK when every element of the outputs is written, CANCELLED, DEVICE_LOST or the result that execute would
   * return. DEADLINE_EXCEEDED if it has not ended yet; the run continues. Each call returns a status of its own.
   * [any-thread] */
  deputy_status *(*wait)(deputy_async_run *run, uint64_t deadline_ns);
  /* Requests that the run ends as CANCELLED; it may still end otherwise. Does not wait for it. OK for a run that has
   * ended. [any-thread] */
  deputy_status *(*cancel)(deputy_async_run *run);
  /* Fills *out with a fence of this kind that is passed when the output is written, or all outputs for UINT32_MAX; the
   * host owns it. A fence of a run that fails is passed as well: its readers' results are discarded. NULL, or
   * NOT_SUPPORTED: the host waits on the CPU. [any-thread] [optional] */
  deputy_status *(*fence_of)(deputy_async_run *run, uint32_t output, deputy_fence_kind kind, deputy_fence *out);
  /* Frees a run that has ended: the host has seen its end. Cannot fail. [any-thread] */
  void (*run_destroy)(deputy_async_run *run);
} deputy_ext_async;

#endif /* DEPUTY_ABI_EXT_DRAFT_ASYNC_H */
