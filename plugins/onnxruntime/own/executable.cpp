#include "own/executable.hpp"

#include <algorithm>

#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

class OwnContext final : public sdk::ExecutionContext {
 public:
  explicit OwnContext(std::shared_ptr<CompiledGraph> compiled)
      : compiled_(std::move(compiled)), inputs_(compiled_->inputs.size()), outputs_(compiled_->outputs.size()) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const CompiledGraph::Operand& operand = compiled_->inputs[i];
      Describe(operand, inputs_[i]);
      kernel_.inputs.push_back(operand.constant == nullptr ? &inputs_[i] : operand.constant);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      Describe(compiled_->outputs[i], outputs_[i]);
      kernel_.outputs.push_back(&outputs_[i]);
    }
    kernel_.is_given.resize(outputs_.size());
    kernel_.host = compiled_->host();
    kernel_.logger = &compiled_->logger();
  }

  sdk::Status Execute(const sdk::RunArgs& run) override {
    if (run.cancelled()) return sdk::Code::kCancelled;
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (compiled_->inputs[i].constant == nullptr)
        DEPUTY_SDK_RETURN_IF_ERROR(Set(run.input(compiled_->inputs[i].position), inputs_[i]));
    for (size_t i = 0; i < outputs_.size(); ++i)
      DEPUTY_SDK_RETURN_IF_ERROR(Set(run.output(compiled_->outputs[i].position), outputs_[i]));
    std::fill(kernel_.is_given.begin(), kernel_.is_given.end(), char{0});
    kernel_.failure.clear();
    sdk::Status status = compiled_->Compute(kernel_, run.power_level());
    kernel_.scratch.clear();
    return status;
  }

 private:
  static void Describe(const CompiledGraph::Operand& operand, Value& value) {
    value.type = operand.value->type;
    value.is_kept = true;
  }

  static sdk::Status Set(const sdk::TensorView& tensor, Value& value) {
    static char none[kAlignment];  // in place of the memory of a tensor without elements
    const std::vector<int64_t>& dims = value.type.tensor.dims;
    if (!tensor.exists() || !tensor.is_dense_host() || tensor.dims().size() != dims.size() ||
        !std::equal(dims.begin(), dims.end(), tensor.dims().begin()) ||
        FromOnnx(static_cast<int32_t>(tensor.dtype())) != value.type.tensor.type)
      return sdk::Status(sdk::Code::kInvalidArgument, "a tensor is not the one that the partition was compiled for");
    value.data = tensor.data() == nullptr ? none : tensor.data();
    value.bytes = tensor.byte_size();
    return {};
  }

  std::shared_ptr<CompiledGraph> compiled_;
  std::vector<Value> inputs_, outputs_;
  KernelContext kernel_;
};

}  // namespace

CompiledGraph::CompiledGraph(std::shared_ptr<void> keep, std::shared_ptr<const Model> model,
                             std::shared_ptr<Instance> instance, NodeComputeInfo* info, const sdk::Host& host,
                             const Logger& logger, std::string provider, const ProviderSettings& settings)
    : keep_(std::move(keep)),
      model_(std::move(model)),
      instance_(std::move(instance)),
      info_(info),
      host_(host),
      logger_(logger),
      provider_(std::move(provider)),
      mutex_(settings.is_serial ? OneAtATime() : own_mutex_) {
  if (!settings.power_entry.empty())
    for (size_t i = 0; i < std::size(kClockModes); ++i)
      run_options_[i + 1].entries.Add(settings.power_entry, kClockModes[i]);
}

CompiledGraph::~CompiledGraph() {
  try {
    if (has_state_ && info_->ReleaseState != nullptr) info_->ReleaseState(info_, state_);
  } catch (...) {  // of the EP's, after which there is nothing left to do
  }
  instance_->Release(info_);
}

sdk::Status CompiledGraph::CreateState(std::string fused_name) {
  context_.name = std::move(fused_name);
  DEPUTY_SDK_RETURN_IF_ERROR(Ask(sdk::Code::kNotSupported, provider_ + ": CreateState",
                                 [&] { return info_->CreateState(info_, &context_, &state_); }));
  has_state_ = true;
  return {};
}

sdk::Status CompiledGraph::Compute(KernelContext& context, size_t power_level) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sdk::Status status = Run(context, run_options_[power_level < run_options_.size() ? power_level : 0]);
  return status.ok() ? status : sdk::Status(status.code(), provider_ + ": " + status.message());
}

sdk::Status CompiledGraph::Run(KernelContext& context, const RunOptions& options) {
  Ep* ep = instance_->ep();
  if (ep->OnRunStart != nullptr)
    DEPUTY_SDK_RETURN_IF_ERROR(Ask(sdk::Code::kInternal, "OnRunStart", [&] { return ep->OnRunStart(ep, &options); }));
  sdk::Status status = Ask(sdk::Code::kInternal, "Compute", [&] { return info_->Compute(info_, state_, &context); });
  if (ep->OnRunEnd != nullptr) {
    const sdk::Status ended = Ask(sdk::Code::kInternal, "OnRunEnd", [&] { return ep->OnRunEnd(ep, &options, true); });
    if (status.ok()) status = ended;
  }
  if (!status.ok()) return status;
  if (!context.failure.empty()) return sdk::Status(sdk::Code::kInternal, context.failure);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (context.is_given[i] == 0)
      return sdk::Status(sdk::Code::kInternal, "Compute has not written the output '" + outputs[i].value->name + "'");
  return {};
}

sdk::Result<std::unique_ptr<sdk::ExecutionContext>> OwnExecutable::CreateContext() {
  return std::make_unique<OwnContext>(compiled_);
}

}  // namespace ort::own
