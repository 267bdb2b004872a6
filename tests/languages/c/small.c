/* A small delegate that is whole, in C on the bare ABI: Add and Relu in float32, any number of them in one partition.
 * It has two options, keeps what a run needs in its contexts, and divides its loops over the host's threads. The same
 * delegate stands beside this one in other languages; SMALL_ID tells their plugins apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/note.h"

#ifndef SMALL_ID
#define SMALL_ID "small_c"
#endif

DEPUTY_NOTE("id=com.example." SMALL_ID
            "\n"
            "version=1.0\n"
            "delegates=" SMALL_ID "\n");

#define STR(literal) \
  { (literal), sizeof(literal) - 1 }

/* The newest definitions whose meaning this source knows. */
enum { NEWEST_ADD = 14, NEWEST_RELU = 14 };
enum { MAX_GRAIN = 1 << 24 };

struct deputy_instance {
  const deputy_host *host;
  char only[8]; /* "both", "Add" or "Relu" */
  int64_t grain;
};

/* Where a value of the partition lies. */
enum place { PLACE_INPUT, PLACE_OUTPUT, PLACE_CONSTANT, PLACE_SCRATCH };
typedef struct slot {
  deputy_value_id value;
  enum place place;
  uint32_t index; /* of the input, the output or the scratch buffer */
  const float *constant;
  uint64_t count; /* elements */
} slot;

typedef struct step {
  uint32_t a, b, out; /* slots */
  int is_add;
} step;

struct deputy_executable {
  const deputy_host *host;
  int64_t grain;
  uint32_t slot_count, step_count, scratch_count;
  slot *slots;
  step *steps;
};

struct deputy_context {
  const deputy_executable *executable;
  float **scratch; /* one buffer for each value that stays inside the partition */
};

static deputy_status *fail(const deputy_host *host, deputy_code code, deputy_node_id node, const char *text) {
  return host->status_new(host->self, code, node, text, strlen(text));
}

static deputy_status *no_memory(const deputy_host *host) {
  return fail(host, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "out of memory");
}

/* A bit that this source does not know would change the meaning of a call. */
static deputy_status *unknown_flags(const deputy_host *host) {
  return fail(host, DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "flags have unknown bits");
}

static int is(deputy_str text, const char *literal) {
  return text.size == strlen(literal) && (text.size == 0 || memcmp(text.data, literal, text.size) == 0);
}

/* ---- options */

static const deputy_str kOnly[] = {STR("both"), STR("Add"), STR("Relu")};

static const deputy_option_info kOptions[] = {
    {sizeof(deputy_option_info), DEPUTY_OPTION_ENUM, STR("only"), STR("which operators to take"), STR(""), STR("both"),
     kOnly, 3, 0, 0, 0, 0, 0, 0},
    {sizeof(deputy_option_info), DEPUTY_OPTION_INT, STR("grain"), STR("elements that are worth a thread"), STR(""),
     STR("4096"), NULL, 0, 1, MAX_GRAIN, 0, 0, 0, 0},
};
enum { OPTION_COUNT = sizeof kOptions / sizeof kOptions[0] };

static uint32_t option_count(const deputy_delegate *self) {
  (void)self;
  return OPTION_COUNT;
}

static const deputy_option_info *option_at(const deputy_delegate *self, uint32_t index) {
  (void)self;
  return index < OPTION_COUNT ? &kOptions[index] : NULL;
}

static deputy_status *get_option(deputy_instance *instance, deputy_str name, char *buffer, uint64_t capacity,
                                 uint64_t *size) {
  char text[32];
  if (is(name, "only")) {
    snprintf(text, sizeof text, "%s", instance->only);
  } else if (is(name, "grain")) {
    snprintf(text, sizeof text, "%lld", (long long)instance->grain);
  } else {
    return fail(instance->host, DEPUTY_NOT_FOUND, DEPUTY_NO_NODE, "no such option");
  }
  *size = strlen(text);
  if (*size >= capacity) return fail(instance->host, DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "the buffer is too small");
  memcpy(buffer, text, *size + 1);
  return NULL;
}

static const void *get_extension(const deputy_delegate *self, const char *id) {
  static const deputy_ext_options kTable = {sizeof(deputy_ext_options), 0, option_count, option_at, get_option, NULL};
  (void)self;
  return strcmp(id, DEPUTY_EXT_OPTIONS) == 0 ? &kTable : NULL;
}

