#include "runtime/isolated_delegate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.hpp"
#include "plugin/proxy/delegate_proxy.hpp"

namespace deputy::host {
namespace {

// A claim with the worker that holds it. Every claim that such a delegate gives out is one of these.
struct Claim {
  std::shared_ptr<const ServedDelegate> worker;
  void* claim;
};

Status WorkerEnded() { return Status(StatusCode::kDeviceLost, "its worker process has ended"); }

class IsolatedContext final : public ExecutionContext {
 public:
  IsolatedContext(std::shared_ptr<const ServedDelegate> worker, std::unique_ptr<ExecutionContext> context)
      : worker_(std::move(worker)), context_(std::move(context)) {}

  Status Execute(const RunArgs& args) override {
    was_lost_before_ = worker_->has_ended();
    return was_lost_before_ ? WorkerEnded() : context_->Execute(args);
  }
  bool was_lost_before() const override { return was_lost_before_; }
  bool ended_its_process() const override { return !was_lost_before_ && !worker_->own_fault().empty(); }
  Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const> inputs,
                               std::span<const deputy_tensor* const> outputs) override {
    return context_->Resize(inputs, outputs);
  }
  Status SetProfiling(bool on) override { return context_->SetProfiling(on); }
  void TakeEvents(std::vector<ProfileEvent>& into) override { context_->TakeEvents(into); }

 private:
  const std::shared_ptr<const ServedDelegate> worker_;
  const std::unique_ptr<ExecutionContext> context_;
  bool was_lost_before_ = false;
};

// Compiled by a worker, and once more by the next one.
class IsolatedExecutable final : public Executable {
 public:
  IsolatedExecutable(std::shared_ptr<DelegateWorker> delegate, std::shared_ptr<const ServedDelegate> worker,
                     std::shared_ptr<const Executable> made, std::shared_ptr<const GraphView> view,
                     PartitionSpec partition)
      : delegate_(std::move(delegate)),
        view_(std::move(view)),
        partition_(std::move(partition)),
        worker_(std::move(worker)),
        made_(std::move(made)) {}

  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
    const auto lock = delegate_->loading();
    DEPUTY_RETURN_IF_ERROR(Renew());
    DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<ExecutionContext> context, made_->CreateContext());
    return std::unique_ptr<ExecutionContext>(new IsolatedContext(worker_, std::move(context)));
  }
  bool reads_shared_memory() const override { return true; }
  Result<std::vector<uint8_t>> Serialize(size_t limit) const override {
    const auto lock = delegate_->loading();
    return made_->Serialize(limit);
  }

 private:
  Status Renew() const {
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> live, delegate_->Live());
    if (live == worker_) return {};
    PartitionSpec partition = partition_;
    if (partition.claim != nullptr) DEPUTY_RETURN_IF_ERROR(ClaimAgain(*live->delegate, partition));
    DEPUTY_ASSIGN_OR_RETURN(made_, live->delegate->Compile(*view_, partition));
    worker_ = std::move(live);
    return {};
  }

  // The claim of the same nodes.
  Status ClaimAgain(Delegate& delegate, PartitionSpec& partition) const {
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<PartitionSpec> proposed, delegate.Propose(*view_));
    partition.claim = nullptr;
    for (const PartitionSpec& claim : proposed)
      if (partition.claim == nullptr && claim.nodes == partition.nodes)
        partition.claim = claim.claim;
      else
        delegate.ReleaseClaim(claim.claim);
    if (partition.claim != nullptr) return {};
    return Error(StatusCode::kDeviceLost, "its new worker process does not propose the partition '{}' again",
                 partition.name);
  }

  const std::shared_ptr<DelegateWorker> delegate_;
  const std::shared_ptr<const GraphView> view_;
  const PartitionSpec partition_;  // its claim only says that it had one
  mutable std::shared_ptr<const ServedDelegate> worker_;
  mutable std::shared_ptr<const Executable> made_;
};

// The partition with the claim of its worker, which must still be alive.
Result<PartitionSpec> WithClaimOf(const PartitionSpec& partition, const std::shared_ptr<const ServedDelegate>& worker) {
  PartitionSpec own = partition;
  if (partition.claim == nullptr) return own;
  const auto& claim = *static_cast<const Claim*>(partition.claim);
  if (claim.worker != worker) return WorkerEnded();
  own.claim = claim.claim;
  return own;
}

}  // namespace

