/* A host in one file, built once with the headers as they are and once, with NEXT, with those of the next minor
 * version. It loads one plugin, shows it three nodes, runs what the plugin takes, and prints a line for each thing that
 * a test wants to know.
 *
 *   z = Relu-14(x + y), w = Relu-99(z); the definition 99 is of the next version */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deputy/abi/delegate.h"
#ifdef NEXT
#include "deputy/abi/ext/next.h"
#endif

enum { VALUES = 5, NODES = 3, COUNT = 6 };

struct deputy_status {
  char text[256];
};

static const int64_t kDims[2] = {2, 3};
static const char *const kValueNames[VALUES] = {"x", "y", "sum", "z", "w"};
static const deputy_value_id kInputs[NODES][2] = {{0, 1}, {2, 0}, {3, 0}};
static const deputy_value_id kOutputs[NODES] = {2, 3, 4};
static const deputy_value_id kGraphInputs[2] = {0, 1}, kGraphOutputs[2] = {3, 4};
static deputy_reason g_answers[NODES];

static deputy_str str(const char *text) {
  deputy_str made;
  made.data = text;
  made.size = strlen(text);
  return made;
}

/* Fills no more than the caller's struct holds, which is what lets an old plugin live on this host. */
static void fill(void *out, const void *made, size_t size) {
  uint32_t struct_size;
  memcpy(&struct_size, out, sizeof struct_size);
  memcpy((char *)out + sizeof struct_size, (const char *)made + sizeof struct_size,
         (struct_size < size ? struct_size : size) - sizeof struct_size);
}

static deputy_status *status_new(void *self, deputy_code code, deputy_node_id node, const char *message,
                                 uint64_t size) {
  deputy_status *made = calloc(1, sizeof *made);
  (void)self;
  if (made == NULL) abort();
  snprintf(made->text, sizeof made->text, "code %d, node %u: %.*s", (int)code, (unsigned)node, (int)size, message);
  return made;
}

static void log_line(void *self, deputy_log_level level, const char *message, uint64_t size) {
  (void)self;
  printf("log %d: %.*s\n", (int)level, (int)size, message);
}

static const void *get_extension(void *self, const char *id) {
  (void)self;
  (void)id;
  return NULL;
}

static uint32_t graph_node_count(void *self, const deputy_graph *graph) {
  (void)self;
  (void)graph;
  return NODES;
}

static deputy_node_id graph_node_at(void *self, const deputy_graph *graph, uint32_t index) {
  (void)self;
  (void)graph;
  return index;
}

static deputy_status *graph_node_info(void *self, const deputy_graph *graph, deputy_node_id node,
                                      deputy_node_info *out) {
  deputy_node_info made;
  (void)graph;
  if (node >= NODES) return status_new(self, DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "no such node", 12);
  memset(&made, 0, sizeof made);
  made.id = node;
  made.domain = str("");
  made.op_type = str(node == 0 ? "Add" : "Relu");
  made.name = str(node == 0 ? "add" : node == 1 ? "relu" : "relu_next");
  made.since_version = node == 2 ? 99 : 14;
  made.flags = DEPUTY_NODE_OFFERED;
  made.input_count = node == 0 ? 2 : 1;
  made.output_count = 1;
  made.inputs = kInputs[node];
  made.outputs = &kOutputs[node];
  fill(out, &made, sizeof made);
  return NULL;
}

static deputy_status *graph_value_info(void *self, const deputy_graph *graph, deputy_value_id value,
                                       deputy_value_info *out) {
  deputy_value_info made;
  (void)graph;
  if (value >= VALUES) return status_new(self, DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "no such value", 13);
  memset(&made, 0, sizeof made);
  made.id = value;
  made.name = str(kValueNames[value]);
  made.dtype = DEPUTY_DTYPE_FLOAT32;
  made.rank = 2;
  made.dims = kDims;
  made.flags = DEPUTY_VALUE_SHAPE_KNOWN;
  fill(out, &made, sizeof made);
  return NULL;
}

static const deputy_value_id *graph_inputs(void *self, const deputy_graph *graph, uint32_t *count) {
  (void)self;
  (void)graph;
  *count = 2;
  return kGraphInputs;
}

