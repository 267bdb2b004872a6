/* The functions of the host that a plugin may call, in one table. A plugin links nothing of the host. */
#ifndef DEPUTY_ABI_HOST_H
#define DEPUTY_ABI_HOST_H

#include "deputy/abi/graph.h"

typedef int32_t deputy_log_level;
enum { DEPUTY_LOG_DEBUG = 1, DEPUTY_LOG_INFO = 2, DEPUTY_LOG_WARNING = 3, DEPUTY_LOG_ERROR = 4 };

#define DEPUTY_NO_NODE 0xffffffffu

/* Runs items [begin, end) of a job; must not throw or unwind. `worker` is less than deputy_host.thread_count, and no
 * two calls of one job with the same number overlap, so that it can choose scratch memory. [any-thread] */
typedef void (*deputy_parallel_fn)(void *job, int64_t begin, int64_t end, uint32_t worker);

typedef struct deputy_host {
  uint32_t struct_size;
  uint32_t abi_version;
  void *self; /* first argument of every function below */

  /* Makes a failure; `node` is the node at fault or DEPUTY_NO_NODE. Copies the message (UTF-8, `size` bytes). Never
   * fails: without memory it returns a shared "out of memory". The plugin returns it; the host frees it. [any-thread]
   * [any-state] */
  deputy_status *(*status_new)(void *self, deputy_code code, deputy_node_id node, const char *message, uint64_t size);
  /* Frees a status that the plugin does not return, for example the failure of a hint. NULL is allowed. [any-thread]
   * [any-state] */
  void (*status_release)(void *self, deputy_status *status);
  /* Code, node and message of a status that has been neither returned nor released; OK, DEPUTY_NO_NODE and "" for NULL.
   * The message lives as long as the status. [any-thread] [any-state] */
  deputy_code (*status_code)(void *self, const deputy_status *status);
  deputy_node_id (*status_node)(void *self, const deputy_status *status);
  deputy_str (*status_message)(void *self, const deputy_status *status);

  /* Writes one line of the host's log, marked as the plugin's; lines below the user's log level are dropped. `message`
   * is UTF-8, `size` bytes without a newline at the end, and copied before the call returns; bytes that are not UTF-8
   * or not printable are replaced. It cannot fail. It is for messages to the user, not for the results of a run.
   * [any-thread] [any-state] */
  void (*log)(void *self, deputy_log_level level, const char *message, uint64_t size);

  /* An optional table of host functions by id ("deputy.name/1"); NULL if this host lacks it. [any-thread] */
  const void *(*get_extension)(void *self, const char *id);

  /* Nodes of the graph, and the id of the i-th in a topological order that keeps nodes of one owner together.
   * [any-thread] */
  uint32_t (*graph_node_count)(void *self, const deputy_graph *graph);
  deputy_node_id (*graph_node_at)(void *self, const deputy_graph *graph, uint32_t index);

  /* Fill as much of *out as out->struct_size allows. INVALID_ARGUMENT for an unknown id. [any-thread] */
  deputy_status *(*graph_node_info)(void *self, const deputy_graph *graph, deputy_node_id node, deputy_node_info *out);
  deputy_status *(*graph_value_info)(void *self, const deputy_graph *graph, deputy_value_id value,
                                     deputy_value_info *out);

  /* Inputs and outputs of the whole graph, in the model's order. [any-thread] */
  const deputy_value_id *(*graph_inputs)(void *self, const deputy_graph *graph, uint32_t *count);
  const deputy_value_id *(*graph_outputs)(void *self, const deputy_graph *graph, uint32_t *count);

  /* Copies `size` bytes of a constant, from `offset` on, to `to`; for constants of every kind. INVALID_ARGUMENT for a
   * value that is no constant, or bytes outside of it. [any-thread] */
  deputy_status *(*constant_read)(void *self, const deputy_graph *graph, deputy_value_id value, uint64_t offset,
                                  uint64_t size, void *to);
  /* The file that a constant is in: a descriptor that is open for reading, owned by the host and open as long as the
   * constant lives (graph.h), and the offset of the first element, which need not be a multiple of a page. NOT_FOUND
   * when it is in no file: constant_read copies it. [any-thread] */
  deputy_status *(*constant_file)(void *self, const deputy_graph *graph, deputy_value_id value, int32_t *descriptor,
                                  uint64_t *offset);

  /* Reads an attribute by name; type NONE when the node does not have it (its default applies). Pointers live as long
   * as the primitive (graph.h). [any-thread] */
  deputy_status *(*node_attribute)(void *self, const deputy_graph *graph, deputy_node_id node, const char *name,
                                   deputy_attribute *out);

  /* Splits [0, count) into ranges of at least `grain` items over the host's threads and returns when all are done. The
   * calling thread takes part. Plugins embed no pool of their own. thread_count is the number of threads that one job
   * can have, the caller's included; it does not change. [any-thread] */
  void (*parallel_for)(void *self, int64_t count, int64_t grain, deputy_parallel_fn fn, void *job);
  uint32_t (*thread_count)(void *self);

  /* Nanoseconds of CLOCK_MONOTONIC. [any-thread] [any-state] */
  uint64_t (*clock_ns)(void *self);
} deputy_host;

#endif /* DEPUTY_ABI_HOST_H */