Result<std::shared_ptr<const ServedDelegate>> DelegateWorker::Live() {
  const auto loading_lock = loading();
  std::shared_ptr<const ServedDelegate> worker = last();
  if (worker != nullptr && !worker->has_ended()) return worker;
  if (worker != nullptr) DEPUTY_RETURN_IF_ERROR(CountFault(*worker));
  DEPUTY_ASSIGN_OR_RETURN(ServedDelegate started, start_());
  for (const auto& [name, text] : changed_options_) DEPUTY_RETURN_IF_ERROR(started.delegate->SetOption(name, text));
  const bool again = worker != nullptr;
  worker = std::make_shared<const ServedDelegate>(std::move(started));
  {
    const std::lock_guard lock(mutex_);
    worker_ = worker;
  }
  if (again) Log(LogLevel::kInfo, "{}: its worker process was started again", worker->delegate->name());
  return worker;
}

Status DelegateWorker::CountFault(const ServedDelegate& ended) {
  constexpr size_t kMostFaults = 3;
  constexpr std::chrono::minutes kWindow{5};
  if (given_up_.empty()) {
    const std::string fault = ended.own_fault();
    if (fault.empty()) return {};
    const auto now = std::chrono::steady_clock::now();
    faults_.push_back(now);
    while (now - faults_.front() > kWindow) faults_.pop_front();
    if (faults_.size() < kMostFaults) return {};
    given_up_ = fmt::format("failed {} times within five minutes: its worker process {}", kMostFaults, fault);
    Log(LogLevel::kWarning, "{}: {}; it is not used any more", ended.delegate->name(), given_up_);
    if (give_up_) give_up_(given_up_);
  }
  return Error(StatusCode::kUnavailable, "{}", given_up_);
}

std::shared_ptr<const ServedDelegate> DelegateWorker::last() const {
  const std::lock_guard lock(mutex_);
  return worker_;
}

Status DelegateWorker::SetOption(const std::string& name, const std::string& text) {
  const auto lock = loading();
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, Live());
  DEPUTY_RETURN_IF_ERROR(worker->delegate->SetOption(name, text));
  changed_options_[name] = text;
  return {};
}

Result<std::unique_ptr<Delegate>> IsolatedDelegate::Open(const LoadedPlugin::Expected& file, const OpenRequest& request,
                                                         const RemotePluginOptions& options,
                                                         DelegateWorker::GiveUp give_up) {
  struct Kept {
    OpenRequest request;
    std::vector<std::pair<std::string, std::string>> options;
  };
  auto kept = std::make_shared<Kept>(Kept{request, {request.options.begin(), request.options.end()}});
  kept->request.options = kept->options;
  DelegateWorker::Start start = [file, options, kept = std::move(kept)]() -> Result<ServedDelegate> {
    DEPUTY_ASSIGN_OR_RETURN(RemoteTable remote, ServePlugin(options));
    Checked<std::shared_ptr<LoadedPlugin>> plugin =
        LoadedPlugin::AdoptServed(file, remote.table, std::move(remote.keep));
    if (const Rejection* rejection = RejectionOf(plugin))
      return Status(StatusCode::kPlugin, rejection->text).At(file.path.string());
    DEPUTY_ASSIGN_OR_RETURN(
        std::unique_ptr<Delegate> opened,
        DelegateProxy::Open(std::get<std::shared_ptr<LoadedPlugin>>(std::move(plugin)), kept->request));
    return ServedDelegate{std::move(opened), std::move(remote.has_ended), std::move(remote.own_fault)};
  };
  return Open(std::move(start), std::move(give_up));
}

Result<std::unique_ptr<Delegate>> IsolatedDelegate::Open(DelegateWorker::Start start, DelegateWorker::GiveUp give_up) {
  auto worker = std::make_shared<DelegateWorker>(std::move(start), std::move(give_up));
  DEPUTY_RETURN_IF_ERROR(worker->Live().status());
  return std::unique_ptr<Delegate>(new IsolatedDelegate(std::move(worker)));
}

IsolatedDelegate::IsolatedDelegate(std::shared_ptr<DelegateWorker> worker)
    : worker_(std::move(worker)), name_(last().name()), id_(last().id()) {}

