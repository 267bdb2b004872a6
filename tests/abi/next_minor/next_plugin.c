/* The small delegate as its vendor would ship it for the next minor version: it fills what was appended, asks for what
 * was appended, and lives without it on a host that does not have it. */
#define deputy_plugin_query_v1 small_query
#define SMALL_ID "small_next"
#include "languages/c/small.c"
#undef deputy_plugin_query_v1

#include "deputy/abi/ext/next.h"

/* One instance at a time is enough for a test; a real plugin keeps this in its instance. */
static uint64_t g_number, g_ticket, g_warm;

static uint64_t next_number(deputy_instance *instance) {
  (void)instance;
  return g_number;
}
static uint64_t next_ticket(deputy_instance *instance) {
  (void)instance;
  return g_ticket;
}
static uint64_t next_warm(deputy_instance *instance) {
  (void)instance;
  return g_warm;
}

static const void *next_get_extension(const deputy_delegate *self, const char *id) {
  static const deputy_ext_next kNext = {sizeof(deputy_ext_next), 0, next_ticket, next_number, next_warm};
  return strcmp(id, DEPUTY_EXT_NEXT) == 0 ? &kNext : get_extension(self, id);
}

static deputy_status *next_open(const deputy_delegate *self, const deputy_open_args *args, deputy_instance **out) {
  const deputy_host *host = args->host;
  if (DEPUTY_HAS_FN(host, deputy_host, next_number)) g_number = host->next_number(host->self);
  return open_instance(self, args, out);
}

/* Knows the definition that small.c does not. */
static void next_answer(void *self, deputy_node_id node, deputy_reason reason, deputy_str detail) {
  const deputy_support_sink *hosts = self;
  if (reason == DEPUTY_REASON_DEFINITION_TOO_NEW) {
    reason = DEPUTY_REASON_SUPPORTED;
    detail.size = 0;
  }
  hosts->answer(hosts->self, node, reason, detail);
}

static deputy_status *next_query_support(deputy_instance *instance, const deputy_graph *graph,
                                         const deputy_support_sink *sink) {
  deputy_support_sink mine;
  memset(&mine, 0, sizeof mine);
  mine.struct_size = sizeof mine;
  mine.self = (void *)sink;
  mine.answer = next_answer;
  return query_support(instance, graph, &mine);
}

static deputy_status *next_execute(deputy_context *context, const deputy_run_args *args) {
  if (DEPUTY_HAS(args, deputy_run_args, next_ticket)) g_ticket = args->next_ticket;
  return execute(context, args);
}

static deputy_status *next_warm_up(deputy_instance *instance, uint32_t rounds) {
  (void)instance;
  g_warm += rounds;
  return NULL;
}

static const deputy_opset kNextOpset = {STR(""), 99, 0};
static deputy_delegate g_delegate;
static deputy_plugin g_plugin;

static const deputy_delegate *next_delegate_at(const deputy_plugin *self, uint32_t index) {
  (void)self;
  return index == 0 ? &g_delegate : NULL;
}

DEPUTY_EXTERN_C DEPUTY_EXPORT const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved);
const deputy_plugin *deputy_plugin_query_v1(uint32_t host_abi, const void *reserved) {
  g_delegate = kDelegate;
  g_delegate.opsets = &kNextOpset;
  g_delegate.get_extension = next_get_extension;
  g_delegate.open = next_open;
  g_delegate.query_support = next_query_support;
  g_delegate.execute = next_execute;
  g_delegate.next_warm_up = next_warm_up;
  g_plugin = *small_query(host_abi, reserved);
  g_plugin.delegate_at = next_delegate_at;
  return &g_plugin;
}
