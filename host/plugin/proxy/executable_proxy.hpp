// A plugin's compiled partition as an Executable of the host, and partitions in the form of the ABI.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "base/printable.hpp"
#include "delegate/delegate.hpp"
#include "plugin/proxy/graph_handle.hpp"
#include "plugin/proxy/opened_delegate.hpp"
#include "plugin/proxy/profiling.hpp"

namespace deputy::host {

// "node 'conv1' (Conv)", or "partition 'npu.0' of 5 nodes from node 'conv1' (Conv) on".
std::string PlaceOf(const Graph& graph, const PartitionSpec& partition);

// A partition in the ABI's form, over the arrays of the host's own, which must live as long.
deputy_partition FormOf(const deputy_graph& graph, const PartitionSpec& partition);

// The arguments of compile and restore, and the host's side of the call. Neither copied nor moved: the plugin has its
// address. Cancellation is that of the thread that makes it.
class CompileCall {
 public:
  CompileCall(const OpenedDelegate& opened, const deputy_graph& graph, const PartitionSpec& partition);
  CompileCall(const CompileCall&) = delete;
  CompileCall& operator=(const CompileCall&) = delete;

  const deputy_compile_args* args() const { return &args_; }
  bool is_cancelled() const { return token_ != nullptr && token_->Due(); }  // [any-thread]
  void Show(uint32_t permille, deputy_str step) const noexcept;

 private:
  const OpenedDelegate& opened_;
  const CancellationToken* const token_;  // null: it is never cancelled
  const deputy_partition partition_;
  const deputy_control control_;
  std::vector<deputy_node_precision> precision_;
  deputy_compile_args args_{};
};

// Contexts keep it alive, it keeps the instance alive. It also keeps the
// graph that the plugin was shown at compile, because MindSpore-style kernels read their primitives later.
class ExecutableProxy final : public Executable, public std::enable_shared_from_this<ExecutableProxy> {
 public:
  // Made before the plugin is called, without an executable: afterwards memory may lack. `claim_graph`: of the propose
  // that the partition comes from; may be null. `keep`: an object that must outlive the executable.
  ExecutableProxy(std::shared_ptr<const OpenedDelegate> opened, std::shared_ptr<const deputy_graph> graph,
                  std::shared_ptr<const deputy_graph> claim_graph, const PartitionSpec& partition,
                  std::shared_ptr<const void> keep = nullptr)
      : keep_(std::move(keep)),
        opened_(std::move(opened)),
        graph_(std::move(graph)),
        claim_graph_(std::move(claim_graph)),
        nodes_(partition.nodes),
        input_count_(partition.inputs.size()),
        outputs_(partition.outputs),
        place_(PlaceOf(graph_->graph(), partition)) {}
  ~ExecutableProxy() override;
  ExecutableProxy(const ExecutableProxy&) = delete;
  ExecutableProxy& operator=(const ExecutableProxy&) = delete;

  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override;
  Result<std::vector<uint8_t>> Serialize(size_t limit) const override;

  const OpenedDelegate& opened() const { return *opened_; }
  const std::shared_ptr<const OpenedDelegate>& shared_opened() const { return opened_; }
  const deputy_graph* graph() const { return graph_.get(); }
  deputy_executable* handle() const { return executable_; }
  deputy_executable*& own() { return executable_; }
  size_t input_count() const { return input_count_; }
  size_t output_count() const { return outputs_.size(); }
  std::span<const ValueId> outputs() const { return outputs_; }
  std::string OutputName(size_t output) const { return Printable(graph_->graph().values[outputs_[output]].name); }
  // Its name in messages: its node, or its name with the first of its nodes.
  const std::string& place() const { return place_; }

  // Makes a call for it or one of its contexts that must not overlap with others where the delegate is serial.
  template <class Function>
  auto CallSerial(Function&& call) const {
    if (!opened_->is_serial()) return call();
    const OpenedDelegate::RunTurn turn(*opened_, executable_);
    return call();
  }

  // Requested from the plugin at the first call. [any-thread]
  const DebugMap& debug_map() const;

 private:
  std::shared_ptr<const void> keep_;
  std::shared_ptr<const OpenedDelegate> opened_;
  std::shared_ptr<const deputy_graph> graph_;
  std::shared_ptr<const deputy_graph> claim_graph_;
  deputy_executable* executable_ = nullptr;
  std::vector<NodeId> nodes_;
  size_t input_count_;
  std::vector<ValueId> outputs_;
  std::string place_;
  mutable std::once_flag map_asked_;
  mutable DebugMap debug_map_;
};

}  // namespace deputy::host
