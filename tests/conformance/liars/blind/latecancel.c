/* The bug: cancel() ignores the number of the run and sets a flag that only a run which ends because of it clears; so a
 * cancel that comes after its run has ended makes the next run of the context end as CANCELLED. */
#include <stdlib.h>
#include <string.h>

#include "deputy/abi/delegate.h"
#include "deputy/abi/note.h"

DEPUTY_NOTE("id=com.example.latecancel\nversion=1.0\ndelegates=latecancel\n");

#define STR(literal) \
  { (literal), sizeof(literal) - 1 }

enum { OP_LEAKYRELU, OP_NEG, OP_ABS, OP_COUNT };
#define NO_SLOT 0xffffffffu

/* The definitions whose meaning this source knows. */
static const struct {
  const char *name;
  uint32_t oldest, newest;
} kOps[OP_COUNT] = {
    {"LeakyRelu", 6, 16},
    {"Neg", 6, 13},
    {"Abs", 6, 13},
};

struct deputy_instance {
  const deputy_host *host;
};

enum place { PLACE_INPUT, PLACE_OUTPUT, PLACE_CONSTANT, PLACE_INNER };
typedef struct slot {
  deputy_value_id value;
  enum place place;
  uint64_t index; /* of the input or output; the offset in the scratch memory of the run */
  const void *constant;
  int64_t count; /* elements */
} slot;

typedef struct step {
  uint32_t op, in[3], out; /* slots */
  float alpha;
} step;

struct deputy_executable {
  const deputy_host *host;
  slot *slots;
  step *steps;
  uint32_t slot_count, step_count;
  uint64_t scratch;
};

struct deputy_context {
  const deputy_executable *executable;
  uint32_t cancelled; /* atomic */
};

static deputy_status *fail(const deputy_host *host, deputy_code code, const char *text) {
  return host->status_new(host->self, code, DEPUTY_NO_NODE, text, strlen(text));
}

static int is(deputy_str text, const char *literal) {
  return text.size == strlen(literal) && (text.size == 0 || memcmp(text.data, literal, text.size) == 0);
}

static deputy_status *node_of(const deputy_host *host, const deputy_graph *graph, deputy_node_id id,
                              deputy_node_info *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  return host->graph_node_info(host->self, graph, id, out);
}

static deputy_status *value_of(const deputy_host *host, const deputy_graph *graph, deputy_value_id id,
                               deputy_value_info *out) {
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  return host->graph_value_info(host->self, graph, id, out);
}

static uint32_t op_of(const deputy_node_info *node) {
  uint32_t op = 0;
  while (op < OP_COUNT && !(is(node->domain, "") && is(node->op_type, kOps[op].name))) ++op;
  return op;
}

