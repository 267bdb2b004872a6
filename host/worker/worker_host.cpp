#include "worker/worker_host.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "worker/graph_mirror.hpp"

namespace deputy::host {
namespace {

constexpr uint64_t kMaxLine = 8192;

const WorkerHost& Self(void* self) { return static_cast<const WorkerHost&>(*static_cast<const HostServices*>(self)); }

deputy_status* NoGraph(const deputy_graph* graph) {
  return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE,
                   graph == nullptr ? "graph must not be NULL" : "graph is not that of a call in progress");
}

deputy_status* Missing(std::string_view text) { return NewStatus(DEPUTY_INVALID_ARGUMENT, DEPUTY_NO_NODE, text); }

// Nothing is thrown into a plugin.
template <class Function>
deputy_status* Shielded(const deputy_graph* graph, Function function) noexcept {
  GraphMirror* const mirror = GraphMirror::Of(graph);
  if (mirror == nullptr) return NoGraph(graph);
  try {
    return function(*mirror);
  } catch (...) {
    return NewStatus(DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "");
  }
}

void LogMessage(void* self, deputy_log_level level, const char* message, uint64_t size) {
  const std::string_view text =
      message == nullptr ? std::string_view() : std::string_view(message, std::min(size, kMaxLine));
  try {
    SendLog(Self(self).key(), level, text);
  } catch (...) {  // a lost line of log is not a failure
  }
}

const void* GetExtension(void* self, const char* id) {
  const WorkerHost& host = Self(self);
  const bool known = id != nullptr && std::string_view(id) == DEPUTY_EXT_PARTITION_HELPERS;
  return known && host.has_helpers() ? host.helpers() : nullptr;
}

uint32_t NodeCount(void*, const deputy_graph* graph) {
  GraphMirror* const mirror = GraphMirror::Of(graph);
  return mirror == nullptr ? 0 : static_cast<uint32_t>(mirror->Order().size());
}

deputy_node_id NodeAt(void*, const deputy_graph* graph, uint32_t index) {
  GraphMirror* const mirror = GraphMirror::Of(graph);
  if (mirror == nullptr) return DEPUTY_NO_NODE;
  const std::vector<deputy_node_id>& order = mirror->Order();
  return index < order.size() ? order[index] : DEPUTY_NO_NODE;
}

const deputy_value_id* GraphEnds(const deputy_graph* graph, Function which, uint32_t* count) {
  if (count != nullptr) *count = 0;
  GraphMirror* const mirror = GraphMirror::Of(graph);
  if (mirror == nullptr) return nullptr;
  const std::vector<deputy_value_id>& values = mirror->GraphEnds(which);
  if (count != nullptr) *count = static_cast<uint32_t>(values.size());
  return values.data();
}

deputy_status* Cluster(void*, const deputy_graph* graph, const uint32_t* wanted, uint32_t count, uint32_t* clusters,
                       uint32_t* cluster_count) {
  return Shielded(graph, [&](GraphMirror& mirror) -> deputy_status* {
    if (clusters == nullptr || cluster_count == nullptr || (wanted == nullptr && count != 0))
      return Missing("wanted, clusters and cluster_count must not be NULL");
    // Before so many wishes are read and sent.
    if (count != mirror.Order().size()) return Missing("'count' must be the number of nodes of the graph");
    const auto reply = mirror.channel().Ask<WireClusters>(Function::kCluster, Ids{wanted, count});
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    const WireClusters& made = (*reply)->payload;
    if (made.cluster_of.count != count) EndWorker();
    if (count != 0) std::memcpy(clusters, made.cluster_of.ids, count * sizeof *clusters);
    *cluster_count = made.count;
    return nullptr;
  });
}

deputy_status* QuantizedGroups(void*, const deputy_graph* graph, const deputy_group_sink* sink) {
  return Shielded(graph, [&](GraphMirror& mirror) -> deputy_status* {
    if (sink == nullptr || !DEPUTY_HAS_FN(sink, deputy_group_sink, add)) return Missing("sink must not be NULL");
    const auto reply = mirror.channel().Ask<WireGroups>(Function::kQuantizedGroups, WireNumber());
    if (deputy_status* failure = StatusOf((*reply)->outcome)) return failure;
    for (const Ids& nodes : (*reply)->payload.groups) {
      const deputy_group group{sizeof group, static_cast<uint32_t>(nodes.count), nodes.ids};
      if (deputy_status* refused = sink->add(sink->self, &group)) return refused;
    }
    return nullptr;
  });
}

deputy_status* ConstantRelease(void*, const deputy_graph* graph, deputy_value_id value) {
  return Shielded(
      graph, [&](GraphMirror& mirror) { return mirror.channel().Ask(Function::kConstantRelease, WireNumber{value}); });
}

deputy_status* NamedData(void*, const deputy_graph* graph, deputy_str key, const void** data, uint64_t* size) {
  return Shielded(graph, [&](GraphMirror& mirror) -> deputy_status* {
    if (data == nullptr || size == nullptr) return Missing("data and size must not be NULL");
    return mirror.NamedData(key, data, size);
  });
}

}  // namespace

