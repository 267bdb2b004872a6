#include "answers.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include "deputy/abi/ext/partition_helpers.h"

namespace calls_back {
namespace {

struct Caller {
  const deputy_host* host;
  const deputy_graph* graph;
  Answers answers = {};

  void Say(const char* function, bool right) { (right ? answers.right : answers.wrong) += std::string(" ") + function; }
  // Releases the status.
  bool Has(deputy_status* status, deputy_code code) const {
    const bool same = host->status_code(host->self, status) == code;
    host->status_release(host->self, status);
    return same;
  }
  // Success with a graph; without one the call is refused.
  bool Fits(deputy_status* status) const { return Has(status, graph == nullptr ? DEPUTY_INVALID_ARGUMENT : DEPUTY_OK); }
};

void CallStatuses(Caller& caller) {
  const deputy_host* host = caller.host;
  deputy_status* status = host->status_new(host->self, DEPUTY_UNAVAILABLE, 3, "text", 4);
  caller.Say("deputy_host.status_new", status != nullptr);
  caller.Say("deputy_host.status_code", host->status_code(host->self, status) == DEPUTY_UNAVAILABLE);
  caller.Say("deputy_host.status_node", host->status_node(host->self, status) == 3);
  const deputy_str message = host->status_message(host->self, status);
  caller.Say("deputy_host.status_message", message.size == 4 && std::memcmp(message.data, "text", 4) == 0);
  host->status_release(host->self, status);
  host->status_release(host->self, nullptr);
  caller.Say("deputy_host.status_release", true);
}

struct Job {
  const deputy_host* host;
  const deputy_graph* graph;
  std::atomic<int64_t> items{0}, inner_items{0};
};

// The host is called from its own threads, too, and from a job inside a job.
void RunRange(void* data, int64_t begin, int64_t end, uint32_t) {
  Job& job = *static_cast<Job*>(data);
  const deputy_host* host = job.host;
  host->log(host->self, DEPUTY_LOG_DEBUG, "in a job", 8);
  host->status_release(host->self, host->status_new(host->self, DEPUTY_INTERNAL, 0, "", 0));
  (void)host->graph_node_count(host->self, job.graph);
  host->parallel_for(
      host->self, 4, 1,
      [](void* outer, int64_t from, int64_t to, uint32_t) { static_cast<Job*>(outer)->inner_items += to - from; },
      &job);
  job.items += end - begin;
}

void CallServices(Caller& caller) {
  const deputy_host* host = caller.host;
  host->log(host->self, DEPUTY_LOG_DEBUG, "a line", 6);
  caller.Say("deputy_host.log", true);
  caller.Say("deputy_host.get_extension", host->get_extension(host->self, "com.example.none/1") == nullptr);
  caller.Say("deputy_host.thread_count", host->thread_count(host->self) >= 1);
  caller.Say("deputy_host.clock_ns", host->clock_ns(host->self) != 0);
  Job job{host, caller.graph};
  host->parallel_for(host->self, 16, 4, RunRange, &job);
  caller.Say("deputy_host.parallel_for", job.items == 16 && job.inner_items >= 4 && job.inner_items % 4 == 0);
}

void CallGraph(Caller& caller) {
  const deputy_host* host = caller.host;
  const deputy_graph* graph = caller.graph;
  const bool none = graph == nullptr;
  caller.Say("deputy_host.graph_node_count", (host->graph_node_count(host->self, graph) == 0) == none);
  const deputy_node_id id = host->graph_node_at(host->self, graph, 0);
  caller.Say("deputy_host.graph_node_at", (id == DEPUTY_NO_NODE) == none);
  deputy_node_info node{};
  node.struct_size = sizeof node;
  caller.Say("deputy_host.graph_node_info", caller.Fits(host->graph_node_info(host->self, graph, id, &node)));
  const deputy_value_id input = none ? 0 : node.inputs[0];
  deputy_value_info value{};
  value.struct_size = sizeof value;
  caller.Say("deputy_host.graph_value_info", caller.Fits(host->graph_value_info(host->self, graph, input, &value)));
  uint32_t count = 7;
  caller.Say("deputy_host.graph_inputs",
             (host->graph_inputs(host->self, graph, &count) == nullptr) == none && (count == 0) == none);
  count = 7;
  caller.Say("deputy_host.graph_outputs",
             (host->graph_outputs(host->self, graph, &count) == nullptr) == none && (count == 0) == none);
  deputy_attribute attribute{};
  attribute.struct_size = sizeof attribute;
  caller.Say("deputy_host.node_attribute",
             caller.Fits(host->node_attribute(host->self, graph, id, "none", &attribute)));
  // The last input of the test's nodes is a constant, the first is not.
  const deputy_value_id constant = none ? 0 : node.inputs[node.input_count - 1];
  float bytes[1];
  caller.Say("deputy_host.constant_read",
             caller.Has(host->constant_read(host->self, graph, input, 0, 4, bytes), DEPUTY_INVALID_ARGUMENT) &&
                 caller.Fits(host->constant_read(host->self, graph, constant, 0, 4, bytes)));
  int32_t descriptor = -1;
  uint64_t offset = 0;
  caller.Say("deputy_host.constant_file",
             caller.Has(host->constant_file(host->self, graph, constant, &descriptor, &offset),
                        none ? DEPUTY_INVALID_ARGUMENT : DEPUTY_NOT_FOUND));
}

void CallHelpers(Caller& caller) {
  const deputy_host* host = caller.host;
  const deputy_graph* graph = caller.graph;
  const auto* helpers =
      static_cast<const deputy_ext_partition_helpers*>(host->get_extension(host->self, DEPUTY_EXT_PARTITION_HELPERS));
  if (helpers == nullptr) {
    for (const char* function : {"cluster", "quantized_groups", "constant_release", "named_data"})
      caller.answers.absent += std::string(" deputy_ext_partition_helpers.") + function;
    return;
  }
  const uint32_t nodes = host->graph_node_count(host->self, graph);
  const std::vector<uint32_t> wanted(nodes, 0);
  std::vector<uint32_t> clusters(nodes + 1);
  uint32_t count = 0;
  caller.Say("deputy_ext_partition_helpers.cluster",
             caller.Fits(helpers->cluster(helpers->self, graph, wanted.data(), nodes, clusters.data(), &count)));
  const deputy_group_sink sink{sizeof sink, 0, nullptr,
                               [](void*, const deputy_group*) -> deputy_status* { return nullptr; }};
  caller.Say("deputy_ext_partition_helpers.quantized_groups",
             caller.Fits(helpers->quantized_groups(helpers->self, graph, &sink)));
  caller.Say("deputy_ext_partition_helpers.constant_release",  // of what is no constant
             caller.Has(helpers->constant_release(helpers->self, graph, 0), DEPUTY_INVALID_ARGUMENT));
  const void* data = nullptr;
  uint64_t size = 0;
  caller.Say("deputy_ext_partition_helpers.named_data",
             caller.Fits(helpers->named_data(helpers->self, graph, {"none", 4}, &data, &size)));
}

}  // namespace

Answers CallAll(const deputy_host* host, const deputy_graph* graph) {
  Caller caller{host, graph};
  CallStatuses(caller);
  CallServices(caller);
  CallGraph(caller);
  CallHelpers(caller);
  return caller.answers;
}

}  // namespace calls_back
