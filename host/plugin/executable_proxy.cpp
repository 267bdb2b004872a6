#include "plugin/executable_proxy.hpp"

#include <fmt/format.h>

#include <utility>

namespace deputy::host {
namespace {

// The ABI has no way yet for a plugin to say how large an output became, so each must be known and have its memory.
Status CheckOutputs(const RunArgs& args) {
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const deputy_tensor* tensor = args.outputs[i];
    if (tensor == nullptr) continue;
    for (uint32_t axis = 0; axis < tensor->rank; ++axis)
      if (tensor->dims[axis] < 0)
        return Error(StatusCode::kNotSupported, "output {} has extents that only the run would tell", i);
    if (tensor->data == nullptr && tensor->handle == 0 && tensor->byte_size != 0)
      return Error(StatusCode::kInternal, "output {} has no memory", i);
  }
  return {};
}

class ContextProxy final : public ExecutionContext {
 public:
  ContextProxy(std::shared_ptr<const CompiledPartition> partition, deputy_context* context)
      : partition_(std::move(partition)), opened_(partition_->opened()), context_(context) {
    args_.struct_size = sizeof args_;
    args_.input_count = static_cast<uint32_t>(partition_->input_count());
    args_.output_count = static_cast<uint32_t>(partition_->output_count());
  }
  ~ContextProxy() override {
    opened_.CallVoid("context_destroy", [&] { opened_.table().context_destroy(context_); });
  }

  Status Execute(const RunArgs& args) override {
    if (args.inputs.size() != args_.input_count || args.outputs.size() != args_.output_count)
      return Error(StatusCode::kInternal, "bound {} inputs and {} outputs, but the partition has {} and {}",
                   args.inputs.size(), args.outputs.size(), args_.input_count, args_.output_count);
    DEPUTY_RETURN_IF_ERROR(CheckOutputs(args));
    args_.inputs = args.inputs.data();
    args_.outputs = args.outputs.data();
    args_.deadline_ns = args.deadline_ns;
    const auto run = [&] { return opened_.table().execute(context_, &args_); };
    if (opened_.gate() == nullptr) return opened_.Call("execute", partition_->graph(), run);
    const RunGate::Pass pass(*opened_.gate(), opened_.instance(), partition_->executable(), opened_.run_rules());
    return opened_.Call("execute", partition_->graph(), run);
  }

 private:
  std::shared_ptr<const CompiledPartition> partition_;
  const OpenedDelegate& opened_;
  deputy_context* context_;
  deputy_run_args args_{};
};

}  // namespace

CompiledPartition::~CompiledPartition() {
  opened_->CallVoid("executable_destroy", [&] { opened_->table().executable_destroy(executable_); });
}

Result<std::unique_ptr<ExecutionContext>> ExecutableProxy::CreateContext() const {
  const OpenedDelegate& opened = partition_->opened();
  deputy_context* context = nullptr;
  DEPUTY_RETURN_IF_ERROR(opened.Call("context_create", partition_->graph(), [&] {
    return opened.table().context_create(partition_->executable(), &context);
  }));
  if (context == nullptr) return opened.Fault("context_create", "it succeeded without a context");
  return std::unique_ptr<ExecutionContext>(new ContextProxy(partition_, context));
}

}  // namespace deputy::host
