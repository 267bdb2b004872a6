/* "deputy.profiling/1": the work of a delegate's device with its times, as events that the host assigns to nodes of the
 * model. None of its functions is called while profiling is off. */
#ifndef DEPUTY_ABI_EXT_PROFILING_H
#define DEPUTY_ABI_EXT_PROFILING_H

#include "deputy/abi/delegate.h"

#define DEPUTY_EXT_PROFILING "deputy.profiling/1"

/* The clock of an event's times. */
typedef uint32_t deputy_clock;
enum {
  DEPUTY_CLOCK_MONOTONIC = 1, /* the host's CLOCK_MONOTONIC, as deputy_host.clock_ns gives it */
  DEPUTY_CLOCK_DEVICE = 2     /* the device's own; correlate() relates it to the host's */
};

#define DEPUTY_NO_EVENT_ID 0xffffffffu /* an event that belongs to no entry of the map */

typedef struct deputy_profile_event {
  uint32_t struct_size;
  uint32_t id; /* the delegate's own, as in the debug map, or DEPUTY_NO_EVENT_ID */
  deputy_clock clock;
  uint32_t reserved;
  uint64_t begin_ns;
  uint64_t end_ns;     /* not before begin_ns */
  deputy_str name;     /* of the operation ("conv 3x3"), for people */
  deputy_str metadata; /* anything else, as text; JSON is a good choice. May be empty */
} deputy_profile_event;

/* Receives events. */
typedef struct deputy_profile_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Copies the event. [any-thread] */
  void (*event)(void *self, const deputy_profile_event *event);
} deputy_profile_sink;

/* Receives the debug map. */
typedef struct deputy_debug_map_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Maps `id` to these nodes of the partition. Many to many: an id may have several nodes, a node several ids. An id
   * that was added before is refused (INVALID_ARGUMENT), as is a node outside of the partition. Copies the array. Only
   * inside debug_map(). [in-call] */
  deputy_status *(*add)(void *self, uint32_t id, const deputy_node_id *nodes, uint64_t count);
} deputy_debug_map_sink;

typedef struct deputy_ext_profiling {
  uint32_t struct_size;
  uint32_t reserved;
  /* Maps the ids of events to nodes of the partition, as known at compile (debug handles). Called once per executable,
   * before its first event is read. [any-thread] */
  deputy_status *(*debug_map)(deputy_executable *executable, const deputy_debug_map_sink *sink);
  /* Turns profiling of the context on (`sink` is not NULL) or off. While it is on, events may be reported to the sink
   * as they happen; the host has them when execute, collect or the call that turns profiling off has returned. The sink
   * lives until profiling is turned off or the context is destroyed. [one-call-per-context] */
  deputy_status *(*set_profiling)(deputy_context *context, const deputy_profile_sink *sink);
  /* Reports, and then discards, the events that were not reported live: for devices that report after the run. Called
   * after each execute while profiling is on. NULL: all events are live. [one-call-per-context] [optional] */
  deputy_status *(*collect)(deputy_context *context, const deputy_profile_sink *sink);
  /* Reads one moment on both clocks, as close together as possible. NULL: no event is on the device's clock.
   * [any-thread] [optional] */
  deputy_status *(*correlate)(deputy_instance *instance, uint64_t *device_ns, uint64_t *host_ns);
} deputy_ext_profiling;

#endif /* DEPUTY_ABI_EXT_PROFILING_H */
