// A sound plugin whose every function calls every function of the host first: on the thread of the call, and on one of
// its own. A line of the log says how they were answered: "right in deputy_delegate.open: deputy_host.log ...". One of
// its delegates proposes partitions, the other names groups.
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "answers.hpp"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/propose.h"

static const deputy_plugin* Table();
#define FIXTURE_ID "calls_back"
#define FIXTURE_NOTE_DELEGATES "calls_back,calls_back_groups"
#define FIXTURE_QUERY return Table()
#define FIXTURE_COMPILE free(partition->claim)
#define ABLE_EVENT                   \
  event.clock = DEPUTY_CLOCK_DEVICE; \
  event.begin_ns /= 2;               \
  event.end_ns /= 2
#include "fixtures/plugins/able.h"

namespace {

const deputy_host* plugin_host = nullptr;  // from init until shutdown
std::atomic<uint64_t> cancelled_run{0};
const uint32_t kWaitsForCancel = 3;  // a power level

// The host's table and the graph that a function gets, by its arguments.
template <class T>
const deputy_host* HostOf(T) {
  return nullptr;
}
const deputy_host* HostOf(const deputy_host* host) { return host; }
const deputy_host* HostOf(const deputy_open_args* args) { return args->host; }
const deputy_host* HostOf(deputy_instance* instance) { return instance->host; }
const deputy_host* HostOf(deputy_executable* executable) { return executable->instance->host; }
const deputy_host* HostOf(deputy_context* context) { return context->executable->instance->host; }
template <class T>
const deputy_graph* GraphOf(T) {
  return nullptr;
}
const deputy_graph* GraphOf(const deputy_graph* graph) { return graph; }
const deputy_graph* GraphOf(const deputy_compile_args* args) { return args->partition->graph; }
const deputy_graph* GraphOf(const deputy_partition* partition) { return partition->graph; }

void Report(const deputy_host* host, const char* slot, const char* how, const std::string& functions) {
  if (functions.empty()) return;
  const std::string line = std::string(how) + " in " + slot + ":" + functions;
  host->log(host->self, DEPUTY_LOG_INFO, line.data(), line.size());
}

void Report(const deputy_host* host, const char* slot, const calls_back::Answers& answers) {
  Report(host, slot, "right", answers.right);
  Report(host, slot, "wrong", answers.wrong);
  Report(host, slot, "absent", answers.absent);
}

// Functions that the host calls again and again call back a few times alone.
bool IsOneOfTheFirst(const char* slot) {
  static std::mutex mutex;
  static std::map<std::string, int> calls;
  const std::lock_guard lock(mutex);
  if (std::string(slot) == "deputy_plugin.init") calls.clear();
  return ++calls[slot] <= 3;
}

template <class... Args>
void CallBack(const char* slot, Args... args) {
  const deputy_host* host = nullptr;
  const deputy_graph* graph = nullptr;
  ((host = host != nullptr ? host : HostOf(args)), ...);
  ((graph = graph != nullptr ? graph : GraphOf(args)), ...);
  if (host == nullptr) host = plugin_host;
  if (host == nullptr || !IsOneOfTheFirst(slot)) return;
  Report(host, slot, calls_back::CallAll(host, graph));
  calls_back::Answers elsewhere;
  std::thread([&] { elsewhere = calls_back::CallAll(host, graph); }).join();
  Report(host, slot, elsewhere);
}

// A function of a table that calls back and then does what `function` does.
#define BACK(slot, function)  \
  [](auto... args) {          \
    CallBack(slot, args...);  \
    return function(args...); \
  }

deputy_status* Initialize(const deputy_plugin*, const deputy_host* host) {
  plugin_host = host;
  return nullptr;
}
void End(const deputy_plugin*) { plugin_host = nullptr; }

deputy_status* RunOrWait(deputy_context* context, const deputy_run_args* args) {
  if (args->power_level != kWaitsForCancel) return Execute(context, args);
  for (uint64_t last = cancelled_run; last != args->run; last = cancelled_run) cancelled_run.wait(last);
  return Fail(context->executable->instance->host, DEPUTY_CANCELLED, DEPUTY_NO_NODE, "cancelled");
}
void Cancel(deputy_context*, uint64_t run) {
  cancelled_run = run;
  cancelled_run.notify_all();
}
uint64_t ScratchSize(deputy_context*) { return 64; }

// Every Relu is a claim of its own.
deputy_status* Propose(deputy_instance* instance, const deputy_graph* graph, const deputy_claim_sink* sink) {
  const deputy_host* host = instance->host;
  for (uint32_t i = 0; i < host->graph_node_count(host->self, graph); ++i) {
    deputy_node_info node{};
    node.struct_size = sizeof node;
    if (deputy_status* failure =
            host->graph_node_info(host->self, graph, host->graph_node_at(host->self, graph, i), &node))
      return failure;
    if (node.op_type.size != 4 || std::memcmp(node.op_type.data, "Relu", 4) != 0) continue;
    const deputy_claim claim{sizeof claim, 1, &node.id, nullptr, nullptr, 0, 0, malloc(1)};
    if (deputy_status* failure = sink->add(sink->self, &claim)) return failure;
  }
  return nullptr;
}
void ClaimRelease(deputy_instance*, void* handle) { free(handle); }
deputy_status* Groups(deputy_instance* instance, const deputy_graph* graph, const deputy_group_sink* sink) {
  const deputy_host* host = instance->host;
  const deputy_node_id nodes[] = {host->graph_node_at(host->self, graph, 0), host->graph_node_at(host->self, graph, 1)};
  const deputy_group group{sizeof group, 2, nodes};
  return sink->add(sink->self, &group);
}
deputy_status* Estimate(deputy_instance*, const deputy_partition*, const deputy_estimate_sink* sink) {
  const deputy_estimate estimate{sizeof estimate, 1, {"", 0}, 1, 1, 1, nullptr, 0, 0};
  sink->answer(sink->self, &estimate);
  return nullptr;
}

deputy_status* GetOption(deputy_instance*, deputy_str, char* buffer, uint64_t capacity, uint64_t* size) {
  *size = 1;
  if (capacity > 1) std::memcpy(buffer, "1", 2);
  return nullptr;
}
deputy_status* SetOption(deputy_instance*, deputy_str, deputy_str) { return nullptr; }
deputy_status* Concurrency(deputy_instance*, uint32_t* flags) {
  *flags = 0;  // nothing overlaps: the host holds its limiter in each run
  return nullptr;
}
deputy_status* DeviceState(deputy_instance*, deputy_device_state* out) {
  out->level_requested = out->level_granted = 2;
  return nullptr;
}
deputy_status* Enumerate(const deputy_delegate*, const deputy_host*, const deputy_device_sink* sink) {
  const deputy_device_info device{sizeof device, DEPUTY_DEVICE_NPU, {"pci-0", 5}, {"first", 5}, {"", 0}, 0, 0};
  return sink->add(sink->self, &device);
}
deputy_status* Collect(deputy_context*, const deputy_profile_sink*) { return nullptr; }
deputy_status* Infer(const deputy_delegate*, const deputy_host*, const deputy_graph*, deputy_node_id,
                     const deputy_type_sink* sink) {
  const int64_t four = 4;
  return sink->set_output(sink->self, 0, DEPUTY_DTYPE_FLOAT32, &four, 1);
}
deputy_status* Compute(const deputy_delegate*, const deputy_host*, const deputy_graph*, deputy_node_id,
                       const deputy_run_args* args) {
  std::memcpy(args->outputs[0]->data, args->inputs[0]->data, args->outputs[0]->byte_size);
  return nullptr;
}

const deputy_capability kCapability{sizeof kCapability, 0, 0, 0, 4, 0, {"", 0}, {"Relu", 4}, nullptr, 0, 0, {"", 0}};
const deputy_option_info kDepth{sizeof kDepth,
                                DEPUTY_OPTION_INT,
                                {"depth", 5},
                                {"of the queue", 12},
                                {"", 0},
                                {"1", 1},
                                nullptr,
                                0,
                                0,
                                9,
                                0,
                                0,
                                DEPUTY_OPTION_SETTABLE,
                                0};
const deputy_operator_info kOwn{
    sizeof kOwn, 1, {"com.x", 5}, {"Own", 3}, {"own", 3}, 1, 4, 1, 1, nullptr, 0, DEPUTY_OPERATOR_HAS_KERNEL, 0};
template <class... Args>
uint32_t One(Args...) {
  return 1;
}
template <auto* row>
auto RowAt(const deputy_delegate*, uint32_t index) {
  return index == 0 ? row : nullptr;
}

const void* FindTable(const char* id, bool groups) {
  static const deputy_ext_blob kBlob{sizeof kBlob,
                                     DEPUTY_BLOB_COMPILE_ONLY,
                                     BACK("deputy_ext_blob.compatibility", Compatibility),
                                     BACK("deputy_ext_blob.check", CheckBlob),
                                     BACK("deputy_ext_blob.serialize", Serialize),
                                     BACK("deputy_ext_blob.restore", Restore)};
  static const deputy_ext_capabilities kCapabilities{
      sizeof kCapabilities, 0, BACK("deputy_ext_capabilities.capability_count", One),
      BACK("deputy_ext_capabilities.capability_at", RowAt<&kCapability>)};
  static const deputy_ext_concurrency kConcurrency{sizeof kConcurrency, 0,
                                                   BACK("deputy_ext_concurrency.concurrency", Concurrency)};
  static const deputy_ext_device_control kControl{sizeof kControl, 0,
                                                  BACK("deputy_ext_device_control.device_state", DeviceState)};
  static const deputy_ext_devices kDevices{sizeof kDevices, 0, BACK("deputy_ext_devices.enumerate", Enumerate)};
  static const deputy_ext_estimate kEstimate{sizeof kEstimate, 0, BACK("deputy_ext_estimate.estimate", Estimate)};
  static const deputy_ext_operators kOperators{sizeof kOperators,
                                               0,
                                               BACK("deputy_ext_operators.operator_count", One),
                                               BACK("deputy_ext_operators.operator_at", RowAt<&kOwn>),
                                               BACK("deputy_ext_operators.infer", Infer),
                                               BACK("deputy_ext_operators.compute", Compute)};
  static const deputy_ext_options kOptions{sizeof kOptions,
                                           0,
                                           BACK("deputy_ext_options.option_count", One),
                                           BACK("deputy_ext_options.option_at", RowAt<&kDepth>),
                                           BACK("deputy_ext_options.get_option", GetOption),
                                           BACK("deputy_ext_options.set_option", SetOption)};
  static const deputy_ext_profiling kProfiling{sizeof kProfiling,
                                               0,
                                               BACK("deputy_ext_profiling.debug_map", DescribeEvents),
                                               BACK("deputy_ext_profiling.set_profiling", SetProfiling),
                                               BACK("deputy_ext_profiling.collect", Collect),
                                               BACK("deputy_ext_profiling.correlate", Correlate)};
  static const deputy_ext_propose kPropose{sizeof kPropose, 0, BACK("deputy_ext_propose.propose", Propose),
                                           BACK("deputy_ext_propose.claim_release", ClaimRelease), nullptr};
  static const deputy_ext_propose kGroups{sizeof kGroups, 0, nullptr, nullptr,
                                          BACK("deputy_ext_propose.groups", Groups)};
  static const deputy_ext_resize kResize{sizeof kResize, 0, BACK("deputy_ext_resize.resize", Resize)};
  static const std::map<std::string, const void*> kTables = {{DEPUTY_EXT_BLOB, &kBlob},
                                                             {DEPUTY_EXT_CAPABILITIES, &kCapabilities},
                                                             {DEPUTY_EXT_CONCURRENCY, &kConcurrency},
                                                             {DEPUTY_EXT_DEVICE_CONTROL, &kControl},
                                                             {DEPUTY_EXT_DEVICES, &kDevices},
                                                             {DEPUTY_EXT_ESTIMATE, &kEstimate},
                                                             {DEPUTY_EXT_OPERATORS, &kOperators},
                                                             {DEPUTY_EXT_OPTIONS, &kOptions},
                                                             {DEPUTY_EXT_PROFILING, &kProfiling},
                                                             {DEPUTY_EXT_RESIZE, &kResize}};
  if (std::string(id) == DEPUTY_EXT_PROPOSE) return groups ? &kGroups : &kPropose;
  const auto found = kTables.find(id);
  return found == kTables.end() ? nullptr : found->second;
}
const void* TableOfProposing(const deputy_delegate*, const char* id) { return FindTable(id, false); }
const void* TableOfGrouping(const deputy_delegate*, const char* id) { return FindTable(id, true); }

const deputy_delegate kProposing{sizeof kProposing,
                                 0,
                                 {"calls_back", 10},
                                 {"calls back", 10},
                                 nullptr,
                                 &kOpset,
                                 1,
                                 BACK("deputy_delegate.probe", Probe),
                                 BACK("deputy_delegate.get_extension", TableOfProposing),
                                 BACK("deputy_delegate.open", Open),
                                 BACK("deputy_delegate.close", Close),
                                 BACK("deputy_delegate.query_support", QuerySupport),
                                 BACK("deputy_delegate.compile", Compile),
                                 BACK("deputy_delegate.executable_destroy", ExecutableDestroy),
                                 BACK("deputy_delegate.context_create", ContextCreate),
                                 BACK("deputy_delegate.context_destroy", ContextDestroy),
                                 BACK("deputy_delegate.scratch_size", ScratchSize),
                                 BACK("deputy_delegate.execute", RunOrWait),
                                 BACK("deputy_delegate.cancel", Cancel)};

const deputy_delegate* DelegateAtOf(const deputy_plugin*, uint32_t index) {
  static const deputy_delegate kGrouping = [] {
    deputy_delegate made = kProposing;
    made.id = {"calls_back_groups", 17};
    made.get_extension = BACK("deputy_delegate.get_extension", TableOfGrouping);
    return made;
  }();
  return index == 0 ? &kProposing : index == 1 ? &kGrouping : nullptr;
}
uint32_t Two(const deputy_plugin*) { return 2; }
const void* NoTable(const deputy_plugin*, const char*) { return nullptr; }

}  // namespace

static const deputy_plugin* Table() {
  static const deputy_plugin kTable{sizeof kTable,
                                    DEPUTY_ABI_VERSION,
                                    DEPUTY_ABI_MIN_HOST,
                                    0,
                                    {"calls_back", 10},
                                    {"Deputy's tests", 14},
                                    {"1", 1},
                                    nullptr,
                                    BACK("deputy_plugin.init", Initialize),
                                    BACK("deputy_plugin.shutdown", End),
                                    BACK("deputy_plugin.delegate_count", Two),
                                    BACK("deputy_plugin.delegate_at", DelegateAtOf),
                                    BACK("deputy_plugin.get_extension", NoTable)};
  return &kTable;
}
