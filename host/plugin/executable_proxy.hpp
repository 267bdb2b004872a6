// A plugin's compiled partition as the executor sees it.
#pragma once

#include <memory>

#include "delegate/delegate.hpp"
#include "plugin/graph_handle.hpp"
#include "plugin/opened_delegate.hpp"

namespace deputy::host {

// A partition's compiled form in the plugin; contexts keep it alive, it keeps the instance alive. It also keeps what
// the plugin was shown when it compiled, because MindSpore-style kernels go on reading their primitives.
class CompiledPartition {
 public:
  CompiledPartition(std::shared_ptr<const OpenedDelegate> opened, std::shared_ptr<const deputy_graph> graph,
                    std::shared_ptr<const deputy_graph> claim_graph, deputy_executable* executable, size_t inputs,
                    size_t outputs)
      : opened_(std::move(opened)),
        graph_(std::move(graph)),
        claim_graph_(std::move(claim_graph)),
        executable_(executable),
        input_count_(inputs),
        output_count_(outputs) {}
  ~CompiledPartition();
  CompiledPartition(const CompiledPartition&) = delete;
  CompiledPartition& operator=(const CompiledPartition&) = delete;

  const OpenedDelegate& opened() const { return *opened_; }
  const deputy_graph* graph() const { return graph_.get(); }
  deputy_executable* executable() const { return executable_; }
  size_t input_count() const { return input_count_; }
  size_t output_count() const { return output_count_; }

 private:
  std::shared_ptr<const OpenedDelegate> opened_;
  std::shared_ptr<const deputy_graph> graph_;
  std::shared_ptr<const deputy_graph> claim_graph_;  // of the propose that the partition comes from; may be null
  deputy_executable* executable_;
  size_t input_count_, output_count_;
};

class ExecutableProxy final : public Executable {
 public:
  explicit ExecutableProxy(std::shared_ptr<const CompiledPartition> partition) : partition_(std::move(partition)) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override;

 private:
  std::shared_ptr<const CompiledPartition> partition_;
};

}  // namespace deputy::host