/* ---- an instance */

static deputy_status *open_instance(const deputy_delegate *self, const deputy_open_args *args, deputy_instance **out) {
  deputy_instance *instance;
  uint64_t i;
  (void)self;
  if ((args->flags & ~(uint32_t)DEPUTY_OPEN_COMPILE_ONLY) != 0) return unknown_flags(args->host);
  instance = calloc(1, sizeof *instance);
  if (instance == NULL) return no_memory(args->host);
  instance->host = args->host;
  instance->grain = 4096;
  memcpy(instance->only, "both", sizeof "both");
  for (i = 0; i < args->option_count; ++i) { /* the host has checked names and values */
    const deputy_kv option = args->options[i];
    if (is(option.key, "grain")) instance->grain = strtoll(option.value.data, NULL, 10);
    if (is(option.key, "only") && option.value.size < sizeof instance->only)
      memcpy(instance->only, option.value.data, option.value.size + 1);
  }
  *out = instance;
  return NULL;
}

static void close_instance(deputy_instance *instance) { free(instance); }

/* ---- which nodes */

static deputy_status *value_of(const deputy_host *host, const deputy_graph *graph, deputy_value_id id,
                               deputy_value_info *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  return host->graph_value_info(host->self, graph, id, out);
}

static int same_shape(const deputy_value_info *a, const deputy_value_info *b) {
  return a->rank == b->rank && (a->rank == 0 || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0);
}

/* Two values of float32 and of one shape, which is all that the loops can do. */
static deputy_status *judge_values(const deputy_host *host, const deputy_graph *graph, const deputy_node_info *node,
                                   deputy_reason *reason, const char **detail) {
  uint32_t i;
  deputy_value_info first, value;
  deputy_status *status = value_of(host, graph, node->inputs[0], &first);
  for (i = 0; status == NULL && i < node->input_count; ++i) {
    status = value_of(host, graph, node->inputs[i], &value);
    if (status != NULL) break;
    if (value.dtype != DEPUTY_DTYPE_FLOAT32) {
      *reason = DEPUTY_REASON_DTYPE;
      *detail = "float32 only";
    } else if ((value.flags & DEPUTY_VALUE_SHAPE_KNOWN) == 0) {
      *reason = DEPUTY_REASON_SHAPE_DYNAMIC;
      *detail = "extents must be known";
    } else if (*reason == DEPUTY_REASON_SUPPORTED && !same_shape(&first, &value)) {
      *reason = DEPUTY_REASON_SHAPE;
      *detail = "both sides must have one shape";
    }
  }
  return status;
}

static deputy_status *query_support(deputy_instance *instance, const deputy_graph *graph,
                                    const deputy_support_sink *sink) {
  const deputy_host *host = instance->host;
  const uint32_t count = host->graph_node_count(host->self, graph);
  uint32_t i;
  for (i = 0; i < count; ++i) {
    deputy_node_info node;
    deputy_reason reason = DEPUTY_REASON_SUPPORTED;
    const char *detail = "";
    deputy_str text;
    deputy_status *status;
    int is_add;
    memset(&node, 0, sizeof node);
    node.struct_size = sizeof node;
    status = host->graph_node_info(host->self, graph, host->graph_node_at(host->self, graph, i), &node);
    if (status != NULL) return status;
    if ((node.flags & DEPUTY_NODE_OFFERED) == 0) continue;
    is_add = is(node.domain, "") && is(node.op_type, "Add");
    if (!is_add && !(is(node.domain, "") && is(node.op_type, "Relu"))) {
      reason = DEPUTY_REASON_OPERATOR_UNKNOWN;
      detail = "only Add and Relu are known";
    } else if (node.since_version > (is_add ? NEWEST_ADD : NEWEST_RELU)) {
      reason = DEPUTY_REASON_DEFINITION_TOO_NEW;
      detail = "this definition came later";
    } else if (strcmp(instance->only, "both") != 0 && !is(node.op_type, instance->only)) {
      reason = DEPUTY_REASON_OTHER;
      detail = "the option `only` names the other operator";
    } else {
      status = judge_values(host, graph, &node, &reason, &detail);
      if (status != NULL) return status;
    }
    text.data = detail;
    text.size = strlen(detail);
    sink->answer(sink->self, node.id, reason, text);
  }
  return NULL;
}