WorkerHost::WorkerHost(std::string source, ThreadPool* pool)
    : HostServices(std::move(source), pool), table_(*HostServices::table()) {
  table_.log = LogMessage;
  table_.get_extension = GetExtension;
  FillGraph();
  helpers_ = {sizeof helpers_,        0, static_cast<HostServices*>(this), Cluster, QuantizedGroups, ConstantRelease,
              deputy::host::NamedData};
}

void WorkerHost::FillGraph() {
  table_.graph_node_count = NodeCount;
  table_.graph_node_at = NodeAt;
  table_.graph_node_info = [](void*, const deputy_graph* graph, deputy_node_id node, deputy_node_info* out) {
    return Shielded(graph, [&](GraphMirror& mirror) { return mirror.NodeInfo(node, out); });
  };
  table_.graph_value_info = [](void*, const deputy_graph* graph, deputy_value_id value, deputy_value_info* out) {
    return Shielded(graph, [&](GraphMirror& mirror) { return mirror.ValueInfo(value, out); });
  };
  table_.graph_inputs = [](void*, const deputy_graph* graph, uint32_t* count) {
    return GraphEnds(graph, Function::kGraphInputs, count);
  };
  table_.graph_outputs = [](void*, const deputy_graph* graph, uint32_t* count) {
    return GraphEnds(graph, Function::kGraphOutputs, count);
  };
  table_.constant_read = [](void*, const deputy_graph* graph, deputy_value_id value, uint64_t offset, uint64_t size,
                            void* to) {
    return Shielded(graph, [&](GraphMirror& mirror) { return mirror.ConstantRead(value, offset, size, to); });
  };
  table_.constant_file = [](void*, const deputy_graph* graph, deputy_value_id value, int32_t* descriptor,
                            uint64_t* offset) {
    return Shielded(graph, [&](GraphMirror& mirror) { return mirror.ConstantFile(value, descriptor, offset); });
  };
  table_.node_attribute = [](void*, const deputy_graph* graph, deputy_node_id node, const char* name,
                             deputy_attribute* out) {
    return Shielded(graph, [&](GraphMirror& mirror) { return mirror.Attribute(node, name, out); });
  };
}

WorkerHost* WorkerHosts::Acquire(const HostForm& form) {
  const std::lock_guard lock(mutex_);
  Used& used = used_.try_emplace(form.key, Used{nullptr, 0}).first->second;
  ++used.users;
  if (used.host != nullptr) return used.host;
  const uint32_t threads = std::max(form.thread_count, 1u);
  std::unique_ptr<ThreadPool>& pool = pools_[threads];
  if (pool == nullptr) pool = std::make_unique<ThreadPool>(threads);
  const auto again =
      std::find_if(free_.begin(), free_.end(), [&](const WorkerHost* host) { return host->pool() == pool.get(); });
  if (again != free_.end()) {
    used.host = *again;
    free_.erase(again);
  } else {
    used.host = new WorkerHost(source_, pool.get());
  }
  used.host->Become(form);
  return used.host;
}

void WorkerHosts::Release(WorkerHost* host) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(host->key());
  if (found == used_.end() || --found->second.users != 0) return;
  free_.push_back(host);
  used_.erase(found);
}

}  // namespace deputy::host
