/* "deputy.scheduling/3": how much of a delegate's work may be on its device at once, and the delegate's own order for
 * those of its partitions that are ready to run.
 *
 * DRAFT. Without any promise: no golden table contains it, and it may change or be removed in any release. A change
 * that breaks it raises the number in its id. See sdk/docs/versioning.md. This host uses it for runs that it submits
 * (async.h).
 *
 * Without this extension the host runs ready partitions by priority, then in the graph's order, as far as
 * ext/concurrency.h lets them overlap. */
#ifndef DEPUTY_ABI_EXT_DRAFT_SCHEDULING_H
#define DEPUTY_ABI_EXT_DRAFT_SCHEDULING_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_SCHEDULING "deputy.scheduling/3"

/* The limits of the device's queues. */
typedef struct deputy_queue_limits {
  uint32_t struct_size;
  uint32_t queue_count;           /* queues that run beside each other; at least 1 */
  uint32_t most_runs_in_flight;   /* submitted and not ended, over all queues; at least 1 */
  uint32_t most_runs_per_context; /* at least 1; each run in flight has scratch memory and outputs of its own */
  deputy_str exclusive_group;     /* delegates with the same text, of any plugin, never run at once; empty: none. The
                                     plugin's, as long as the instance */
} deputy_queue_limits;

/* A partition whose inputs are all available. */
typedef struct deputy_ready_run {
  uint32_t struct_size;
  int32_t priority; /* as in deputy_compile_args, of this run */
  deputy_context *context;
  uint64_t ready_since_ns; /* CLOCK_MONOTONIC */
  uint64_t deadline_ns;    /* CLOCK_MONOTONIC; 0: none */
} deputy_ready_run;

typedef struct deputy_ext_scheduling {
  uint32_t struct_size;
  uint32_t reserved;
  /* Fills as much of *out as out->struct_size allows; constant over the life of the instance. [load-time] */
  deputy_status *(*limits)(deputy_instance *instance, deputy_queue_limits *out);
  /* Selects the next of these runs and its queue, which becomes that of deputy_async_args: *chosen is an index into
   * `ready` and both numbers are 0 when called. `ready` is in the order in which the host would start them. Called each
   * time that a queue has room and more than one run waits, one call at a time, while no run of the instance can start:
   * it uses nothing of the device, calls nothing of the host but clock_ns and log, keeps no pointer and returns within
   * 10 us. A delegate that takes longer than a millisecond, 100 in a worker process, is not asked again; a worker that
   * takes longer than a second is ended. After any failure, or a number out of range, the host takes the first. The
   * host ensures that every run is started: one that was passed over 16 times is the next. NULL: by priority, then in
   * the order of arrival; queues in turn. [any-thread] [optional] */
  deputy_status *(*choose)(deputy_instance *instance, const deputy_ready_run *const *ready, uint32_t count,
                           uint32_t *chosen, uint32_t *queue);
} deputy_ext_scheduling;

#endif /* DEPUTY_ABI_EXT_DRAFT_SCHEDULING_H */
