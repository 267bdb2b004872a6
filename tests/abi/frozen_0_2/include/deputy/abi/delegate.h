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
  uint32_t flags; /* DEPUTY_OPEN_... */
  const deputy_host *host;
  deputy_str name;   /* the unique name of the YAML entry */
  deputy_str device; /* the id of a device (ext/devices.h); empty: the delegate has one, or none */
  const deputy_kv *options;
  uint64_t option_count;
  uint64_t domain; /* the number of this instance, unique in the process and never 0: deputy_tensor.domain */
} deputy_open_args;

enum {
  /* No device is needed or accessed: executables of the instance are serialized (ext/blob.h), never run. Only for
   * delegates with DEPUTY_BLOB_COMPILE_ONLY. */
  DEPUTY_OPEN_COMPILE_ONLY = 1u
};

/* The reason for which a delegate does not support a node; a vendor's own begin at DEPUTY_VENDOR_FIRST. */
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
  DEPUTY_REASON_OTHER = 10 /* also a definition that is too old; the detail says what it is */
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

/* The host's side of a long call: whether its result is still wanted, and how far it is. Lives as long as the call. */
typedef struct deputy_control {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* 1 when the call should end as CANCELLED as soon as it can, 0 before. Never blocks. [any-thread] */
  uint32_t (*cancelled)(void *self);
  /* Shows how far the call is, from 0 to 1000; `step` says what it does now, for people, and may be empty. [in-call] */
  void (*progress)(void *self, uint32_t permille, deputy_str step);
} deputy_control;

/* Frozen. The element type in which a node may compute instead of its own. */
typedef struct deputy_node_precision {
  deputy_node_id node;
  deputy_dtype compute;
} deputy_node_precision;

/* A partition to compile. */
typedef struct deputy_compile_args {
  uint32_t struct_size;
  uint32_t flags; /* DEPUTY_COMPILE_...; none is defined */
  const deputy_partition *partition;
  /* Nodes of the partition that compute in this element type: float32 forbids a delegate to compute in less, float16
   * asks for it. A delegate that cannot returns NOT_SUPPORTED. Nodes that are not named: the delegate's own choice,
   * which its options describe. Inputs and outputs keep their element types. */
  const deputy_node_precision *precision;
  uint64_t precision_count;
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none. Later the call ends as DEADLINE_EXCEEDED, if the delegate can */
  const deputy_control *control;
  int32_t priority; /* of this call against others of the delegate: larger is more urgent, 0 is the default; a hint */
  uint32_t reserved;
} deputy_compile_args;

/* A context to make. */
typedef struct deputy_context_args {
  uint32_t struct_size;
  uint32_t flags;   /* DEPUTY_CONTEXT_...; none is defined */
  int32_t priority; /* of its runs, as in deputy_compile_args */
  uint32_t reserved;
} deputy_context_args;

/* Gives memory to outputs whose extents only the run knows. */
typedef struct deputy_output_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  void *self;
  /* Sets the extents of output `output`, an index into deputy_run_args.outputs, and stores the memory of its elements
   * in *data: dense, aligned to 64 bytes, NULL if there are none; the delegate writes all of it before execute returns.
   * Called once in a run for each output with an extent of -1, and for no other; rank and known extents are those of
   * the tensor.
   * INVALID_ARGUMENT for other outputs and extents, OUT_OF_MEMORY. [in-call] */
  deputy_status *(*allocate)(void *self, uint32_t output, const int64_t *dims, uint32_t rank, void **data);
} deputy_output_allocator;

/* One run. Arrays hold pointers because deputy_tensor may grow; order as in deputy_partition. */
typedef struct deputy_run_args {
  uint32_t struct_size;
  uint32_t flags; /* DEPUTY_RUN_...; none is defined */
  uint32_t input_count;
  uint32_t output_count;
  const deputy_tensor *const *inputs;
  const deputy_tensor *const *outputs;
  uint64_t run;         /* counts the runs of the context, from 1 on; deputy_delegate.cancel names it */
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none. Later the run ends as DEADLINE_EXCEEDED, if the delegate can */
  const deputy_output_allocator *allocator; /* NULL when the extents of all outputs are known */
  void *scratch;          /* deputy_delegate.scratch_size bytes, aligned to 64, of any content; NULL for 0 */
  uint64_t scratch_size;  /* of `scratch` */
  uint32_t power_level;   /* a hint for this run: 1 low power to 4 extreme, as ext/device_control.h; 0: as opened */
  deputy_dtype precision; /* a hint for this run: the least precise float type that may compute; UNDEFINED: none */
} deputy_run_args;

enum {
  /* Nothing of the delegate overlaps, over all its instances in the process: calls of execute, resize, context_create
   * and context_destroy, and the [load-time] ones. For drivers with one handle. */
  DEPUTY_DELEGATE_SERIAL = 1u,
  /* May be offered nodes that read or make values with extents that only the run knows; outputs of a partition that
   * have such extents come with deputy_run_args.allocator. */
  DEPUTY_DELEGATE_DYNAMIC_SHAPES = 2u,
  DEPUTY_DELEGATE_SIMULATED = 4u,           /* simulates hardware; reports say so */
  DEPUTY_DELEGATE_LOADS_WHILE_RUNNING = 8u, /* with SERIAL: the [load-time] calls may overlap with execute */
  DEPUTY_DELEGATE_STREAMS_CONSTANTS = 16u   /* large constants may have DEPUTY_VALUE_NOT_RESIDENT */
};

