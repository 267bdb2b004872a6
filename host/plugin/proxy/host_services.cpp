#include "plugin/proxy/host_services.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/cancellation.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "plugin/checks/handles.hpp"
#include "plugin/checks/text.hpp"
#include "plugin/checks/thread_keeper.hpp"
#include "plugin/proxy/graph_handle.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kMaxLogLine = 8192;

const HostServices& Self(void* self) { return *static_cast<const HostServices*>(self); }

// Longer messages are truncated before they are read: the plugin's size is not trusted.
std::string_view Bounded(const char* text, uint64_t size) {
  return text == nullptr ? std::string_view() : std::string_view(text, std::min(size, kMaxLogLine));
}

deputy_status* Convert(void* self, const Status& status, deputy_node_id node = DEPUTY_NO_NODE) noexcept {
  if (status.ok()) return nullptr;
  return NewStatus(static_cast<deputy_code>(status.code()), node, status.message(), Self(self).handle_tracker());
}

// The host must not throw into a plugin, regardless of its language; the only possible failure is lack of memory.
template <class Fn>
deputy_status* Shielded(Fn fn) noexcept {
  try {
    return fn();
  } catch (...) {
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "");
  }
}

deputy_status* NoGraph(void* self) {
  return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, "graph must not be NULL", Self(self).handle_tracker());
}

const PartitionHelpers& Helpers(void* self) { return *static_cast<const PartitionHelpers*>(self); }

deputy_status* Wrong(void* self, std::string_view message) {
  return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, message, Self(self).handle_tracker());
}

// For functions of the extension, whose `self` is that of the helpers.
deputy_status* Wrong(std::string_view message, deputy_node_id node = DEPUTY_NO_NODE) {
  return NewStatus(DEPUTY_INVALID_ARGUMENT, node, message);
}

GraphView ViewOf(const deputy_graph& graph) {
  GraphView view{&graph.graph(), {}, std::vector<uint8_t>(graph.graph().nodes.size(), 0), graph.group_of()};
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    view.order.push_back(graph.node_at(i));
    view.offered[view.order.back()] = graph.offered(view.order.back());
  }
  return view;
}

