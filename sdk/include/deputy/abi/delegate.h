/* The plugin's side of the ABI: a table for the plugin, one for each of its delegates, and three kinds of object.
 *
 *   deputy_instance     a delegate opened on a device with options; made by open
 *   deputy_executable   a compiled partition: immutable, shared by all sessions, owner of converted weights
 *   deputy_context      one session's state for an executable
 *
 * All are opaque to the host. Optional extensions are tables requested by id with get_extension (ext/). */
#ifndef DEPUTY_ABI_DELEGATE_H
#define DEPUTY_ABI_DELEGATE_H

#include "deputy/abi/host.h"

typedef struct deputy_plugin deputy_plugin;
typedef struct deputy_delegate deputy_delegate;
typedef struct deputy_instance deputy_instance;     /* plugin-owned */
typedef struct deputy_executable deputy_executable; /* plugin-owned */
typedef struct deputy_context deputy_context;       /* plugin-owned */

/* How to open a delegate. `options` hold every option that was set, already checked against the delegate's schema
 * (ext/options.h): the value is its text, in the form that the schema prescribes. */
typedef struct deputy_open_args {
  uint32_t struct_size;
  uint32_t device; /* index of the device, 0 is the first */
  const deputy_host *host;
  deputy_str name; /* the unique name of the YAML entry */
  const deputy_kv *options;
  uint64_t option_count;
  uint32_t flags; /* DEPUTY_OPEN_... */
  uint32_t reserved;
} deputy_open_args;

enum {
  /* No device is needed or accessed: executables of the instance are serialized (ext/blob.h), never run. Only for
   * delegates with DEPUTY_BLOB_COMPILE_ONLY. */
  DEPUTY_OPEN_COMPILE_ONLY = 1u
};

/* The reason for which a delegate does not support a node. */
typedef uint32_t deputy_reason;
enum {
  DEPUTY_REASON_SUPPORTED = 0,
  DEPUTY_REASON_OPERATOR_UNKNOWN = 1,
  DEPUTY_REASON_DEFINITION_TOO_NEW = 2,
  DEPUTY_REASON_DTYPE = 3,
  DEPUTY_REASON_RANK = 4,
  DEPUTY_REASON_SHAPE_DYNAMIC = 5,
  DEPUTY_REASON_ATTRIBUTE = 6,
  DEPUTY_REASON_LAYOUT = 7,
  DEPUTY_REASON_SHAPE = 8,
  DEPUTY_REASON_NOT_CONSTANT = 9,
  DEPUTY_REASON_OTHER = 10
};

/* Receives the answers of a support query: one for each offered node. A node without an answer is not supported. */
typedef struct deputy_support_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* `detail` is one short sentence for people ("kernel 7x7 is larger than 5x5"); it is copied and may be empty.
   * [in-call] */
  void (*answer)(void *self, deputy_node_id node, deputy_reason reason, deputy_str detail);
} deputy_support_sink;

/* One run. Arrays hold pointers because deputy_tensor may grow; order as in deputy_partition. */
typedef struct deputy_run_args {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t flags; /* 0 */
  const deputy_tensor *const *inputs;
  const deputy_tensor *const *outputs;
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
  const void *fences;   /* reserved for asynchronous execution; NULL */
} deputy_run_args;

enum {
  DEPUTY_DELEGATE_SERIAL = 1u,         /* calls of execute never overlap, over all contexts */
  DEPUTY_DELEGATE_DYNAMIC_SHAPES = 2u, /* may be offered nodes that read extents unknown before the run */
  DEPUTY_DELEGATE_SIMULATED = 4u       /* simulates hardware; reports say so */
};

struct deputy_delegate {
  uint32_t struct_size;
  uint32_t flags; /* DEPUTY_DELEGATE_... */
  deputy_str id;  /* the id that `delegate:` in the YAML names */
  deputy_str description;
  void *impl; /* the plugin's own */

