/* "deputy.async/1": a run that returns before it is done, so that a device computes while its host continues.
 *
 * DRAFT. Without any promise: this host does not request it, no golden table contains it, and it may change or be
 * removed in any release. A change that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * Without this extension a run is synchronous: execute is called on the thread of the caller, or on one of the host's
 * where steps of a plan overlap. With it the host still keeps the order of life: every run is destroyed before its
 * context is, and resize is not called while one is in flight. */
#ifndef DEPUTY_ABI_EXT_DRAFT_ASYNC_H
#define DEPUTY_ABI_EXT_DRAFT_ASYNC_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_ASYNC "deputy.async/1"

typedef struct deputy_async_run deputy_async_run; /* plugin-owned: one run, from submit to run_destroy */

/* The meaning of a fence's handle. */
typedef uint32_t deputy_fence_kind;
enum {
  DEPUTY_FENCE_SYNC_FILE = 1, /* a file descriptor of Linux' sync_file, which any driver understands */
  DEPUTY_FENCE_PRIVATE = 2    /* a number that only delegates of the same plugin understand */
};

/* A point in the work of a device, for another delegate to wait for without the CPU. A file descriptor belongs to the
 * holder of the struct and is closed by the receiver. */
typedef struct deputy_fence {
  uint32_t struct_size;
  deputy_fence_kind kind;
  int64_t handle;
} deputy_fence;

/* Receives the end of a run. */
typedef struct deputy_async_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Once for each submitted run, also for one that failed or was cancelled, from a thread of the plugin's; the host
   * does little there and calls nothing of the plugin. wait returns at once from then on. [any-thread] */
  void (*done)(void *self, deputy_async_run *run);
} deputy_async_sink;

/* One run to start. All of it lives until done, or until run_destroy where there is no sink. */
typedef struct deputy_async_args {
  uint32_t struct_size;
  uint32_t wait_count;
  const deputy_run_args *run;       /* its deadline holds for the whole run */
  const deputy_fence *const *waits; /* to pass before an input is read; owned by the plugin after success */
  const deputy_async_sink *sink;    /* NULL: the host polls or waits */
} deputy_async_args;

enum {
  DEPUTY_ASYNC_CANCELS = 1u, /* cancel ends a run early; without it cancel only marks it */
  DEPUTY_ASYNC_FENCES = 2u   /* submit takes fences, and fence_of makes them */
};

typedef struct deputy_ext_async {
  uint32_t struct_size;
  uint32_t flags; /* DEPUTY_ASYNC_... */
  /* Starts a run and puts it into *out; the host ends it with one run_destroy. Several may be in flight on one context
   * only where scheduling.h says so. On failure nothing was started, *out is unchanged, fences stay the host's and sink
   * is not called: UNAVAILABLE when the queue is full (the host waits for a run and tries again), INVALID_ARGUMENT for
   * a kind of fence that is not known. [one-call-per-context] */
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
  /* Fills *out with a fence that is passed when the outputs are written; the host owns it. NULL, or NOT_SUPPORTED: the
   * host waits on the CPU. [any-thread] [optional] */
  deputy_status *(*fence_of)(deputy_async_run *run, deputy_fence *out);
  /* Frees a run that has ended: the host has waited for it. Cannot fail. [any-thread] */
  void (*run_destroy)(deputy_async_run *run);
} deputy_ext_async;

#endif /* DEPUTY_ABI_EXT_DRAFT_ASYNC_H */
