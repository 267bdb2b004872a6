/* The delegate my_npu, on the bare C ABI: Relu in float32. A partition is as many Relus as the model connects; each of
 * its outputs is the Relu of the input that its chain begins with. The headers of deputy/abi define the contract of
 * each function, and ownership. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/options.h"

#define STR(literal) \
  { (literal), sizeof(literal) - 1 }

enum { NEWEST_RELU = 14 }; /* the newest definition that this source implements */

/* The delegate opened with options; the device would be here. */
struct deputy_instance {
  const deputy_host *host;
  int64_t grain;
};

/* A compiled partition, shared by all sessions. Weights in the device's format would live here. */
struct deputy_executable {
  const deputy_host *host;
  int64_t grain;
  uint32_t *source_of; /* for each output of the partition, the input that it is computed from */
};

/* One session's state for an executable. Buffers of a run would live here; this delegate needs none. */
struct deputy_context {
  const deputy_executable *executable;
};

static deputy_status *fail(const deputy_host *host, deputy_code code, const char *text) {
  return host->status_new(host->self, code, DEPUTY_NO_NODE, text, strlen(text));
}

/* A bit that this source does not know would change the meaning of a call. */
static deputy_status *unknown_flags(const deputy_host *host) {
  return fail(host, DEPUTY_INVALID_ARGUMENT, "flags have unknown bits");
}

static int is(deputy_str text, const char *literal) {
  return text.size == strlen(literal) && (text.size == 0 || memcmp(text.data, literal, text.size) == 0);
}

/* ---- options: the host checks a YAML against them */

static const deputy_option_info kOptions[] = {
    {
        .struct_size = sizeof(deputy_option_info),
        .type = DEPUTY_OPTION_INT,
        .name = STR("grain"),
        .help = STR("elements that are worth a thread"),
        .default_value = STR("4096"),
        .int_minimum = 1,
        .int_maximum = 1 << 24,
    },
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
  if (!is(name, "grain")) return fail(instance->host, DEPUTY_NOT_FOUND, "no such option");
  *size = (uint64_t)snprintf(text, sizeof text, "%lld", (long long)instance->grain);
  if (*size >= capacity) return fail(instance->host, DEPUTY_OUT_OF_MEMORY, "the buffer is too small");
  memcpy(buffer, text, *size + 1);
  return NULL;
}

static const void *get_extension(const deputy_delegate *self, const char *id) {
  static const deputy_ext_options kTable = {
      .struct_size = sizeof(deputy_ext_options),
      .option_count = option_count,
      .option_at = option_at,
      .get_option = get_option,
  };
  (void)self;
  return strcmp(id, DEPUTY_EXT_OPTIONS) == 0 ? &kTable : NULL;
}

/* ---- opening and closing */