Status IsolatedDelegate::QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) {
  const auto lock = worker_->loading();
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  return worker->delegate->QuerySupport(view, verdicts);
}

Result<std::vector<PartitionSpec>> IsolatedDelegate::Propose(const GraphView& view) {
  const auto lock = worker_->loading();
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  DEPUTY_ASSIGN_OR_RETURN(std::vector<PartitionSpec> claims, worker->delegate->Propose(view));
  for (PartitionSpec& claim : claims) claim.claim = new Claim{worker, claim.claim};
  return claims;
}

void IsolatedDelegate::ReleaseClaim(void* claim) {
  const auto lock = worker_->loading();
  const std::unique_ptr<Claim> released(static_cast<Claim*>(claim));
  released->worker->delegate->ReleaseClaim(released->claim);
}

Result<std::vector<std::vector<NodeId>>> IsolatedDelegate::Groups(const GraphView& view) {
  const auto lock = worker_->loading();
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  return worker->delegate->Groups(view);
}

Result<Estimate> IsolatedDelegate::EstimatePartition(const GraphView& view, const PartitionSpec& partition) {
  const auto lock = worker_->loading();
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  DEPUTY_ASSIGN_OR_RETURN(const PartitionSpec own, WithClaimOf(partition, worker));
  return worker->delegate->EstimatePartition(view, own);
}

Result<std::shared_ptr<const Executable>> IsolatedDelegate::Compile(const GraphView& view,
                                                                    const PartitionSpec& partition) {
  const auto lock = worker_->loading();
  const std::unique_ptr<Claim> consumed(static_cast<Claim*>(partition.claim));
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  DEPUTY_ASSIGN_OR_RETURN(const PartitionSpec own, WithClaimOf(partition, worker));
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> made, worker->delegate->Compile(view, own));
  return Kept(std::move(worker), std::move(made), view, partition);
}

Result<std::shared_ptr<const Executable>> IsolatedDelegate::Restore(const GraphView& view,
                                                                    const PartitionSpec& partition, Blob blob) {
  const auto lock = worker_->loading();
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  DEPUTY_ASSIGN_OR_RETURN(const PartitionSpec own, WithClaimOf(partition, worker));
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> made,
                          worker->delegate->Restore(view, own, std::move(blob)));
  return Kept(std::move(worker), std::move(made), view, partition);
}

std::shared_ptr<const Executable> IsolatedDelegate::Kept(std::shared_ptr<const ServedDelegate> worker,
                                                         std::shared_ptr<const Executable> made, const GraphView& view,
                                                         const PartitionSpec& partition) {
  if (view_ == nullptr || view_->graph != view.graph || view_->order != view.order || view_->offered != view.offered ||
      view_->group_of != view.group_of)
    view_ = std::make_shared<const GraphView>(view);
  return std::make_shared<const IsolatedExecutable>(worker_, std::move(worker), std::move(made), view_, partition);
}

Result<BlobMaker> IsolatedDelegate::blob_maker() const {
  const auto lock = worker_->loading();
  return last().blob_maker();
}

Status IsolatedDelegate::CheckBlob(const std::string& compatibility) const {
  const auto lock = worker_->loading();
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  return worker->delegate->CheckBlob(compatibility);
}

Status IsolatedDelegate::InferOwn(InferenceContext& context) const {
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  return worker->delegate->InferOwn(context);
}

std::shared_ptr<Delegate> IsolatedDelegate::custom_kernels() const {
  if (last().custom_kernels() == nullptr) return nullptr;
  Result<std::unique_ptr<Delegate>> kernels = Open([worker = worker_]() -> Result<ServedDelegate> {
    DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> live, worker->Live());
    return ServedDelegate{live->delegate->custom_kernels(), live->has_ended, live->own_fault};
  });
  return kernels.ok() ? std::shared_ptr<Delegate>(std::move(kernels).value()) : nullptr;
}

Result<DeviceState> IsolatedDelegate::device_state() const {
  const std::shared_ptr<const ServedDelegate> worker = worker_->last();
  return worker->delegate->device_state();
}

std::vector<std::pair<std::string, std::string>> IsolatedDelegate::options() const {
  const std::shared_ptr<const ServedDelegate> worker = worker_->last();
  return worker->delegate->options();
}

}  // namespace deputy::host
