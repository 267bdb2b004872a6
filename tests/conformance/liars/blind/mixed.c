/* The bug: the i-th entry of the host's list of precisions is taken as that of the i-th node of the partition, and its
 * node number is not read; right for lists that name every node in order, wrong for all others. */
#include <stdlib.h>
#include <string.h>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/note.h"

DEPUTY_NOTE("id=com.example.mixed\nversion=1.0\ndelegates=mixed\n");

#define STR(literal) \
  { (literal), sizeof(literal) - 1 }

enum { OP_ADD, OP_MUL, OP_COUNT };
#define NO_SLOT 0xffffffffu

/* The definitions whose meaning this source knows. */
static const struct {
  const char *name;
  uint32_t oldest, newest;
} kOps[OP_COUNT] = {
    {"Add", 7, 14},
    {"Mul", 7, 14},
};

struct deputy_instance {
  const deputy_host *host;
  int half; /* the option `compute` */
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
  int half;                /* computes in float16 */
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

static const deputy_str kCompute[] = {STR("float32"), STR("float16")};
static const deputy_option_info kOption = {
    .struct_size = sizeof(deputy_option_info),
    .type = DEPUTY_OPTION_ENUM,
    .name = STR("compute"),
    .help = STR("element type in which nodes compute"),
    .default_value = STR("float32"),
    .choices = kCompute,
    .choice_count = 2,
};

static uint32_t option_count(const deputy_delegate *self) {
  (void)self;
  return 1;
}

static const deputy_option_info *option_at(const deputy_delegate *self, uint32_t index) {
  (void)self;
  return index == 0 ? &kOption : NULL;
}

static deputy_status *get_option(deputy_instance *instance, deputy_str name, char *buffer, uint64_t capacity,
                                 uint64_t *size) {
  const deputy_str value = kCompute[instance->half];
  if (!is(name, "compute")) return fail(instance->host, DEPUTY_NOT_FOUND, "no such option");
  *size = value.size;
  if (value.size >= capacity) return fail(instance->host, DEPUTY_OUT_OF_MEMORY, "the buffer is too small");
  memcpy(buffer, value.data, value.size + 1);
  return NULL;
}

static const void *get_extension(const deputy_delegate *self, const char *id) {
  static const deputy_ext_options kTable = {sizeof(deputy_ext_options), 0, option_count, option_at, get_option, NULL};
  (void)self;
  return strcmp(id, DEPUTY_EXT_OPTIONS) == 0 ? &kTable : NULL;
}

static deputy_status *open_instance(const deputy_delegate *self, const deputy_open_args *args, deputy_instance **out) {
  deputy_instance *instance;
  (void)self;
  if (args->flags != 0) return fail(args->host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  instance = calloc(1, sizeof *instance);
  if (instance == NULL) return fail(args->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  instance->host = args->host;
  for (uint64_t i = 0; i < args->option_count; ++i)
    if (is(args->options[i].key, "compute")) instance->half = is(args->options[i].value, "float16");
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
    *reason = DEPUTY_REASON_SHAPE;
    *detail = "both sides must have one shape";
    if (value.rank != first.rank ||
        (value.rank != 0 && memcmp(value.dims, first.dims, value.rank * sizeof *value.dims) != 0))
      return NULL;
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

static deputy_status *add_steps(deputy_executable *executable, const deputy_compile_args *args, int half) {
  const deputy_partition *partition = args->partition;
  deputy_status *status = NULL;
  uint32_t at;
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
    made->half = half;
    if (i < args->precision_count && status == NULL) {
      const deputy_dtype compute = args->precision[i].compute;
      made->half = compute == DEPUTY_DTYPE_FLOAT16;
      if (compute != DEPUTY_DTYPE_FLOAT16 && compute != DEPUTY_DTYPE_FLOAT32)
        status = fail(executable->host, DEPUTY_NOT_SUPPORTED, "computes in float32 and float16 only");
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
               : add_steps(executable, args, instance->half);
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
  const float *a, *b;
  float *out;
} job;

/* To the nearest half. */
static float rounded(float value) {
  uint32_t bits, magnitude;
  memcpy(&bits, &value, sizeof bits);
  magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return value;
  if (magnitude < 0x38800000u) { /* a multiple of 2^-24, which is the last place of numbers from 0.5 on */
    float positive = value < 0 ? -value : value;
    positive = (positive + 0.5f) - 0.5f;
    memcpy(&magnitude, &positive, sizeof magnitude);
  } else {
    magnitude = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & ~0x1fffu;
    if (magnitude >= 0x47800000u) magnitude = 0x7f800000u;
  }
  bits = (bits & 0x80000000u) | (magnitude & 0x7fffffffu);
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void run_range(void *self, int64_t begin, int64_t end, uint32_t worker) {
  const job *work = self;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const float a = work->what->half ? rounded(work->a[i]) : work->a[i];
    const float b = work->what->half ? rounded(work->b[i]) : work->b[i];
    const float made = work->what->op == OP_ADD ? a + b : a * b;
    work->out[i] = work->what->half ? rounded(made) : made;
  }
}

static deputy_status *execute(deputy_context *context, const deputy_run_args *args) {
  const deputy_executable *executable = context->executable;
  const deputy_host *host = executable->host;
  if (args->flags != 0) return fail(host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  for (uint32_t i = 0; i < executable->step_count; ++i) {
    const step *todo = &executable->steps[i];
    job work = {todo, data_of(executable, args, todo->in[0]), NULL, data_of(executable, args, todo->out)};
    if (todo->in[1] != NO_SLOT) work.b = data_of(executable, args, todo->in[1]);
    host->parallel_for(host->self, executable->slots[todo->out].count, 4096, run_range, &work);
  }
  return NULL;
}

static const deputy_opset kOpset = {STR(""), 22, 0};
static const deputy_delegate kDelegate = {
    .struct_size = sizeof(deputy_delegate),
    .flags = 0,
    .id = STR("mixed"),
    .description = STR("Add and Mul in float32 or float16"),
    .opsets = &kOpset,
    .opset_count = 1,
    .get_extension = get_extension,
    .open = open_instance,
    .close = close_instance,
    .query_support = query_support,
    .compile = compile,
    .executable_destroy = executable_destroy,
    .context_create = context_create,
    .context_destroy = context_destroy,
    .scratch_size = scratch_size,
    .execute = execute,
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
    .id = STR("com.example.mixed"),
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