static deputy_status *open_instance(const deputy_delegate *self, const deputy_open_args *args, deputy_instance **out) {
  deputy_instance *instance;
  (void)self;
  if (args->flags != 0) return unknown_flags(args->host);
  instance = calloc(1, sizeof *instance);
  if (instance == NULL) return fail(args->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  instance->host = args->host;
  instance->grain = 4096;
  for (uint64_t i = 0; i < args->option_count; ++i)
    if (is(args->options[i].key, "grain")) instance->grain = strtoll(args->options[i].value.data, NULL, 10);
  *out = instance;
  return NULL;
}

static void close_instance(deputy_instance *instance) { free(instance); }

/* ---- supported nodes: a "no" has a reason */

static deputy_status *judge(const deputy_host *host, const deputy_graph *graph, const deputy_node_info *node,
                            deputy_reason *reason, const char **detail) {
  deputy_value_info input;
  deputy_status *status;
  *reason = DEPUTY_REASON_OPERATOR_UNKNOWN;
  *detail = "only Relu is known";
  if (!is(node->domain, "") || !is(node->op_type, "Relu")) return NULL;
  *reason = DEPUTY_REASON_DEFINITION_TOO_NEW;
  *detail = "this definition is newer than the plugin";
  if (node->since_version > NEWEST_RELU) return NULL;
  memset(&input, 0, sizeof input);
  input.struct_size = sizeof input;
  status = host->graph_value_info(host->self, graph, node->inputs[0], &input);
  if (status != NULL) return status;
  *reason = DEPUTY_REASON_DTYPE;
  *detail = "float32 only";
  if (input.dtype != DEPUTY_DTYPE_FLOAT32) return NULL;
  *reason = DEPUTY_REASON_SHAPE_DYNAMIC;
  *detail = "extents must be known";
  if ((input.flags & DEPUTY_VALUE_SHAPE_KNOWN) == 0) return NULL;
  *reason = DEPUTY_REASON_OTHER;
  *detail = "a constant needs no device";
  if ((input.flags & DEPUTY_VALUE_CONSTANT) != 0) return NULL;
  *reason = DEPUTY_REASON_SUPPORTED;
  *detail = "";
  return NULL;
}

static deputy_status *query_support(deputy_instance *instance, const deputy_graph *graph,
                                    const deputy_support_sink *sink) {
  const deputy_host *host = instance->host;
  const uint32_t count = host->graph_node_count(host->self, graph);
  for (uint32_t i = 0; i < count; ++i) {
    deputy_node_info node;
    deputy_reason reason;
    const char *detail;
    deputy_str text;
    deputy_status *status;
    memset(&node, 0, sizeof node);
    node.struct_size = sizeof node;
    status = host->graph_node_info(host->self, graph, host->graph_node_at(host->self, graph, i), &node);
    if (status != NULL) return status;
    if ((node.flags & DEPUTY_NODE_OFFERED) == 0) continue;
    status = judge(host, graph, &node, &reason, &detail);
    if (status != NULL) return status;
    text.data = detail;
    text.size = strlen(detail);
    sink->answer(sink->self, node.id, reason, text);
  }
  return NULL;
}

/* ---- compiling: after NOT_SUPPORTED the nodes go to the next delegate */

static void executable_destroy(deputy_executable *executable) {
  free(executable->source_of);
  free(executable);
}

/* A value of the partition, and the input that it is computed from. */
typedef struct known_value {
  deputy_value_id value;
  uint32_t source;
} known_value;

static uint32_t source_of(const known_value *known, uint32_t count, deputy_value_id value) {
  uint32_t i = 0;
  while (i < count && known[i].value != value) ++i;
  return i < count ? known[i].source : 0;
}

static deputy_status *trace(const deputy_host *host, const deputy_partition *partition, known_value *known,
                            uint32_t *sources) {
  uint32_t count = 0;
  for (; count < partition->input_count; ++count) {
    known[count].value = partition->inputs[count];
    known[count].source = count;
  }
  for (uint32_t i = 0; i < partition->node_count; ++i, ++count) {
    deputy_node_info node;
    deputy_status *status;
    memset(&node, 0, sizeof node);
    node.struct_size = sizeof node;
    status = host->graph_node_info(host->self, partition->graph, partition->nodes[i], &node);
    if (status != NULL) return status;
    known[count].value = node.outputs[0];
    known[count].source = source_of(known, count, node.inputs[0]);
  }
  for (uint32_t i = 0; i < partition->output_count; ++i) sources[i] = source_of(known, count, partition->outputs[i]);
  return NULL;
}

static deputy_status *compile(deputy_instance *instance, const deputy_compile_args *args, deputy_executable **out) {
  const deputy_partition *partition = args->partition;
  known_value *known;
  deputy_executable *executable;
  deputy_status *status = NULL;
  if (args->flags != 0) return unknown_flags(instance->host);
  for (uint64_t i = 0; i < args->precision_count; ++i)
    if (args->precision[i].compute != DEPUTY_DTYPE_FLOAT32)
      return fail(instance->host, DEPUTY_NOT_SUPPORTED, "floats are computed in float32");
  known = calloc((size_t)partition->input_count + partition->node_count, sizeof *known);
  executable = calloc(1, sizeof *executable);
  if (executable != NULL) executable->source_of = calloc(partition->output_count, sizeof *executable->source_of);
  if (known == NULL || executable == NULL || executable->source_of == NULL) {
    status = fail(instance->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  } else {
    executable->host = instance->host;
    executable->grain = instance->grain;
    status = trace(instance->host, partition, known, executable->source_of);
  }
  free(known);
  if (status == NULL) {
    *out = executable;
  } else if (executable != NULL) {
    executable_destroy(executable);
  }
  return status;
}

/* ---- running */

static deputy_status *context_create(deputy_executable *executable, const deputy_context_args *args,
                                     deputy_context **out) {
  deputy_context *context;
  if (args->flags != 0) return unknown_flags(executable->host);
  context = calloc(1, sizeof *context);
  if (context == NULL) return fail(executable->host, DEPUTY_OUT_OF_MEMORY, "out of memory");
  context->executable = executable;
  *out = context;
  return NULL;
}

static void context_destroy(deputy_context *context) { free(context); }

typedef struct job {
  const float *in;
  float *out;
} job;

/* `worker` chooses scratch memory of a thread's own; this job needs none. */
static void run_range(void *self, int64_t begin, int64_t end, uint32_t worker) {
  const job *work = self;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) work->out[i] = work->in[i] < 0 ? 0 : work->in[i]; /* NaN stays NaN */
}

static deputy_status *execute(deputy_context *context, const deputy_run_args *args) {
  const deputy_executable *executable = context->executable;
  const deputy_host *host = executable->host;
  if (args->flags != 0) return unknown_flags(host);
  for (uint32_t i = 0; i < args->output_count; ++i) {
    job work;
    work.in = args->inputs[executable->source_of[i]]->data;
    work.out = args->outputs[i]->data;
    host->parallel_for(host->self, (int64_t)(args->outputs[i]->byte_size / sizeof(float)), executable->grain, run_range,
                       &work);
  }
  return NULL;
}

/* ---- the tables */

/* The host offers no node of a newer definition. */
static const deputy_opset kOpset = {STR(""), NEWEST_RELU, 0};

static const deputy_delegate kDelegate = {
    .struct_size = sizeof(deputy_delegate),
    .id = STR("my_npu"),
    .description = STR("Relu in float32"),
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
    .execute = execute,
    /* Optional: probe, scratch_size, cancel. */
};

static uint32_t delegate_count(const deputy_plugin *self) {
  (void)self;
  return 1;
}

static const deputy_delegate *delegate_at(const deputy_plugin *self, uint32_t index) {
  (void)self;
  return index == 0 ? &kDelegate : NULL;
}

/* Id, vendor and version come from CMakeLists.txt, which puts the same into the plugin's note. */
static const deputy_plugin kPlugin = {
    .struct_size = sizeof(deputy_plugin),
    .abi_version = DEPUTY_ABI_VERSION,
    .min_host_abi = DEPUTY_ABI_MIN_HOST,
    .id = STR(DEPUTY_PLUGIN_ID),
    .vendor = STR(DEPUTY_PLUGIN_VENDOR),
    .version = STR(DEPUTY_PLUGIN_VERSION),
    .delegate_count = delegate_count,
    .delegate_at = delegate_at,
};

DEPUTY_EXTERN_C DEPUTY_EXPORT const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved);
const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved) {
  (void)host_abi;
  (void)reserved;
  return &kPlugin;
}