extern "C" {

deputy_status* StatusNew(void* self, deputy_code code, deputy_node_id node, const char* message, uint64_t size) {
  HandleTracker* tracker = Self(self).IsOpen("status_new") ? Self(self).handle_tracker() : nullptr;
  return NewStatus(code, node, Bounded(message, size), tracker);
}

void StatusRelease(void*, deputy_status* status) { FreeStatus()(status); }

deputy_code StatusCodeOf(void*, const deputy_status* status) { return status == nullptr ? DEPUTY_OK : status->code; }

deputy_node_id StatusNode(void*, const deputy_status* status) {
  return status == nullptr ? DEPUTY_NO_NODE : status->node;
}

deputy_str StatusMessage(void*, const deputy_status* status) {
  return status == nullptr ? deputy_str{"", 0} : deputy_str{status->message.c_str(), status->message.size()};
}

void LogMessage(void* self, deputy_log_level level, const char* message, uint64_t size) {
  const auto wanted = static_cast<LogLevel>(std::clamp<deputy_log_level>(level, DEPUTY_LOG_DEBUG, DEPUTY_LOG_ERROR));
  try {
    (void)Self(self).IsOpen("log");
    if (LogEnabled(wanted, Self(self).source())) Self(self).Log(wanted, CleanText(Bounded(message, size), kMaxLogLine));
  } catch (...) {  // a lost line of log is not a failure
  }
}

const void* GetExtension(void* self, const char* id) { return id == nullptr ? nullptr : Self(self).Extension(id); }

uint32_t NodeCount(void* self, const deputy_graph* graph) {
  graph = Self(self).Lent("graph_node_count", graph);
  return graph == nullptr ? 0 : graph->node_count();
}

deputy_node_id NodeAt(void* self, const deputy_graph* graph, uint32_t index) {
  graph = Self(self).Lent("graph_node_at", graph);
  return graph == nullptr ? DEPUTY_NO_NODE : graph->node_at(index);
}

deputy_status* NodeInfo(void* self, const deputy_graph* graph, deputy_node_id node, deputy_node_info* out) {
  graph = Self(self).Lent("graph_node_info", graph);
  if (graph == nullptr) return NoGraph(self);
  return Shielded([&] { return Convert(self, graph->NodeInfo(node, out)); });
}

deputy_status* ValueInfo(void* self, const deputy_graph* graph, deputy_value_id value, deputy_value_info* out) {
  graph = Self(self).Lent("graph_value_info", graph);
  if (graph == nullptr) return NoGraph(self);
  return Shielded([&] { return Convert(self, graph->ValueInfo(value, out)); });
}

const deputy_value_id* GraphInputs(void* self, const deputy_graph* graph, uint32_t* count) {
  graph = Self(self).Lent("graph_inputs", graph);
  if (count != nullptr) *count = graph == nullptr ? 0 : static_cast<uint32_t>(graph->graph().inputs.size());
  return graph == nullptr ? nullptr : graph->graph().inputs.data();
}

const deputy_value_id* GraphOutputs(void* self, const deputy_graph* graph, uint32_t* count) {
  graph = Self(self).Lent("graph_outputs", graph);
  if (count != nullptr) *count = graph == nullptr ? 0 : static_cast<uint32_t>(graph->graph().outputs.size());
  return graph == nullptr ? nullptr : graph->graph().outputs.data();
}

// Null when it is not one.
const Tensor* ConstantOf(const deputy_graph& graph, deputy_value_id value) {
  const Graph& model = graph.graph();
  return value < model.values.size() && model.values[value].is_constant() ? &model.values[value].constant : nullptr;
}

deputy_status* ReadConstant(void* self, const deputy_graph* graph, deputy_value_id value, uint64_t offset,
                            uint64_t size, void* to) {
  graph = Self(self).Lent("constant_read", graph);
  if (graph == nullptr) return NoGraph(self);
  const Tensor* constant = ConstantOf(*graph, value);
  if (constant == nullptr) return Wrong(self, "the value is not a constant");
  const size_t bytes = constant->byte_size();
  if (offset > bytes || size > bytes - offset) return Wrong(self, "the bytes are outside of the constant");
  if (size == 0) return nullptr;
  if (to == nullptr) return Wrong(self, "'to' must not be NULL");
  const std::span<const uint8_t> part(static_cast<const uint8_t*>(constant->data()) + offset, size);
  const Graph& model = graph->graph();
  // Through the file, so that what is read once does not stay in the memory of the process.
  if (const std::optional<FilePlace> place = model.FileOf(*constant))
    if (ReadAt(place->descriptor, place->offset + offset, {static_cast<uint8_t*>(to), size})) return nullptr;
  std::memcpy(to, part.data(), part.size());
  return nullptr;
}

deputy_status* FindConstantFile(void* self, const deputy_graph* graph, deputy_value_id value, int32_t* descriptor,
                                uint64_t* offset) {
  graph = Self(self).Lent("constant_file", graph);
  if (graph == nullptr) return NoGraph(self);
  if (descriptor == nullptr || offset == nullptr) return Wrong(self, "descriptor and offset must not be NULL");
  const Tensor* constant = ConstantOf(*graph, value);
  if (constant == nullptr) return Wrong(self, "the value is not a constant");
  const std::optional<FilePlace> place = graph->graph().FileOf(*constant);
  if (!place)
    return NewStatus(DEPUTY_NOT_FOUND, DEPUTY_NO_NODE, "the constant is in no file", Self(self).handle_tracker());
  *descriptor = place->descriptor;
  *offset = place->offset;
  return nullptr;
}

deputy_status* NodeAttribute(void* self, const deputy_graph* graph, deputy_node_id node, const char* name,
                             deputy_attribute* out) {
  graph = Self(self).Lent("node_attribute", graph);
  if (graph == nullptr) return NoGraph(self);
  if (name == nullptr)
    return NewStatus(DEPUTY_INVALID_ARGUMENT, node, "the attribute name must not be NULL", Self(self).handle_tracker());
  return Shielded([&] { return Convert(self, graph->Attribute(node, name, out), node); });
}

void ParallelFor(void* self, int64_t count, int64_t grain, deputy_parallel_fn fn, void* job) {
  if (count <= 0 || fn == nullptr) return;
  ThreadPool* pool = Self(self).IsOpen("parallel_for") ? Self(self).pool() : nullptr;
  if (pool != nullptr) {
    const CancellationScope::Share whole(nullptr);  // a plugin is promised that all of its job is done
    // The pool's threads are the host's, and count as inside the call while they work for it.
    const CallSite* call = ThreadKeeper::Current();
    const CallSite site = call != nullptr ? *call : CallSite{Self(self).source(), "parallel_for"};
    pool->ParallelFor(count, grain, [&site, pool, fn, job](int64_t begin, int64_t end) {
      const ThreadKeeper keeper(site, Watch::kFloat);
      fn(job, begin, end, pool->worker());
    });
  } else {
    fn(job, 0, count, 0);
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

deputy_status* ClusterNodes(void* self, const deputy_graph* graph, const uint32_t* wanted, uint32_t count,
                            uint32_t* clusters, uint32_t* cluster_count) {
  if (graph == nullptr || clusters == nullptr || cluster_count == nullptr || (wanted == nullptr && count != 0))
    return Wrong("graph, wanted, clusters and cluster_count must not be NULL");
  if (count != graph->node_count()) return Wrong("'count' must be the number of nodes of the graph");
  return Shielded([&]() -> deputy_status* {
    std::vector<uint32_t> wishes(graph->graph().nodes.size(), 0);
    for (uint32_t i = 0; i < count; ++i) {
      const NodeId node = graph->node_at(i);
      if (wanted[i] != 0 && !graph->offered(node)) return Wrong("a wanted node was not offered", node);
      wishes[node] = wanted[i];
    }
    const PartitionHelpers::Clusters made = Helpers(self).Cluster(ViewOf(*graph), wishes);
    for (uint32_t i = 0; i < count; ++i) clusters[i] = made.cluster_of[graph->node_at(i)];
    *cluster_count = made.count;
    return nullptr;
  });
}

deputy_status* GroupQuantized(void* self, const deputy_graph* graph, const deputy_group_sink* sink) {
  if (graph == nullptr || sink == nullptr || !DEPUTY_HAS_FN(sink, deputy_group_sink, add))
    return Wrong("graph and sink must not be NULL");
  return Shielded([&]() -> deputy_status* {
    for (const std::vector<NodeId>& nodes : Helpers(self).QuantizedGroups(ViewOf(*graph))) {
      const deputy_group group{sizeof group, static_cast<uint32_t>(nodes.size()), nodes.data()};
      if (deputy_status* refused = sink->add(sink->self, &group)) return refused;
    }
    return nullptr;
  });
}

deputy_status* ReleaseConstant(void*, const deputy_graph* graph, deputy_value_id value) {
  if (graph == nullptr) return Wrong("graph must not be NULL");
  const Graph& model = graph->graph();
  if (value >= model.values.size() || !model.values[value].is_constant())
    return Wrong("the released value is not a constant");
  const Tensor& constant = model.values[value].constant;
  if (model.is_mapped(constant)) DropPages({static_cast<const uint8_t*>(constant.data()), constant.byte_size()});
  return nullptr;
}

deputy_status* FindNamedData(void*, const deputy_graph* graph, deputy_str key, const void** data, uint64_t* size) {
  if (graph == nullptr || data == nullptr || size == nullptr) return Wrong("graph, data and size must not be NULL");
  *data = nullptr;
  *size = 0;
  const std::string_view wanted = key.data == nullptr ? std::string_view() : std::string_view(key.data, key.size);
  for (const auto& [name, value] : graph->graph().metadata) {
    if (name != wanted) continue;
    *data = value.data();
    *size = value.size();
    break;
  }
  return nullptr;
}

}  // extern "C"

}  // namespace

HostServices::HostServices(std::string source, ThreadPool* pool, const PartitionHelpers* helpers, bool check)
    : log_(std::move(source)),
      pool_(pool),
      table_{},
      handle_tracker_(check ? std::make_unique<HandleTracker>() : nullptr) {
  // The ABI's `self` is not const; nothing behind it changes.
  if (helpers != nullptr)
    helpers_ = {sizeof(deputy_ext_partition_helpers),
                0,
                const_cast<PartitionHelpers*>(helpers),
                ClusterNodes,
                GroupQuantized,
                ReleaseConstant,
                FindNamedData};
  table_.struct_size = sizeof table_;
  table_.abi_version = DEPUTY_ABI_VERSION;
  table_.self = this;
  table_.status_new = StatusNew;
  table_.status_release = StatusRelease;
  table_.status_code = StatusCodeOf;
  table_.status_node = StatusNode;
  table_.status_message = StatusMessage;
  table_.log = LogMessage;
  table_.get_extension = GetExtension;
  table_.graph_node_count = NodeCount;
  table_.graph_node_at = NodeAt;
  table_.graph_node_info = NodeInfo;
  table_.graph_value_info = ValueInfo;
  table_.graph_inputs = GraphInputs;
  table_.graph_outputs = GraphOutputs;
  table_.constant_read = ReadConstant;
  table_.constant_file = FindConstantFile;
  table_.node_attribute = NodeAttribute;
  table_.parallel_for = ParallelFor;
  table_.thread_count = ThreadCount;
  table_.clock_ns = ClockNs;
}

const void* HostServices::Extension(std::string_view id) const {
  return helpers_ && id == DEPUTY_EXT_PARTITION_HELPERS ? &*helpers_ : nullptr;
}

const deputy_graph* HostServices::Lent(const char* function, const deputy_graph* graph) const {
  if (handle_tracker_ == nullptr || graph == nullptr || handle_tracker_->IsLent(graph)) return graph;
  Complain(function, "it uses a graph that is not, or no longer, lent to it");
  return nullptr;
}

bool HostServices::IsOpen(const char* function) const {
  if (handle_tracker_ == nullptr || !handle_tracker_->closed()) return true;
  Complain(function, "it is called after the instance was closed");
  return false;
}

void HostServices::Complain(const char* function, const char* fault) const noexcept {
  try {
    LogLine(LogLevel::kError, source(), fmt::format("{}: {}", function, fault));
  } catch (...) {  // no memory for the line; the plugin waits for this to return
  }
}

}  // namespace deputy::host
