#include "plugin/host_services.hpp"

#include <time.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "plugin/graph_handle.hpp"
#include "plugin/helper_table.hpp"
#include "plugin/status_handle.hpp"
#include "plugin/text.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kMaxLogLine = 8192;

const HostServices& Self(void* self) { return *static_cast<const HostServices*>(self); }

// Longer messages are cut before anything looks at them: the size is the plugin's word.
std::string_view Bounded(const char* text, uint64_t size) {
  return text == nullptr ? std::string_view() : std::string_view(text, std::min(size, kMaxLogLine));
}

deputy_status* Convert(const Status& status, deputy_node_id node = DEPUTY_NO_NODE) noexcept {
  if (status.ok()) return nullptr;
  return NewStatus(static_cast<deputy_code>(status.code()), node, status.message());
}

// The host must not throw into a plugin, whatever language that is written in; lack of memory is all that can happen.
template <class Fn>
deputy_status* Shielded(Fn fn) noexcept {
  try {
    return fn();
  } catch (...) {
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "");
  }
}

deputy_status* NoGraph() { return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "no graph was given"); }

extern "C" {

deputy_status* StatusNew(void*, deputy_code code, deputy_node_id node, const char* message, uint64_t size) {
  return NewStatus(code, node, Bounded(message, size));
}

void LogMessage(void* self, deputy_log_level level, const char* message, uint64_t size) {
  const auto wanted = static_cast<LogLevel>(std::clamp<deputy_log_level>(level, DEPUTY_LOG_DEBUG, DEPUTY_LOG_ERROR));
  try {
    const std::string& source = Self(self).source();
    if (LogEnabled(wanted, source)) LogLine(wanted, source, CleanText(Bounded(message, size), kMaxLogLine));
  } catch (...) {  // a lost line of log is no reason to fail
  }
}

const void* GetExtension(void* self, const char* id) { return id == nullptr ? nullptr : Self(self).Extension(id); }

uint32_t NodeCount(void*, const deputy_graph* graph) { return graph == nullptr ? 0 : graph->node_count(); }

deputy_node_id NodeAt(void*, const deputy_graph* graph, uint32_t index) {
  return graph == nullptr ? DEPUTY_NO_NODE : graph->node_at(index);
}

deputy_status* NodeInfo(void*, const deputy_graph* graph, deputy_node_id node, deputy_node_info* out) {
  if (graph == nullptr) return NoGraph();
  return Shielded([&] { return Convert(graph->NodeInfo(node, out)); });
}

deputy_status* ValueInfo(void*, const deputy_graph* graph, deputy_value_id value, deputy_value_info* out) {
  if (graph == nullptr) return NoGraph();
  return Shielded([&] { return Convert(graph->ValueInfo(value, out)); });
}

const deputy_value_id* GraphInputs(void*, const deputy_graph* graph, uint32_t* count) {
  if (count != nullptr) *count = graph == nullptr ? 0 : static_cast<uint32_t>(graph->graph().inputs.size());
  return graph == nullptr ? nullptr : graph->graph().inputs.data();
}

const deputy_value_id* GraphOutputs(void*, const deputy_graph* graph, uint32_t* count) {
  if (count != nullptr) *count = graph == nullptr ? 0 : static_cast<uint32_t>(graph->graph().outputs.size());
  return graph == nullptr ? nullptr : graph->graph().outputs.data();
}

deputy_status* NodeAttribute(void*, const deputy_graph* graph, deputy_node_id node, const char* name,
                             deputy_attribute* out) {
  if (graph == nullptr) return NoGraph();
  if (name == nullptr) return NewStatus(DEPUTY_INVALID_ARGUMENT, node, "no name of an attribute was given");
  return Shielded([&] { return Convert(graph->Attribute(node, name, out), node); });
}

void ParallelFor(void* self, int64_t count, int64_t grain, deputy_parallel_fn fn, void* job) {
  if (count <= 0 || fn == nullptr) return;
  if (ThreadPool* pool = Self(self).pool()) {
    pool->ParallelFor(count, grain, [fn, job](int64_t begin, int64_t end) { fn(job, begin, end); });
  } else {
    fn(job, 0, count);
  }
}

uint32_t ThreadCount(void* self) {
  const ThreadPool* pool = Self(self).pool();
  return pool == nullptr ? 1 : pool->thread_count();
}

uint64_t ClockNs(void*) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // extern "C"

}  // namespace

HostServices::HostServices(std::string source, ThreadPool* pool, const PartitionHelpers* helpers)
    : source_(std::move(source)), pool_(pool), table_{} {
  if (helpers != nullptr) helpers_ = MakeHelperTable(*helpers);
  table_.struct_size = sizeof table_;
  table_.abi_version = DEPUTY_ABI_VERSION;
  table_.self = this;
  table_.status_new = StatusNew;
  table_.log = LogMessage;
  table_.get_extension = GetExtension;
  table_.graph_node_count = NodeCount;
  table_.graph_node_at = NodeAt;
  table_.graph_node_info = NodeInfo;
  table_.graph_value_info = ValueInfo;
  table_.graph_inputs = GraphInputs;
  table_.graph_outputs = GraphOutputs;
  table_.node_attribute = NodeAttribute;
  table_.parallel_for = ParallelFor;
  table_.thread_count = ThreadCount;
  table_.clock_ns = ClockNs;
}

const void* HostServices::Extension(std::string_view id) const {
  return helpers_ && id == DEPUTY_EXT_PARTITION_HELPERS ? &*helpers_ : nullptr;
}

}  // namespace deputy::host