  /* Checks that everything the delegate needs is present on this machine. Cheap, no side effects; the failure's message
   * is the reason. [load-time] */
  deputy_status *(*probe)(const deputy_delegate *self, const deputy_host *host);

  /* NULL for an unknown id. The table lives as long as the plugin. [any-thread] [any-state] */
  const void *(*get_extension)(const deputy_delegate *self, const char *id);

  /* Opens the device `args->device` with the options, which the host has checked against the schema, and stores a new
   * instance, owned by the plugin, in *out; the host ends it with one close. `args` and everything it points to live as
   * long as the call, except the host's table, which lives until close returns. On failure *out is unchanged, no
   * instance is open and close is not called: NOT_SUPPORTED for a machine that cannot run the delegate, UNAVAILABLE for
   * a device that is absent or in use, INVALID_ARGUMENT for options that contradict each other. close cannot fail, and
   * is called when all executables of the instance are destroyed. [load-time] */
  deputy_status *(*open)(const deputy_delegate *self, const deputy_open_args *args, deputy_instance **out);
  void (*close)(deputy_instance *instance);

  /* Answers for every offered node of the graph. Pure: the same graph gives the same answers. [load-time] */
  deputy_status *(*query_support)(deputy_instance *instance, const deputy_graph *graph,
                                  const deputy_support_sink *sink);

  /* NOT_SUPPORTED: the host gives the nodes to the next delegate. A claim in the partition is consumed in every case.
   * [load-time] */
  deputy_status *(*compile)(deputy_instance *instance, const deputy_partition *partition, deputy_executable **out);
  void (*executable_destroy)(deputy_executable *executable);

  /* Stores a new context, owned by the plugin, in *out: buffers and state of one session, none of it shared with
   * another context. The host ends it with one context_destroy, which cannot fail, before it destroys the executable;
   * no execute of the context runs then. On failure *out is unchanged and context_destroy is not called: OUT_OF_MEMORY,
   * DEVICE_LOST, or UNAVAILABLE when the device has no room for another context. [any-thread] */
  deputy_status *(*context_create)(deputy_executable *executable, deputy_context **out);
  void (*context_destroy)(deputy_context *context);

  /* Reads the inputs, writes every element of the outputs. Never writes an input. [one-call-per-context] */
  deputy_status *(*execute)(deputy_context *context, const deputy_run_args *args);
};

struct deputy_plugin {
  uint32_t struct_size;
  uint32_t abi_version;  /* DEPUTY_ABI_VERSION of the headers that the plugin was built with */
  uint32_t min_host_abi; /* oldest host ABI that the plugin supports: DEPUTY_ABI_MIN_HOST */
  uint32_t flags;        /* 0 */
  deputy_str id;         /* reverse domain: "com.example.npu" */
  deputy_str vendor;
  deputy_str version;
  void *impl; /* the plugin's own */

  /* Once, before anything else. The host table outlives the plugin. [load-time] */
  deputy_status *(*init)(const deputy_plugin *self, const deputy_host *host);
  /* Joins the plugin's threads. The library stays mapped. [load-time] */
  void (*shutdown)(const deputy_plugin *self);

  /* Constant over the life of the plugin. [any-thread] [any-state] */
  uint32_t (*delegate_count)(const deputy_plugin *self);
  const deputy_delegate *(*delegate_at)(const deputy_plugin *self, uint32_t index);
  const void *(*get_extension)(const deputy_plugin *self, const char *id);
};

/* The one exported symbol. Returns a constant table, or NULL if no common version exists. Runs before init, so it may
 * not use the host. `reserved` is NULL. [any-thread] [any-state] */
#define DEPUTY_ENTRY_SYMBOL "deputy_plugin_query_v1"
typedef const deputy_plugin *(*deputy_plugin_query_fn)(uint32_t host_abi, const void *reserved);

#endif /* DEPUTY_ABI_DELEGATE_H */