static const deputy_value_id *graph_outputs(void *self, const deputy_graph *graph, uint32_t *count) {
  (void)self;
  (void)graph;
  *count = 2;
  return kGraphOutputs;
}

static deputy_status *node_attribute(void *self, const deputy_graph *graph, deputy_node_id node, const char *name,
                                     deputy_attribute *out) {
  deputy_attribute made;
  (void)self;
  (void)graph;
  (void)node;
  (void)name;
  memset(&made, 0, sizeof made);
  fill(out, &made, sizeof made);
  return NULL;
}

static void parallel_for(void *self, int64_t count, int64_t grain, deputy_parallel_fn run, void *job) {
  (void)self;
  (void)grain;
  if (count > 0) run(job, 0, count, 0);
}

static uint32_t thread_count(void *self) {
  (void)self;
  return 1;
}

static uint64_t clock_ns(void *self) {
  (void)self;
  return 1;
}

#ifdef NEXT
static uint64_t next_number(void *self) {
  (void)self;
  return 4711;
}
#endif

static void answer(void *self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
  (void)self;
  if (node >= NODES) return;
  g_answers[node] = reason;
  printf("node %u: reason %u %.*s\n", (unsigned)node, (unsigned)reason, (int)detail.size, detail.data);
}

static void must(deputy_status *status, const char *what) {
  if (status == NULL) return;
  printf("%s failed: %s\n", what, status->text);
  exit(1);
}

static uint32_t never_cancelled(void *self) {
  (void)self;
  return 0;
}

static void no_progress(void *self, uint32_t permille, deputy_str step) {
  (void)self;
  (void)permille;
  (void)step;
}

static deputy_tensor tensor(float *data) {
  deputy_tensor made;
  memset(&made, 0, sizeof made);
  made.struct_size = sizeof made;
  made.dtype = DEPUTY_DTYPE_FLOAT32;
  made.rank = 2;
  made.dims = kDims;
  made.data = data;
  made.byte_size = COUNT * sizeof *data;
  return made;
}

/* Compiles the supported nodes, runs them, and compares. */
static void run(const deputy_delegate *delegate, deputy_instance *instance) {
  const int with_next = g_answers[2] == DEPUTY_REASON_SUPPORTED;
  static const deputy_node_id kNodes[NODES] = {0, 1, 2};
  float x[COUNT] = {-3, -2, -1, 0, 1, 2}, y[COUNT] = {1, 2, 3, 4, 5, -6}, z[COUNT] = {0}, w[COUNT] = {0};
  const float want[COUNT] = {0, 0, 2, 4, 6, 0};
  const deputy_tensor tensors[4] = {tensor(x), tensor(y), tensor(z), tensor(w)};
  const deputy_tensor *const inputs[2] = {&tensors[0], &tensors[1]};
  const deputy_tensor *const outputs[2] = {&tensors[2], &tensors[3]};
  deputy_partition partition;
  deputy_control control;
  deputy_compile_args compile_args;
  deputy_context_args context_args;
  deputy_run_args args;
  deputy_executable *executable = NULL;
  deputy_context *context = NULL;
  memset(&partition, 0, sizeof partition);
  partition.struct_size = sizeof partition;
  partition.node_count = with_next ? 3 : 2;
  partition.nodes = kNodes;
  partition.inputs = kGraphInputs;
  partition.input_count = 2;
  partition.outputs = kGraphOutputs;
  partition.output_count = with_next ? 2 : 1;
  partition.name = str("test");
  memset(&control, 0, sizeof control);
  control.struct_size = sizeof control;
  control.cancelled = never_cancelled;
  control.progress = no_progress;
  memset(&compile_args, 0, sizeof compile_args);
  compile_args.struct_size = sizeof compile_args;
  compile_args.partition = &partition;
  compile_args.control = &control;
  must(delegate->compile(instance, &compile_args, &executable), "compile");
  memset(&context_args, 0, sizeof context_args);
  context_args.struct_size = sizeof context_args;
  must(delegate->context_create(executable, &context_args, &context), "context_create");
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.input_count = 2;
  args.output_count = with_next ? 2 : 1;
  args.inputs = inputs;
  args.outputs = outputs;
  args.run = 1;
#ifdef NEXT
  args.next_ticket = 17;
#endif
  must(delegate->execute(context, &args), "execute");
  printf("z is %s\n", memcmp(z, want, sizeof want) == 0 ? "right" : "wrong");
  if (with_next) printf("w is %s\n", memcmp(w, want, sizeof want) == 0 ? "right" : "wrong");
  delegate->context_destroy(context);
  delegate->executable_destroy(executable);
}