/* Frozen. The newest version of a domain's operator set that a delegate was built for, in the domain's own numbers: 23
 * for ONNX's opset 23, 1 for com.microsoft. Every definition up to it may be offered. */
typedef struct deputy_opset {
  deputy_str domain; /* "" is ONNX's own */
  uint32_t version;
  uint32_t reserved;
} deputy_opset;

struct deputy_delegate {
  uint32_t struct_size;
  uint32_t flags; /* DEPUTY_DELEGATE_... */
  deputy_str id;  /* the id that `delegate:` in the YAML names */
  deputy_str description;
  void *impl; /* the plugin's own */
  /* One entry for each domain, "" among them. A node whose definition is newer is never offered to the delegate: it
   * cannot know what changed. Nodes of domains that are not listed are offered in every version. */
  const deputy_opset *opsets;
  uint64_t opset_count;

  /* Checks that everything the delegate needs is present on this machine. Cheap, no side effects; the failure's message
   * is the reason. A table of the host that a function of the delegate gets, this one's too, lives as long as the call;
   * only that of open lives until close returns. NULL: it needs nothing. [load-time] [optional] */
  deputy_status *(*probe)(const deputy_delegate *self, const deputy_host *host);

  /* NULL for an unknown id. The table lives as long as the plugin. NULL slot: no extensions. [any-thread] [any-state]
   * [optional] */
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

  /* Stores a new executable, owned by the plugin, in *out; the host ends it with one executable_destroy, which cannot
   * fail. `args` and everything it points to live as long as the call; constants and primitives of the graph live as
   * long as the executable. On failure *out is unchanged. NOT_SUPPORTED: instance and device are as before, and the
   * host gives the nodes to the next delegate. A claim in the partition is consumed in every case. [load-time] */
  deputy_status *(*compile)(deputy_instance *instance, const deputy_compile_args *args, deputy_executable **out);
  void (*executable_destroy)(deputy_executable *executable);

  /* Stores a new context, owned by the plugin, in *out: buffers and state of one session, none of it shared with
   * another context. The host ends it with one context_destroy, which cannot fail, before it destroys the executable;
   * no execute of the context runs then. On failure *out is unchanged and context_destroy is not called: OUT_OF_MEMORY,
   * DEVICE_LOST, or UNAVAILABLE when the device has no room for another context. [any-thread] */
  deputy_status *(*context_create)(deputy_executable *executable, const deputy_context_args *args,
                                   deputy_context **out);
  void (*context_destroy)(deputy_context *context);

  /* Bytes of deputy_run_args.scratch that a run of the context needs: memory of the host that steps of one session
   * share, so that a context holds none of its own for what no other run reads. Asked after context_create and after
   * each resize. NULL: none. [one-call-per-context] [optional] */
  uint64_t (*scratch_size)(deputy_context *context);

  /* Reads the inputs, writes every element of the outputs. The memory of an output overlaps neither an input nor
   * another output. Never writes an input, and keeps no pointer. After a failure the context can run again.
   * [one-call-per-context] */
  deputy_status *(*execute)(deputy_context *context, const deputy_run_args *args);

  /* Asks the run with this number (deputy_run_args.run) to end as CANCELLED; it may still end otherwise. Returns at
   * once, and does nothing for a run that has ended. It may come before the run begins, and never after the context was
   * destroyed. NULL: a run cannot be ended early. [any-thread] [optional] */
  void (*cancel)(deputy_context *context, uint64_t run);
};

struct deputy_plugin {
  uint32_t struct_size;
  uint32_t abi_version;  /* DEPUTY_ABI_VERSION of the headers that the plugin was built with */
  uint32_t min_host_abi; /* oldest host ABI that the plugin supports: DEPUTY_ABI_MIN_HOST */
  uint32_t flags;        /* DEPUTY_PLUGIN_...; none is defined */
  deputy_str id;         /* reverse domain: "com.example.npu" */
  deputy_str vendor;
  deputy_str version;
  void *impl; /* the plugin's own */

  /* Once, before anything else but the query function and what is constant. The host's table lives until shutdown
   * returns. After a failure, whose message is the reason, nothing of the plugin is called. NULL: nothing to do.
   * [load-time] [optional] */
  deputy_status *(*init)(const deputy_plugin *self, const deputy_host *host);
  /* Joins the plugin's threads; once, after a successful init and after everything else. The library stays mapped.
   * NULL: nothing to do. [load-time] [optional] */
  void (*shutdown)(const deputy_plugin *self);

  /* Constant over the life of the plugin. [any-thread] [any-state] */
  uint32_t (*delegate_count)(const deputy_plugin *self);
  const deputy_delegate *(*delegate_at)(const deputy_plugin *self, uint32_t index);

  /* NULL for an unknown id. The table lives as long as the plugin. NULL slot: no extensions. [any-thread] [any-state]
   * [optional] */
  const void *(*get_extension)(const deputy_plugin *self, const char *id);
};

/* The one exported symbol. Returns a constant table, or NULL if no common version exists. Runs before init, so it may
 * not use the host. `reserved` is NULL. [any-thread] [any-state] */
#define DEPUTY_ENTRY_SYMBOL "deputy_plugin_query_v1"
typedef const deputy_plugin *(*deputy_plugin_query_fn)(uint32_t host_abi, const void *reserved);

#endif /* DEPUTY_ABI_DELEGATE_H */
