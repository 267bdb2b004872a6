#include "plugin/executable_proxy.hpp"

#include <fmt/format.h>

#include <utility>

#include "plugin/context_proxy.hpp"

namespace deputy::host {

std::string PlaceOf(const Graph& graph, const PartitionSpec& partition) {
  if (partition.nodes.empty()) return "partition '" + Printable(partition.name) + "'";
  const std::string first = Printable(Describe(graph, partition.nodes.front()));
  if (partition.nodes.size() == 1) return first;
  return fmt::format("partition '{}' of {} nodes from {} on", Printable(partition.name), partition.nodes.size(), first);
}

CompiledPartition::~CompiledPartition() {
  opened_->CallVoid(
      "executable_destroy", [&] { opened_->table().executable_destroy(executable_); }, place_);
}

const DebugMap& CompiledPartition::debug_map() const {
  std::call_once(map_asked_, [&] {
    if (opened_->profiling() != nullptr) debug_map_ = AskDebugMap(*opened_, executable_, nodes_);
  });
  return debug_map_;
}

Result<std::unique_ptr<ExecutionContext>> ExecutableProxy::CreateContext() const {
  const OpenedDelegate& opened = partition_->opened();
  if (opened.compile_only())
    return Error(StatusCode::kFailedPrecondition, "it was opened without its device, to compile only")
        .At("delegate '" + opened.name() + "'");
  deputy_context* context = nullptr;
  DEPUTY_RETURN_IF_ERROR(opened.Call("context_create", partition_->graph(),
                                     [&] { return opened.table().context_create(partition_->executable(), &context); },
                                     {partition_->place()}));
  if (context == nullptr) return opened.Fault("context_create", "it succeeded without a context");
  return std::unique_ptr<ExecutionContext>(new ContextProxy(partition_, context));
}

}  // namespace deputy::host
