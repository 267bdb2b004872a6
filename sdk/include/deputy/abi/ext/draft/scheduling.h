/* "deputy.scheduling/1": how much of a delegate's work may be on its device at once, and the delegate's own order for
 * those of its partitions that are ready to run.
 *
 * DRAFT. Without any promise: this host does not request it, no golden table contains it, and it may change or be
 * removed in any release. A change that breaks it raises the number in its id. See sdk/docs/versioning.md.
 *
 * Without this extension the host runs ready partitions in the graph's order, as far as ext/concurrency.h lets them
 * overlap. */
#ifndef DEPUTY_ABI_EXT_DRAFT_SCHEDULING_H
#define DEPUTY_ABI_EXT_DRAFT_SCHEDULING_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_SCHEDULING "deputy.scheduling/1"

/* The limits of the device's queues. */
typedef struct deputy_queue_limits {
  uint32_t struct_size;
  uint32_t queue_count;         /* queues that run beside each other; at least 1 */
  uint32_t most_runs_in_flight; /* submitted and not ended, over all queues; at least 1 */
  uint32_t most_runs_per_context;
  deputy_str exclusive_group; /* delegates with the same text, of any plugin, never run at once; empty: none. The
                                 plugin's, as long as the instance */
} deputy_queue_limits;

/* A partition whose inputs are all available. */
typedef struct deputy_ready_run {
  uint32_t struct_size;
  uint32_t session_priority; /* as the application set it; larger is more urgent, 0 is the default */
  deputy_context *context;
  uint64_t ready_since_ns;  /* CLOCK_MONOTONIC */
  uint64_t deadline_ns;     /* CLOCK_MONOTONIC; 0: none */
  uint32_t waiting_readers; /* partitions that wait for its outputs alone */
  uint32_t reserved;
} deputy_ready_run;

typedef struct deputy_ext_scheduling {
  uint32_t struct_size;
  uint32_t reserved;
  /* Fills as much of *out as out->struct_size allows; constant over the life of the instance. [load-time] */
  deputy_status *(*limits)(deputy_instance *instance, deputy_queue_limits *out);
  /* Selects the next of these runs and its queue: *chosen is an index into `ready` and both numbers are 0 when called.
   * Called each time that a queue has room and more than one run waits; it must be quick, uses nothing of the device
   * and keeps no pointer. After any failure, or a number out of range, the host takes the first. The host ensures that
   * every run is started. NULL: the graph's order, queues in turn. [any-thread] [optional] */
  deputy_status *(*choose)(deputy_instance *instance, const deputy_ready_run *const *ready, uint32_t count,
                           uint32_t *chosen, uint32_t *queue);
} deputy_ext_scheduling;

#endif /* DEPUTY_ABI_EXT_DRAFT_SCHEDULING_H */
