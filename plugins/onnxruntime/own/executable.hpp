// A compiled partition and its runs.
#pragma once

#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "deputy/sdk/executable.hpp"
#include "known_providers.hpp"
#include "own/instance.hpp"
#include "own/kernel.hpp"

namespace ort::own {

// What a compilation leaves. Runs take turns: EPs are not relied on to keep runs of one state apart.
class CompiledGraph {
 public:
  // Where an input or output of the fused node comes from.
  struct Operand {
    const ModelValue* value = nullptr;
    size_t position = kNone;          // among the partition's inputs or outputs
    const Value* constant = nullptr;  // in place of a position
  };

  // `keep`: all that must outlive this.
  CompiledGraph(std::shared_ptr<void> keep, std::shared_ptr<const Model> model, std::shared_ptr<Instance> instance,
                NodeComputeInfo* info, const sdk::Host& host, const Logger& logger, std::string provider,
                const ProviderSettings& settings);
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;
  ~CompiledGraph();

  sdk::Status CreateState(std::string fused_name);
  // `power_level`: of the run; 0: none.
  sdk::Status Compute(KernelContext& context, size_t power_level);

  std::vector<Operand> inputs, outputs;
  const sdk::Host& host() const { return host_; }
  const Logger& logger() const { return logger_; }

 private:
  sdk::Status Run(KernelContext& context, const RunOptions& options);

  std::shared_ptr<void> keep_;
  std::shared_ptr<const Model> model_;
  std::shared_ptr<Instance> instance_;
  NodeComputeInfo* info_;
  sdk::Host host_;
  const Logger& logger_;
  std::string provider_;
  NodeComputeContext context_;
  bool has_state_ = false;
  void* state_ = nullptr;
  std::array<RunOptions, std::size(kClockModes) + 1> run_options_;  // by the power level of the run
  std::mutex own_mutex_;
  std::mutex& mutex_;  // the process's, where the EP's sessions do not run at once
};

class OwnExecutable final : public sdk::Executable {
 public:
  explicit OwnExecutable(std::shared_ptr<CompiledGraph> compiled) : compiled_(std::move(compiled)) {}
  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override;

 private:
  std::shared_ptr<CompiledGraph> compiled_;
};

}  // namespace ort::own
