// An opened delegate of the plugin: queries about graphs, and compilation of their partitions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/propose.h"
#include "model_graph.hpp"
#include "plugin.hpp"

namespace deputy::conformance {

struct Answer {
  deputy_reason reason = DEPUTY_REASON_OTHER;
  std::string detail;
  bool operator==(const Answer& other) const { return reason == other.reason && detail == other.detail; }
};
const char* ReasonName(deputy_reason reason);

struct Claim {
  std::vector<deputy_node_id> nodes;
  std::vector<deputy_value_id> inputs, outputs;
  void* handle = nullptr;
};

// Keeps a graph's handle alive for one call.
class ShownGraph {
 public:
  ShownGraph(HostServices& host, const deputy_graph& graph) : host_(host), graph_(graph) { host_.AddGraph(&graph_); }
  ~ShownGraph() { host_.RemoveGraph(&graph_); }
  ShownGraph(const ShownGraph&) = delete;
  ShownGraph& operator=(const ShownGraph&) = delete;

 private:
  HostServices& host_;
  const deputy_graph& graph_;
};

// A claim in the form that is passed to a plugin; points into both.
deputy_partition PartitionOf(const deputy_graph& graph, const Claim& claim);

// The arguments of compile and restore beside the partition.
struct CompileSettings {
  uint32_t flags = 0;
  int32_t priority = 0;
  uint64_t deadline_ns = 0;
  deputy_dtype precision = DEPUTY_DTYPE_UNDEFINED;  // of every node
  std::vector<deputy_node_precision> of_nodes;      // instead, of some, in this order
  bool cancelled = false;                           // from the beginning
};

// The arguments of compile and restore. The plugin has their address.
class CompileCall {
 public:
  CompileCall(HostServices& host, const deputy_partition& partition, const CompileSettings& settings = {});
  CompileCall(const CompileCall&) = delete;
  CompileCall& operator=(const CompileCall&) = delete;
  const deputy_compile_args* args() const { return &args_; }

 private:
  static void CheckProgress(void* self, uint32_t permille, deputy_str step);
  const deputy_control control_;
  std::vector<deputy_node_precision> precision_;
  deputy_compile_args args_{};
};

// The ids of the devices that the delegate lists, the preferred one first.
std::vector<std::string> DevicesOf(Plugin& plugin, const deputy_delegate* delegate);

// An opened delegate.
class Instance {
 public:
  // On the first device, unless one is named. Each text ends with its NUL at the end of a page.
  static std::unique_ptr<Instance> Open(Plugin& plugin, const deputy_delegate* delegate, const OptionList& options,
                                        Outcome* outcome, const std::string& name = "conformance", uint32_t flags = 0,
                                        const std::string& device = "");
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  deputy_instance* handle() { return made_; }
  Plugin& plugin() { return plugin_; }
  const deputy_delegate* delegate() const { return delegate_; }
  uint64_t domain() const { return domain_; }

  // One answer per node of the graph; a node without an answer is not supported.
  std::vector<Answer> Query(const deputy_graph& graph);
  // Empty for a delegate that does not form its own partitions. Every claim must be compiled or released.
  std::vector<Claim> Propose(const deputy_graph& graph);
  void Release(Claim& claim);
  bool proposes() const;
  // Empty for a delegate that names none. Called after Query about the same graph.
  std::vector<std::vector<deputy_node_id>> Groups(const deputy_graph& graph);
  bool names_groups() const;
  // Consumes the claim.
  std::unique_ptr<Executable> Compile(const deputy_graph& graph, Claim claim, Outcome* outcome,
                                      const CompileSettings& settings = {});

  // As in a host: the delegate's own claim for all nodes if it makes one, else all nodes if each is supported. Nothing
  // and the first refusal otherwise. The claim has the graph's inputs and outputs.
  std::optional<Claim> ClaimAll(const deputy_graph& graph, Answer* refusal);

 private:
  Instance(Plugin& plugin, const deputy_delegate* delegate, deputy_instance* made, uint64_t domain);
  Plugin& plugin_;
  const deputy_delegate* delegate_;
  deputy_instance* made_;
  const uint64_t domain_;
  const deputy_ext_propose* propose_;
};

}  // namespace deputy::conformance
