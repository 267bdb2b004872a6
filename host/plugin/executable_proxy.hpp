// A plugin's compiled partition as an Executable of the host.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "delegate/delegate.hpp"
#include "plugin/debug_map.hpp"
#include "plugin/graph_handle.hpp"
#include "plugin/opened_delegate.hpp"

namespace deputy::host {

// "node 'conv1' (Conv)", or "partition 'npu.0' of 5 nodes from node 'conv1' (Conv) on".
std::string PlaceOf(const Graph& graph, const PartitionSpec& partition);

// A partition's compiled form in the plugin; contexts keep it alive, it keeps the instance alive. It also keeps the
// graph that the plugin was shown at compile, because MindSpore-style kernels read their primitives later.
class CompiledPartition {
 public:
  // `claim_graph`: of the propose that the partition comes from; may be null. `keep`: an object that must outlive the
  // executable.
  CompiledPartition(std::shared_ptr<const OpenedDelegate> opened, std::shared_ptr<const deputy_graph> graph,
                    std::shared_ptr<const deputy_graph> claim_graph, deputy_executable* executable,
                    const PartitionSpec& partition, std::shared_ptr<const void> keep = nullptr)
      : keep_(std::move(keep)),
        opened_(std::move(opened)),
        graph_(std::move(graph)),
        claim_graph_(std::move(claim_graph)),
        executable_(executable),
        nodes_(partition.nodes),
        input_count_(partition.inputs.size()),
        outputs_(partition.outputs),
        place_(PlaceOf(graph_->graph(), partition)) {}
  ~CompiledPartition();
  CompiledPartition(const CompiledPartition&) = delete;
  CompiledPartition& operator=(const CompiledPartition&) = delete;

  const OpenedDelegate& opened() const { return *opened_; }
  const deputy_graph* graph() const { return graph_.get(); }
  deputy_executable* executable() const { return executable_; }
  std::span<const NodeId> nodes() const { return nodes_; }
  size_t input_count() const { return input_count_; }
  size_t output_count() const { return outputs_.size(); }
  std::string OutputName(size_t output) const { return Printable(graph_->graph().values[outputs_[output]].name); }
  // Its name in messages: its node, or its name with the first of its nodes.
  const std::string& place() const { return place_; }

  // Requested from the plugin at the first call. [any-thread]
  const DebugMap& debug_map() const;

 private:
  std::shared_ptr<const void> keep_;
  std::shared_ptr<const OpenedDelegate> opened_;
  std::shared_ptr<const deputy_graph> graph_;
  std::shared_ptr<const deputy_graph> claim_graph_;
  deputy_executable* executable_;
  std::vector<NodeId> nodes_;
  size_t input_count_;
  std::vector<ValueId> outputs_;
  std::string place_;
  mutable std::once_flag map_asked_;
  mutable DebugMap debug_map_;
};

class ExecutableProxy final : public Executable {
 public:
  explicit ExecutableProxy(std::shared_ptr<const CompiledPartition> partition) : partition_(std::move(partition)) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override;
  Result<std::vector<uint8_t>> Serialize(size_t limit) const override;

 private:
  std::shared_ptr<const CompiledPartition> partition_;
};

}  // namespace deputy::host