static deputy_status *open_instance(const deputy_delegate *self, const deputy_open_args *args, deputy_instance **out) {
  deputy_instance *instance;
  (void)self;
  if (args->flags != 0) return fail(args->host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  instance = calloc(1, sizeof *instance);
  if (instance == NULL) return fail(args->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  instance->host = args->host;
  *out = instance;
  return NULL;
}

static void close_instance(deputy_instance *instance) { free(instance); }

static deputy_status *judge(const deputy_host *host, const deputy_graph *graph, const deputy_node_info *node,
                            deputy_reason *reason, const char **detail) {
  const uint32_t op = op_of(node);
  deputy_value_info first, value;
  deputy_status *status;
  *reason = DEPUTY_REASON_OPERATOR_UNKNOWN;
  if (op == OP_COUNT) return NULL;
  *reason = DEPUTY_REASON_OTHER;
  *detail = "another definition";
  if (node->since_version < kOps[op].oldest || node->since_version > kOps[op].newest) return NULL;
  status = value_of(host, graph, node->inputs[0], &first);
  for (uint32_t i = 0; status == NULL && i < node->input_count; ++i) {
    if (node->inputs[i] == DEPUTY_NO_VALUE) continue;
    status = value_of(host, graph, node->inputs[i], &value);
    if (status != NULL) return status;
    *reason = DEPUTY_REASON_DTYPE;
    *detail = "float32 only";
    if (value.dtype != DEPUTY_DTYPE_FLOAT32) return NULL;
    *reason = DEPUTY_REASON_SHAPE_DYNAMIC;
    *detail = "extents must be known";
    if ((value.flags & DEPUTY_VALUE_SHAPE_KNOWN) == 0) return NULL;
  }
  *reason = DEPUTY_REASON_SUPPORTED;
  *detail = "";
  return status;
}

static deputy_status *query_support(deputy_instance *instance, const deputy_graph *graph,
                                    const deputy_support_sink *sink) {
  const deputy_host *host = instance->host;
  for (uint32_t i = 0, count = host->graph_node_count(host->self, graph); i < count; ++i) {
    deputy_node_info node;
    deputy_reason reason = DEPUTY_REASON_SUPPORTED;
    deputy_str detail = {"", 0};
    deputy_status *status = node_of(host, graph, host->graph_node_at(host->self, graph, i), &node);
    if (status == NULL && (node.flags & DEPUTY_NODE_OFFERED) == 0) continue;
    if (status == NULL) status = judge(host, graph, &node, &reason, &detail.data);
    if (status != NULL) return status;
    detail.size = strlen(detail.data);
    sink->answer(sink->self, node.id, reason, detail);
  }
  return NULL;
}

static void executable_destroy(deputy_executable *executable) {
  free(executable->slots);
  free(executable->steps);
  free(executable);
}

/* The slot of a value; a new one has `place`, unless it is a constant. */
static deputy_status *slot_of(deputy_executable *executable, const deputy_graph *graph, deputy_value_id id,
                              enum place place, uint64_t index, uint32_t *at) {
  deputy_value_info value;
  deputy_status *status;
  slot *made;
  for (*at = 0; *at < executable->slot_count; ++*at)
    if (executable->slots[*at].value == id) return NULL;
  status = value_of(executable->host, graph, id, &value);
  if (status != NULL) return status;
  made = &executable->slots[executable->slot_count++];
  made->value = id;
  made->place = (value.flags & DEPUTY_VALUE_CONSTANT) != 0 ? PLACE_CONSTANT : place;
  made->index = index;
  made->constant = value.constant;
  made->count = 1;
  for (uint32_t i = 0; i < value.rank; ++i) made->count *= value.dims[i];
  if (made->place == PLACE_INNER) {
    made->index = executable->scratch;
    executable->scratch += ((uint64_t)made->count * sizeof(float) + 63) / 64 * 64;
  }
  return NULL;
}

static deputy_status *add_steps(deputy_executable *executable, const deputy_compile_args *args) {
  const deputy_partition *partition = args->partition;
  deputy_status *status = NULL;
  uint32_t at;
  for (uint64_t i = 0; i < args->precision_count; ++i)
    if (args->precision[i].compute != DEPUTY_DTYPE_FLOAT32)
      return fail(executable->host, DEPUTY_NOT_SUPPORTED, "computes in float32 only");
  for (uint32_t i = 0; status == NULL && i < partition->input_count; ++i)
    status = slot_of(executable, partition->graph, partition->inputs[i], PLACE_INPUT, i, &at);
  for (uint32_t i = 0; status == NULL && i < partition->output_count; ++i)
    status = slot_of(executable, partition->graph, partition->outputs[i], PLACE_OUTPUT, i, &at);
  for (uint32_t i = 0; status == NULL && i < partition->node_count; ++i) {
    step *made = &executable->steps[executable->step_count++];
    deputy_node_info node;
    status = node_of(executable->host, partition->graph, partition->nodes[i], &node);
    if (status != NULL) break;
    made->op = op_of(&node);
    for (uint32_t k = 0; status == NULL && k < 3; ++k) {
      made->in[k] = NO_SLOT;
      if (k < node.input_count && node.inputs[k] != DEPUTY_NO_VALUE)
        status = slot_of(executable, partition->graph, node.inputs[k], PLACE_INNER, 0, &made->in[k]);
    }
    if (status == NULL) status = slot_of(executable, partition->graph, node.outputs[0], PLACE_INNER, 0, &made->out);
    if (status == NULL) {
      deputy_attribute alpha;
      memset(&alpha, 0, sizeof alpha);
      alpha.struct_size = sizeof alpha;
      status = executable->host->node_attribute(executable->host->self, partition->graph, node.id, "alpha", &alpha);
      made->alpha = alpha.type == DEPUTY_ATTRIBUTE_FLOAT ? alpha.f : 0.01f;
    }
  }
  return status;
}

static deputy_status *compile(deputy_instance *instance, const deputy_compile_args *args, deputy_executable **out) {
  const deputy_partition *partition = args->partition;
  const size_t most = (size_t)partition->input_count + partition->output_count + 4 * (size_t)partition->node_count;
  deputy_executable *executable;
  deputy_status *status;
  if (args->flags != 0) return fail(instance->host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  executable = calloc(1, sizeof *executable);
  if (executable == NULL) return fail(instance->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  executable->host = instance->host;
  executable->slots = calloc(most, sizeof *executable->slots);
  executable->steps = calloc(partition->node_count, sizeof *executable->steps);
  status = executable->slots == NULL || executable->steps == NULL
               ? fail(instance->host, DEPUTY_OUT_OF_MEMORY, "out of memory")
               : add_steps(executable, args);
  if (status == NULL)
    *out = executable;
  else
    executable_destroy(executable);
  return status;
}

static deputy_status *context_create(deputy_executable *executable, const deputy_context_args *args,
                                     deputy_context **out) {
  deputy_context *context;
  if (args->flags != 0) return fail(executable->host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  context = calloc(1, sizeof *context);
  if (context == NULL) return fail(executable->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  context->executable = executable;
  *out = context;
  return NULL;
}

static void context_destroy(deputy_context *context) { free(context); }

static uint64_t scratch_size(deputy_context *context) { return context->executable->scratch; }

static void *data_of(const deputy_executable *executable, const deputy_run_args *args, uint32_t at) {
  const slot *which = &executable->slots[at];
  switch (which->place) {
    case PLACE_INPUT: return args->inputs[which->index]->data;
    case PLACE_OUTPUT: return args->outputs[which->index]->data;
    case PLACE_CONSTANT: return (void *)which->constant; /* only ever read */
    default: return (char *)args->scratch + which->index;
  }
}

typedef struct job {
  const step *what;
  const float *a;
  float *out;
} job;

static void run_range(void *self, int64_t begin, int64_t end, uint32_t worker) {
  const job *work = self;
  const float alpha = work->what->alpha;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const float x = work->a[i];
    switch (work->what->op) {
      case OP_LEAKYRELU: work->out[i] = x < 0 ? alpha * x : x; break;
      case OP_NEG: work->out[i] = -x; break;
      default: work->out[i] = x < 0 ? -x : x == 0 ? 0 : x; break;
    }
  }
}

static void cancel(deputy_context *context, uint64_t run) {
  (void)run;
  __atomic_store_n(&context->cancelled, 1, __ATOMIC_RELEASE);
}

/* The device takes this many elements at a time; a run can end between two of them. */
enum { BLOCK = 1 << 16 };

static deputy_status *execute(deputy_context *context, const deputy_run_args *args) {
  const deputy_executable *executable = context->executable;
  const deputy_host *host = executable->host;
  if (args->flags != 0) return fail(host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  for (uint32_t i = 0; i < executable->step_count; ++i) {
    const step *todo = &executable->steps[i];
    const int64_t count = executable->slots[todo->out].count;
    for (int64_t at = 0; at < count; at += BLOCK) {
      job work = {todo, (const float *)data_of(executable, args, todo->in[0]) + at,
                  (float *)data_of(executable, args, todo->out) + at};
      if (__atomic_load_n(&context->cancelled, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&context->cancelled, 0, __ATOMIC_RELEASE);
        return fail(host, DEPUTY_CANCELLED, "the run was cancelled");
      }
      if (args->deadline_ns != 0 && host->clock_ns(host->self) > args->deadline_ns)
        return fail(host, DEPUTY_DEADLINE_EXCEEDED, "the deadline has passed");
      host->parallel_for(host->self, count - at < BLOCK ? count - at : BLOCK, 4096, run_range, &work);
    }
  }
  return NULL;
}

static const deputy_opset kOpset = {STR(""), 22, 0};
static const deputy_delegate kDelegate = {
    .struct_size = sizeof(deputy_delegate),
    .flags = 0,
    .id = STR("latecancel"),
    .description = STR("LeakyRelu, Neg and Abs in float32; runs can be cancelled"),
    .opsets = &kOpset,
    .opset_count = 1,
    .open = open_instance,
    .close = close_instance,
    .query_support = query_support,
    .compile = compile,
    .executable_destroy = executable_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .scratch_size = scratch_size,
    .execute = execute,
    .cancel = cancel,
};

static uint32_t delegate_count(const deputy_plugin *self) {
  (void)self;
  return 1;
}

static const deputy_delegate *delegate_at(const deputy_plugin *self, uint32_t index) {
  (void)self;
  return index == 0 ? &kDelegate : NULL;
}

static const deputy_plugin kPlugin = {
    .struct_size = sizeof(deputy_plugin),
    .abi_version = DEPUTY_ABI_VERSION,
    .min_host_abi = DEPUTY_ABI_MIN_HOST,
    .id = STR("com.example.latecancel"),
    .vendor = STR("Example"),
    .version = STR("1.0"),
    .delegate_count = delegate_count,
    .delegate_at = delegate_at,
};

DEPUTY_EXTERN_C DEPUTY_EXPORT const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved);
const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved) {
  (void)host_abi;
  (void)reserved;
  return &kPlugin;
}
