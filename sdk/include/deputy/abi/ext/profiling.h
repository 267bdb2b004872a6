/* "deputy.profiling/1": what a delegate's device did and when, as events that the host ties to nodes of the model.
 * Nothing of it is called while nobody profiles. */
#ifndef DEPUTY_ABI_EXT_PROFILING_H
#define DEPUTY_ABI_EXT_PROFILING_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_PROFILING "deputy.profiling/1"

/* Whose nanoseconds an event counts. */
typedef uint32_t deputy_clock;
enum {
  DEPUTY_CLOCK_MONOTONIC = 1, /* the host's CLOCK_MONOTONIC, as deputy_host.clock_ns gives it */
  DEPUTY_CLOCK_DEVICE = 2     /* the device's own; correlate() ties it to the host's */
};

#define DEPUTY_NO_EVENT_ID 0xffffffffu /* an event that belongs to no entry of the map */

typedef struct deputy_profile_event {
  uint32_t struct_size;
  uint32_t id; /* the delegate's own, as in the debug map, or DEPUTY_NO_EVENT_ID */
  deputy_clock clock;
  uint32_t reserved;
  uint64_t begin_ns;
  uint64_t end_ns;     /* not before begin_ns */
  deputy_str name;     /* of what ran ("conv 3x3"), for people */
  deputy_str metadata; /* anything else, as text; JSON is a good choice. May be empty */
} deputy_profile_event;

/* Where events go. */
typedef struct deputy_profile_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the event. [any-thread] */
  void (*event)(void *self, const deputy_profile_event *event);
} deputy_profile_sink;

/* Where the debug map goes. */
typedef struct deputy_debug_map_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* `id` stands for these nodes of the partition. Many to many: an id may have several nodes, a node several ids. An id
   * that was added before is refused (INVALID_ARGUMENT), as is a node outside of the partition. Copies the array. Only
   * inside debug_map(). [in-call] */
  deputy_status *(*add)(void *self, uint32_t id, const deputy_node_id *nodes, uint64_t count);
} deputy_debug_map_sink;

typedef struct deputy_ext_profiling {
  uint32_t struct_size;
  uint32_t reserved;
  /* Which node of the partition each id of an event stands for, as compile knew it (debug handles). Asked once per
   * executable, before its first event is read. [any-thread] */
  deputy_status *(*debug_map)(deputy_executable *executable, const deputy_debug_map_sink *sink);
  /* Turns profiling of the context on (`sink` is not NULL) or off. While it is on, execute may put events into the sink
   * as they happen; the sink lives until it is turned off or the context is destroyed. [one-call-per-context] */
  deputy_status *(*set_profiling)(deputy_context *context, const deputy_profile_sink *sink);
  /* Hands out, and forgets, the events that were not given live: for devices that tell after the run. Called after each
   * execute while profiling is on. NULL slot: all events are live. [one-call-per-context] */
  deputy_status *(*collect)(deputy_context *context, const deputy_profile_sink *sink);
  /* One moment on both clocks, read as close together as can be. NULL slot: no event is on the device's clock.
   * [any-thread] */
  deputy_status *(*correlate)(deputy_instance *instance, uint64_t *device_ns, uint64_t *host_ns);
} deputy_ext_profiling;

#endif /* DEPUTY_ABI_EXT_PROFILING_H */
