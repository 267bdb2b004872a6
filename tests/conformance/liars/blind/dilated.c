/* The bug: the columns of a convolution that need no bounds check are computed from the kernel's width without its
 * dilation, so that with dilations and padding at the right the last columns read the beginning of the next row instead
 * of zeros. */
#include <stdlib.h>
#include <string.h>

#include "deputy/abi/delegate.h"
#include "deputy/abi/note.h"

DEPUTY_NOTE("id=com.example.dilated\nversion=1.0\ndelegates=dilated\n");

#define STR(literal) \
  { (literal), sizeof(literal) - 1 }

enum { OP_CONV, OP_RELU, OP_COUNT };
#define NO_SLOT 0xffffffffu

/* The definitions whose meaning this source knows. */
static const struct {
  const char *name;
  uint32_t oldest, newest;
} kOps[OP_COUNT] = {
    {"Conv", 1, 22},
    {"Relu", 6, 14},
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
  int64_t count;   /* elements */
  int64_t dims[4]; /* of a tensor of rank 4 */
} slot;

typedef struct step {
  uint32_t op, in[3], out; /* slots */
  int64_t group, strides[2], dilations[2], pads[4];
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

static void ints_of(const deputy_host *host, const deputy_graph *graph, deputy_node_id node, const char *name,
                    int64_t *to, uint64_t count, int64_t fallback, deputy_status **status) {
  deputy_attribute found;
  if (*status != NULL) return;
  memset(&found, 0, sizeof found);
  found.struct_size = sizeof found;
  *status = host->node_attribute(host->self, graph, node, name, &found);
  if (*status != NULL) return;
  for (uint64_t i = 0; i < count; ++i)
    to[i] = found.type == DEPUTY_ATTRIBUTE_INTS && i < found.count ? found.ints[i] : fallback;
  if (found.type == DEPUTY_ATTRIBUTE_INT) to[0] = found.i;
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
  if (status == NULL && op == OP_CONV) {
    deputy_attribute pad;
    *reason = DEPUTY_REASON_RANK;
    *detail = "two-dimensional only";
    if (first.rank != 4) return NULL;
    memset(&pad, 0, sizeof pad);
    pad.struct_size = sizeof pad;
    status = host->node_attribute(host->self, graph, node->id, "auto_pad", &pad);
    *reason = DEPUTY_REASON_ATTRIBUTE;
    *detail = "explicit padding only";
    if (status != NULL || (pad.type == DEPUTY_ATTRIBUTE_STRING && !is(pad.s, "NOTSET"))) return status;
    memset(&pad, 0, sizeof pad);
    pad.struct_size = sizeof pad;
    status = host->node_attribute(host->self, graph, node->id, "pads", &pad);
    for (uint64_t i = 0; status == NULL && i < pad.count; ++i)
      if (pad.ints[i] < 0) return NULL;
    if (status != NULL) return status;
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
  if (value.rank == 4) memcpy(made->dims, value.dims, sizeof made->dims);
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
    made->group = 1;
    ints_of(executable->host, partition->graph, node.id, "strides", made->strides, 2, 1, &status);
    ints_of(executable->host, partition->graph, node.id, "dilations", made->dilations, 2, 1, &status);
    ints_of(executable->host, partition->graph, node.id, "pads", made->pads, 4, 0, &status);
    ints_of(executable->host, partition->graph, node.id, "group", &made->group, 1, 1, &status);
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
  const int64_t *x_dims, *w_dims, *y_dims;
  const float *x, *w, *bias;
  float *y;
} job;

/* Items are rows of the output. */
static void run_conv(void *self, int64_t begin, int64_t end, uint32_t worker) {
  const job *work = self;
  const step *what = work->what;
  const int64_t height = work->x_dims[2], width = work->x_dims[3], kernel = work->w_dims[3];
  const int64_t channels = work->w_dims[1], columns = work->y_dims[3], per_group = work->w_dims[0] / what->group;
  const int64_t stride = what->strides[1], left = what->pads[1], dilation = what->dilations[1];
  /* Outputs in [safe, unsafe) read no column outside of the picture. */
  const int64_t safe = (left + stride - 1) / stride;
  const int64_t unsafe = width - kernel + left < 0 ? 0 : (width - kernel + left) / stride + 1;
  (void)worker;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t oh = row % work->y_dims[2], m = row / work->y_dims[2] % work->y_dims[1];
    const int64_t n = row / work->y_dims[2] / work->y_dims[1], group = m / per_group;
    const float *image = work->x + (n * work->x_dims[1] + group * channels) * height * width;
    const float *picture_end = image + channels * height * width; /* no access behind it */
    const float *weights = work->w + m * channels * work->w_dims[2] * kernel;
    for (int64_t ow = 0; ow < columns; ++ow) {
      const int checked = ow < safe || ow >= unsafe;
      double sum = work->bias != NULL ? work->bias[m] : 0;
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t kh = 0; kh < work->w_dims[2]; ++kh) {
          const int64_t ih = oh * what->strides[0] - what->pads[0] + kh * what->dilations[0];
          const float *line = image + (c * height + ih) * width, *tap = weights + (c * work->w_dims[2] + kh) * kernel;
          const int bounded = checked || line + ow * stride - left + (kernel - 1) * dilation >= picture_end;
          if (ih < 0 || ih >= height) continue;
          for (int64_t kw = 0, iw = ow * stride - left; kw < kernel; ++kw, iw += dilation)
            if (!bounded || (iw >= 0 && iw < width)) sum += (double)line[iw] * tap[kw];
        }
      }
      work->y[row * columns + ow] = (float)sum;
    }
  }
}

static void run_relu(void *self, int64_t begin, int64_t end, uint32_t worker) {
  const job *work = self;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) work->y[i] = work->x[i] < 0 ? 0 : work->x[i]; /* NaN stays NaN */
}

static deputy_status *execute(deputy_context *context, const deputy_run_args *args) {
  const deputy_executable *executable = context->executable;
  const deputy_host *host = executable->host;
  if (args->flags != 0) return fail(host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
  for (uint32_t i = 0; i < executable->step_count; ++i) {
    const step *todo = &executable->steps[i];
    const slot *slots = executable->slots;
    job work = {todo, slots[todo->in[0]].dims, NULL, slots[todo->out].dims, NULL, NULL, NULL, NULL};
    work.x = data_of(executable, args, todo->in[0]);
    work.y = data_of(executable, args, todo->out);
    if (todo->op == OP_RELU) {
      host->parallel_for(host->self, slots[todo->out].count, 4096, run_relu, &work);
      continue;
    }
    work.w_dims = slots[todo->in[1]].dims;
    work.w = data_of(executable, args, todo->in[1]);
    if (todo->in[2] != NO_SLOT) work.bias = data_of(executable, args, todo->in[2]);
    if (slots[todo->out].count > 0)
      host->parallel_for(host->self, work.y_dims[0] * work.y_dims[1] * work.y_dims[2], 8, run_conv, &work);
  }
  return NULL;
}

static const deputy_opset kOpset = {STR(""), 22, 0};
static const deputy_delegate kDelegate = {
    .struct_size = sizeof(deputy_delegate),
    .flags = 0,
    .id = STR("dilated"),
    .description = STR("two-dimensional Conv and Relu in float32"),
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
    .id = STR("com.example.dilated"),
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