static void use_what_is_new(const deputy_delegate *delegate, deputy_instance *instance, int after_the_run) {
#ifdef NEXT
  const deputy_ext_next *next = DEPUTY_HAS_FN(delegate, deputy_delegate, get_extension)
                                    ? delegate->get_extension(delegate, DEPUTY_EXT_NEXT)
                                    : NULL;
  if (!after_the_run && DEPUTY_HAS_FN(delegate, deputy_delegate, next_warm_up)) {
    must(delegate->next_warm_up(instance, 3), "warm_up");
    printf("warm-up called\n");
  } else if (!after_the_run) {
    printf("warm-up absent\n");
  } else if (next == NULL) {
    printf("extension absent\n");
  } else {
    printf("extension: ticket %d, number %d, warmed up %d\n", (int)next->last_ticket(instance),
           (int)next->number(instance), (int)next->warmed_up(instance));
  }
#else
  (void)delegate;
  (void)instance;
  (void)after_the_run;
#endif
}

int main(int argc, char **argv) {
  deputy_host host;
  deputy_support_sink sink;
  deputy_open_args open_args;
  deputy_plugin_query_fn query;
  const deputy_plugin *plugin;
  const deputy_delegate *delegate;
  deputy_instance *instance = NULL;
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  void *symbol = library != NULL ? dlsym(library, DEPUTY_ENTRY_SYMBOL) : NULL;
  if (symbol == NULL) {
    printf("cannot load the plugin: %s\n", dlerror());
    return 1;
  }
  memset(&host, 0, sizeof host);
  host.struct_size = sizeof host;
  host.abi_version = DEPUTY_ABI_VERSION;
  host.status_new = status_new;
  host.log = log_line;
  host.get_extension = get_extension;
  host.graph_node_count = graph_node_count;
  host.graph_node_at = graph_node_at;
  host.graph_node_info = graph_node_info;
  host.graph_value_info = graph_value_info;
  host.graph_inputs = graph_inputs;
  host.graph_outputs = graph_outputs;
  host.node_attribute = node_attribute;
  host.parallel_for = parallel_for;
  host.thread_count = thread_count;
  host.clock_ns = clock_ns;
#ifdef NEXT
  host.next_number = next_number;
#endif
  memcpy(&query, &symbol, sizeof query);
  plugin = query(DEPUTY_ABI_VERSION, NULL);
  if (plugin == NULL || plugin->delegate_count(plugin) != 1) {
    printf("no plugin with one delegate\n");
    return 1;
  }
  if (plugin->abi_version >> 16 != DEPUTY_ABI_MAJOR || plugin->min_host_abi > DEPUTY_ABI_VERSION) {
    printf("needs a host of %u.%u\n", (unsigned)(plugin->min_host_abi >> 16),
           (unsigned)(plugin->min_host_abi & 0xffff));
    return 2;
  }
  if (plugin->init != NULL) must(plugin->init(plugin, &host), "init");
  delegate = plugin->delegate_at(plugin, 0);
  memset(&open_args, 0, sizeof open_args);
  open_args.struct_size = sizeof open_args;
  open_args.host = &host;
  open_args.name = str("test");
  must(delegate->open(delegate, &open_args, &instance), "open");
  use_what_is_new(delegate, instance, 0);
  memset(&sink, 0, sizeof sink);
  sink.struct_size = sizeof sink;
  sink.answer = answer;
  must(delegate->query_support(instance, NULL, &sink), "query_support");
  run(delegate, instance);
  use_what_is_new(delegate, instance, 1);
  delegate->close(instance);
  if (plugin->shutdown != NULL) plugin->shutdown(plugin);
  return 0;
}