/* ---- compiling */

static void executable_destroy(deputy_executable *executable) {
  free(executable->slots);
  free(executable->steps);
  free(executable);
}

/* The slot of a value; one that no partition input, output or earlier step has named is a constant or stays inside. */
static deputy_status *slot_of(deputy_executable *executable, const deputy_graph *graph, deputy_value_id id,
                              uint32_t *out) {
  deputy_value_info value;
  deputy_status *status;
  slot *made;
  for (*out = 0; *out < executable->slot_count; ++*out)
    if (executable->slots[*out].value == id) return NULL;
  status = value_of(executable->host, graph, id, &value);
  if (status != NULL) return status;
  made = &executable->slots[executable->slot_count++];
  made->value = id;
  made->count = 1;
  for (uint32_t i = 0; i < value.rank; ++i) made->count *= (uint64_t)value.dims[i];
  if ((value.flags & DEPUTY_VALUE_CONSTANT) != 0) {
    made->place = PLACE_CONSTANT;
    made->constant = value.constant;
  } else {
    made->place = PLACE_SCRATCH;
    made->index = executable->scratch_count++;
  }
  return NULL;
}

static deputy_status *add_steps(deputy_executable *executable, const deputy_partition *partition) {
  const deputy_host *host = executable->host;
  uint32_t i, at;
  for (i = 0; i < partition->input_count + partition->output_count; ++i) {
    const int is_input = i < partition->input_count;
    const uint32_t index = is_input ? i : i - partition->input_count;
    deputy_status *status =
        slot_of(executable, partition->graph, (is_input ? partition->inputs : partition->outputs)[index], &at);
    if (status != NULL) return status;
    executable->slots[at].place = is_input ? PLACE_INPUT : PLACE_OUTPUT;
    executable->slots[at].index = index;
  }
  executable->scratch_count = 0;
  for (i = 0; i < partition->node_count; ++i) {
    step *made = &executable->steps[executable->step_count++];
    deputy_node_info node;
    deputy_status *status;
    memset(&node, 0, sizeof node);
    node.struct_size = sizeof node;
    status = host->graph_node_info(host->self, partition->graph, partition->nodes[i], &node);
    if (status != NULL) return status;
    made->is_add = is(node.op_type, "Add");
    status = slot_of(executable, partition->graph, node.inputs[0], &made->a);
    if (status == NULL) status = slot_of(executable, partition->graph, node.inputs[made->is_add ? 1 : 0], &made->b);
    if (status == NULL) status = slot_of(executable, partition->graph, node.outputs[0], &made->out);
    if (status != NULL) return status;
  }
  return NULL;
}

static deputy_status *compile(deputy_instance *instance, const deputy_compile_args *args, deputy_executable **out) {
  const deputy_partition *partition = args->partition;
  /* Each node names at most three values. */
  const size_t most = (size_t)partition->input_count + partition->output_count + (size_t)partition->node_count * 3;
  deputy_executable *executable;
  deputy_status *status;
  uint64_t asked;
  if (args->flags != 0) return unknown_flags(instance->host);
  for (asked = 0; asked < args->precision_count; ++asked)
    if (args->precision[asked].compute != DEPUTY_DTYPE_FLOAT32)
      return fail(instance->host, DEPUTY_NOT_SUPPORTED, args->precision[asked].node, "floats are computed in float32");
  executable = calloc(1, sizeof *executable);
  if (executable == NULL) return no_memory(instance->host);
  executable->host = instance->host;
  executable->grain = instance->grain;
  executable->slots = calloc(most, sizeof *executable->slots);
  executable->steps = calloc(partition->node_count, sizeof *executable->steps);
  if (executable->slots == NULL || executable->steps == NULL) {
    status = no_memory(instance->host);
  } else {
    status = add_steps(executable, partition);
  }
  if (status == NULL) {
    *out = executable;
  } else {
    executable_destroy(executable);
  }
  return status;
}

/* ---- running */

static void context_destroy(deputy_context *context) {
  uint32_t i;
  if (context->scratch != NULL)
    for (i = 0; i < context->executable->scratch_count; ++i) free(context->scratch[i]);
  free(context->scratch);
  free(context);
}

