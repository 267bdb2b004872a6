#include "plugin/proxy/executable_proxy.hpp"

#include <fmt/format.h>

#include <utility>

#include "plugin/proxy/context_proxy.hpp"

namespace deputy::host {

std::string PlaceOf(const Graph& graph, const PartitionSpec& partition) {
  if (partition.nodes.empty()) return "partition '" + Printable(partition.name) + "'";
  const std::string first = Printable(Describe(graph, partition.nodes.front()));
  if (partition.nodes.size() == 1) return first;
  return fmt::format("partition '{}' of {} nodes from {} on", Printable(partition.name), partition.nodes.size(), first);
}

deputy_partition FormOf(const deputy_graph& graph, const PartitionSpec& partition) {
  return {sizeof(deputy_partition),
          static_cast<uint32_t>(partition.nodes.size()),
          &graph,
          partition.nodes.data(),
          partition.inputs.data(),
          partition.outputs.data(),
          static_cast<uint32_t>(partition.inputs.size()),
          static_cast<uint32_t>(partition.outputs.size()),
          partition.claim,
          {partition.name.c_str(), partition.name.size()}};
}

ExecutableProxy::~ExecutableProxy() {
  opened_->CallVoid(
      "executable_destroy", [&] { opened_->table().executable_destroy(executable_); }, place_);
}

const DebugMap& ExecutableProxy::debug_map() const {
  std::call_once(map_asked_, [&] {
    if (opened_->profiling() != nullptr) debug_map_ = AskDebugMap(*opened_, executable_, nodes_);
  });
  return debug_map_;
}

Result<std::unique_ptr<ExecutionContext>> ExecutableProxy::CreateContext() const {
  if (opened_->compile_only())
    return Error(StatusCode::kFailedPrecondition, "it was opened without its device, to compile only")
        .At("delegate '" + opened_->name() + "'");
  deputy_context* context = nullptr;
  DEPUTY_RETURN_IF_ERROR(opened_->Call(
      "context_create", graph(), [&] { return opened_->table().context_create(executable_, &context); }, {place_}));
  if (context == nullptr) return opened_->Fault("context_create", "it succeeded without a context");
  return std::unique_ptr<ExecutionContext>(new ContextProxy(shared_from_this(), context));
}

}  // namespace deputy::host
