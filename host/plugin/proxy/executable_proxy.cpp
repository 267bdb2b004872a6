#include "plugin/proxy/executable_proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plugin/checks/text.hpp"
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

namespace {

uint32_t IsCancelled(void* self) { return static_cast<const CompileCall*>(self)->is_cancelled() ? 1 : 0; }

void ShowProgress(void* self, uint32_t permille, deputy_str step) {
  static_cast<const CompileCall*>(self)->Show(permille, step);
}

}  // namespace

CompileCall::CompileCall(const OpenedDelegate& opened, const deputy_graph& graph, const PartitionSpec& partition)
    : opened_(opened),
      token_(CompilationScope::Current()),
      partition_(FormOf(graph, partition)),
      control_{sizeof control_, 0, this, IsCancelled, ShowProgress} {
  args_.struct_size = sizeof args_;
  args_.partition = &partition_;
  args_.control = &control_;
  args_.priority = opened.priority();
  if (token_ != nullptr) args_.deadline_ns = token_->deadline_ns;
  if (opened.precision() == DEPUTY_DTYPE_UNDEFINED) return;
  for (const NodeId node : partition.nodes) precision_.push_back({node, opened.precision()});
  args_.precision = precision_.data();
  args_.precision_count = precision_.size();
}

void CompileCall::Show(uint32_t permille, deputy_str step) const noexcept {
  try {
    const CopiedText text = CopyText(step, 256);
    if (!text.fault.empty()) return opened_.LogFault("compile", "a step of its progress " + text.fault);
    opened_.ShowProgress(std::min(permille, 1000u), CleanText(text.text));
  } catch (...) {  // nothing may be thrown through the plugin
  }
}

ExecutableProxy::~ExecutableProxy() {
  if (executable_ == nullptr) return;
  opened_->CallVoidLoading(
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
  deputy_context_args args{};
  args.struct_size = sizeof args;
  args.priority = opened_->priority();
  auto proxy = std::make_unique<ContextProxy>(shared_from_this());
  const auto create = [&](deputy_context** to) { return opened_->table().context_create(executable_, &args, to); };
  DEPUTY_RETURN_IF_ERROR(CallSerial([&] {
    return opened_->Call("context_create", graph(), [&] { return MakeOwn(proxy->own(), create); }, {place_});
  }));
  if (proxy->own() == nullptr) return opened_->Fault("context_create", "it succeeded without a context");
  return std::unique_ptr<ExecutionContext>(std::move(proxy));
}

}  // namespace deputy::host