static deputy_status *context_create(deputy_executable *executable, const deputy_context_args *args,
                                     deputy_context **out) {
  deputy_context *context;
  uint32_t i;
  if (args->flags != 0) return unknown_flags(executable->host);
  context = calloc(1, sizeof *context);
  if (context == NULL) return no_memory(executable->host);
  context->executable = executable;
  context->scratch = calloc((size_t)executable->scratch_count + 1, sizeof *context->scratch);
  for (i = 0; context->scratch != NULL && i < executable->slot_count; ++i) {
    const slot *at = &executable->slots[i];
    if (at->place != PLACE_SCRATCH) continue;
    context->scratch[at->index] = malloc(at->count * sizeof(float) + 1);
    if (context->scratch[at->index] == NULL) break;
  }
  if (context->scratch == NULL || i < executable->slot_count) {
    context_destroy(context);
    return no_memory(executable->host);
  }
  *out = context;
  return NULL;
}

typedef struct job {
  const float *a, *b;
  float *out;
  int is_add;
} job;

static void run_range(void *self, int64_t begin, int64_t end, uint32_t worker) {
  const job *work = self;
  int64_t i;
  (void)worker;
  if (work->is_add) {
    for (i = begin; i < end; ++i) work->out[i] = work->a[i] + work->b[i];
  } else { /* NaN stays NaN */
    for (i = begin; i < end; ++i) work->out[i] = work->a[i] < 0 ? 0 : work->a[i];
  }
}

static float *data_of(const deputy_context *context, const deputy_run_args *args, uint32_t at) {
  const slot *which = &context->executable->slots[at];
  switch (which->place) {
    case PLACE_INPUT: return args->inputs[which->index]->data;
    case PLACE_OUTPUT: return args->outputs[which->index]->data;
    case PLACE_CONSTANT: return (float *)which->constant;
    default: return context->scratch[which->index];
  }
}

static deputy_status *execute(deputy_context *context, const deputy_run_args *args) {
  const deputy_executable *executable = context->executable;
  const deputy_host *host = executable->host;
  uint32_t i;
  if (args->flags != 0) return unknown_flags(host);
  for (i = 0; i < executable->step_count; ++i) {
    const step *todo = &executable->steps[i];
    job work;
    work.is_add = todo->is_add;
    work.a = data_of(context, args, todo->a);
    work.b = data_of(context, args, todo->b);
    work.out = data_of(context, args, todo->out);
    host->parallel_for(host->self, (int64_t)executable->slots[todo->out].count, executable->grain, run_range, &work);
  }
  return NULL;
}

/* ---- the tables */

static const deputy_opset kOpset = {STR(""), NEWEST_ADD, 0};

static const deputy_delegate kDelegate = {sizeof(deputy_delegate),
                                          0,
                                          STR(SMALL_ID),
                                          STR("Add and Relu in float32"),
                                          NULL,
                                          &kOpset,
                                          1,
                                          NULL, /* needs nothing, so there is nothing to probe */
                                          get_extension,
                                          open_instance,
                                          close_instance,
                                          query_support,
                                          compile,
                                          executable_destroy,
                                          context_create,
                                          context_destroy,
                                          NULL, /* no scratch memory */
                                          execute,
                                          NULL /* a run is too short to be cancelled */};

static uint32_t delegate_count(const deputy_plugin *self) {
  (void)self;
  return 1;
}

static const deputy_delegate *delegate_at(const deputy_plugin *self, uint32_t index) {
  (void)self;
  return index == 0 ? &kDelegate : NULL;
}

static const deputy_plugin kPlugin = {sizeof(deputy_plugin),
                                      DEPUTY_ABI_VERSION,
                                      DEPUTY_ABI_MIN_HOST,
                                      0,
                                      STR("com.example." SMALL_ID),
                                      STR("Example"),
                                      STR("1.0"),
                                      NULL,
                                      NULL,
                                      NULL,
                                      delegate_count,
                                      delegate_at,
                                      NULL};

DEPUTY_EXTERN_C DEPUTY_EXPORT const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved);
const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved) {
  (void)host_abi;
  (void)reserved;
  return &kPlugin;
}
