#include "runtime/isolated_delegate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.hpp"
#include "base/plural.hpp"
#include "plan/partition_key.hpp"
#include "plugin/proxy/delegate_proxy.hpp"

namespace deputy::host {
namespace {

// A claim with the worker that holds it. Every claim that such a delegate gives out is one of these.
struct Claim {
  std::shared_ptr<const ServedDelegate> worker;
  void* claim;
};

// The facet of a worker's delegate, which another process of the same plugin had.
template <class Facet>
Result<Facet> Offered(Facet facet) {
  if (facet != nullptr) return facet;
  return Status(StatusCode::kPlugin, "its new worker process lacks a part that the one before had");
}

Status WorkerEnded() { return Status(StatusCode::kDeviceLost, "its worker process has ended"); }

// One call to a worker that has content in work.
class InWork {
 public:
  InWork(DelegateWorker& delegate, const ServedDelegate& worker, const WorkContent& content)
      : delegate_(delegate), worker_(worker), content_(content) {
    worker.calls->running.fetch_add(1, std::memory_order_relaxed);
  }
  ~InWork() { worker_.calls->running.fetch_sub(1, std::memory_order_relaxed); }
  InWork(const InWork&) = delete;
  InWork& operator=(const InWork&) = delete;

  // What the call has returned. If it has failed because the worker ended, that counts as a fault with the content.
  template <class R>
  R Done(R result, bool kept = true) {
    if (!result.ok() && worker_.has_ended()) delegate_.CountFault(worker_, content_, kept);
    return result;
  }

 private:
  DelegateWorker& delegate_;
  const ServedDelegate& worker_;
  const WorkContent& content_;
};

// A content that lives as long as its users.
struct KeptContent {
  KeptContent(std::shared_ptr<const GraphView> of_view, PartitionSpec of_partition)
      : view(std::move(of_view)), partition(std::move(of_partition)), content(view.get(), &partition) {}

  const std::shared_ptr<const GraphView> view;
  const PartitionSpec partition;  // its claim only says that it had one
  const WorkContent content;
};

// Memory of a device in a worker, which ends with it: that is a loss.
class IsolatedMemory final : public DeviceMemory {
 public:
  IsolatedMemory(std::shared_ptr<const ServedDelegate> worker, std::shared_ptr<DeviceMemory> memory)
      : worker_(std::move(worker)), memory_(std::move(memory)) {}

  uint64_t domain() const override { return memory_->domain(); }
  uint64_t losses() const override { return memory_->losses() + (has_ended() ? 1 : 0); }
  void CountLoss(uint64_t seen) override { memory_->CountLoss(seen); }
  bool has_ended() const override { return worker_->has_ended(); }
  Result<uint64_t> Allocate(size_t bytes, size_t alignment) override {
    return Made(memory_->Allocate(bytes, alignment));
  }
  Result<uint64_t> Import(const MemoryFilePart& part) override { return Made(memory_->Import(part)); }
  void Release(uint64_t handle) override {
    if (!has_ended()) memory_->Release(handle);
  }
  Status CopyIn(const void* from, uint64_t handle, size_t bytes) override {
    return Done(memory_->CopyIn(from, handle, bytes));
  }
  Status CopyOut(uint64_t handle, void* to, size_t bytes) override { return Done(memory_->CopyOut(handle, to, bytes)); }

 private:
  Result<uint64_t> Made(Result<uint64_t> made) const {
    if (!made.ok() && has_ended()) return WorkerEnded();
    return made;
  }
  // The end is the device's loss.
  Status Done(Status status) const {
    if (status.ok() || status.code() == StatusCode::kDeviceLost || !has_ended()) return status;
    return WorkerEnded();
  }

  const std::shared_ptr<const ServedDelegate> worker_;
  const std::shared_ptr<DeviceMemory> memory_;
};

class IsolatedContext final : public ExecutionContext {
 public:
  IsolatedContext(std::shared_ptr<DelegateWorker> delegate, std::shared_ptr<const ServedDelegate> worker,
                  std::shared_ptr<const WorkContent> content, std::unique_ptr<ExecutionContext> context)
      : delegate_(std::move(delegate)),
        worker_(std::move(worker)),
        content_(std::move(content)),
        number_(worker_->calls->Register(content_)),
        context_(std::move(context)) {}

  Status Execute(const RunArgs& args) override {
    was_lost_before_ = worker_->has_ended();
    if (was_lost_before_) return WorkerEnded();
    InWork work(*delegate_, *worker_, *content_);
    worker_->calls->last_run.store(number_, std::memory_order_relaxed);
    Status status = context_->Execute(args);
    // A run that had to end by the limit of its caller is no proof against the plugin in other processes.
    if (!status.ok()) return work.Done(std::move(status), args.cancellation == nullptr || !args.cancellation->Due());
    return status;
  }
  bool was_lost_before() const override { return was_lost_before_; }
  bool ended_its_process() const override { return !was_lost_before_ && !worker_->own_fault().empty(); }
  Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const> inputs,
                               std::span<const deputy_tensor* const> outputs) override {
    InWork work(*delegate_, *worker_, *content_);
    return work.Done(context_->Resize(inputs, outputs));
  }
  std::shared_ptr<DeviceMemory> device_memory() const override {
    std::shared_ptr<DeviceMemory> memory = context_->device_memory();
    return memory == nullptr ? nullptr : std::make_shared<IsolatedMemory>(worker_, std::move(memory));
  }
  MemoryWish WishOf(size_t index, const deputy_tensor& tensor) override { return context_->WishOf(index, tensor); }
  Status SetProfiling(bool on) override { return context_->SetProfiling(on); }
  void TakeEvents(std::vector<ProfileEvent>& into) override { context_->TakeEvents(into); }

 private:
  const std::shared_ptr<DelegateWorker> delegate_;
  const std::shared_ptr<const ServedDelegate> worker_;
  const std::shared_ptr<const WorkContent> content_;
  const uint64_t number_;
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
        kept_(std::make_shared<const KeptContent>(std::move(view), std::move(partition))),
        worker_(std::move(worker)),
        made_(std::move(made)) {}

  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
    const MutexLock lock(delegate_->loading());
    DEPUTY_RETURN_IF_ERROR(Renew());
    InWork work(*delegate_, *worker_, kept_->content);
    DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<ExecutionContext> context, work.Done(made_->CreateContext()));
    std::shared_ptr<const WorkContent> content(kept_, &kept_->content);
    return std::unique_ptr<ExecutionContext>(
        new IsolatedContext(delegate_, worker_, std::move(content), std::move(context)));
  }
  bool reads_shared_memory() const override { return true; }
  Result<std::vector<uint8_t>> Serialize(size_t limit) const override {
    const MutexLock lock(delegate_->loading());
    return made_->Serialize(limit);
  }

 private:
  Status Renew() const {
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> live, delegate_->LiveFor(kept_->content));
    if (live == worker_) return {};
    PartitionSpec partition = kept_->partition;
    InWork work(*delegate_, *live, kept_->content);
    if (partition.claim != nullptr) DEPUTY_RETURN_IF_ERROR(work.Done(ClaimAgain(*live->delegate, partition)));
    DEPUTY_ASSIGN_OR_RETURN(made_, work.Done(live->delegate->Compile(*kept_->view, partition)));
    worker_ = std::move(live);
    return {};
  }

  // The claim of the same nodes.
  Status ClaimAgain(Delegate& delegate, PartitionSpec& partition) const {
    DEPUTY_ASSIGN_OR_RETURN(PartitionProposer* const proposer, Offered(delegate.proposer()));
    DEPUTY_ASSIGN_OR_RETURN(const std::vector<PartitionSpec> proposed, proposer->Propose(*kept_->view));
    partition.claim = nullptr;
    for (const PartitionSpec& claim : proposed)
      if (partition.claim == nullptr && claim.nodes == partition.nodes)
        partition.claim = claim.claim;
      else
        proposer->ReleaseClaim(claim.claim);
    if (partition.claim != nullptr) return {};
    return Error(StatusCode::kDeviceLost, "its new worker process does not propose the partition '{}' again",
                 partition.name);
  }

  const std::shared_ptr<DelegateWorker> delegate_;
  const std::shared_ptr<const KeptContent> kept_;
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

std::optional<FaultContent> WorkContent::Describe() const {
  if (view_ == nullptr && model_ == nullptr) return std::nullopt;
  FaultContent content;
  content.model = model_ == nullptr ? GraphKey(*view_->graph) : model_->digest();
  content.model_name = model_ == nullptr ? view_->graph->name : model_->name();
  if (view_ == nullptr) {
    content.content = content.model;
    content.part = "all parts";
  } else if (partition_ == nullptr) {
    content.content = GraphKey(*view_->graph);
    content.part = fmt::format("a graph of {}", Plural(view_->graph->nodes.size(), "node"));
  } else {
    content.content = FaultKey(*view_->graph, *partition_);
    content.part = fmt::format("partition {} of {}", partition_->name, Plural(partition_->nodes.size(), "node"));
  }
  return content;
}

uint64_t WorkerCalls::Register(const std::shared_ptr<const WorkContent>& content) {
  const MutexLock lock(mutex_);
  if (contents_.size() >= next_sweep_) {
    std::erase_if(contents_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = std::max<size_t>(64, 2 * contents_.size());
  }
  contents_[++last_number_] = content;
  return last_number_;
}

bool WorkerCalls::CountsFor(const Digest& model) {
  const MutexLock lock(mutex_);
  return counted_models_.insert(model).second;
}

void WorkerCalls::NoteLoading(const std::shared_ptr<const ModelIdentity>& model) {
  last_run.store(0, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  loaded_ = model;
}

std::optional<FaultContent> WorkerCalls::Last() const {
  std::shared_ptr<const WorkContent> content;
  std::shared_ptr<const ModelIdentity> model;
  {
    const MutexLock lock(mutex_);
    const uint64_t number = last_run.load(std::memory_order_relaxed);
    if (const auto found = contents_.find(number); found != contents_.end()) content = found->second.lock();
    if (number == 0) model = loaded_.lock();
  }
  if (content != nullptr) return content->Describe();
  if (model == nullptr) return std::nullopt;
  return FaultContent{model->digest(), model->digest(), model->name(), "all parts"};
}

Result<std::shared_ptr<const ServedDelegate>> DelegateWorker::Live() {
  const MutexLock loading_lock(loading());
  std::shared_ptr<const ServedDelegate> worker = last();
  if (worker != nullptr && !worker->has_ended()) return worker;
  if (worker != nullptr) {
    CountIdleFault(*worker);
    DEPUTY_RETURN_IF_ERROR(faults_.given_up());
  }
  DEPUTY_ASSIGN_OR_RETURN(ServedDelegate started, start_());
  for (const auto& [name, text] : changed_options_) DEPUTY_RETURN_IF_ERROR(started.delegate->SetOption(name, text));
  const bool again = worker != nullptr;
  worker = std::make_shared<const ServedDelegate>(std::move(started));
  {
    const MutexLock lock(mutex_);
    worker_ = worker;
  }
  if (again) Log(LogLevel::kInfo, "{}: its worker process was started again", worker->delegate->name());
  return worker;
}

Result<std::shared_ptr<const ServedDelegate>> DelegateWorker::LiveFor(const WorkContent& content) {
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> worker, Live());
  // Only where anything is kept away its constants are read, to know the content again.
  if (faults_.keeps_any_away())
    if (const std::optional<FaultContent> described = content.Describe())
      DEPUTY_RETURN_IF_ERROR(faults_.Check(*described));
  worker->calls->NoteLoading(content.model());
  return worker;
}

// Of the calls of one model that were running the first to return counts, for its content.
void DelegateWorker::CountFault(const ServedDelegate& ended, const WorkContent& content, bool kept) {
  if (ended.own_fault().empty()) return;
  WorkerCalls& calls = *ended.calls;
  if (calls.running.load() > 1) calls.overlapped = true;
  const bool alone = !calls.overlapped.load();
  if (calls.counted.exchange(true) && alone) return;
  const std::optional<FaultContent> described = content.Describe();
  if (calls.CountsFor(described ? described->model : Digest())) Count(ended, described, alone, kept);
}

void DelegateWorker::CountIdleFault(const ServedDelegate& ended) {
  if (ended.own_fault().empty() || ended.calls->running.load() != 0 || ended.calls->counted.exchange(true)) return;
  Count(ended, ended.calls->Last(), true, true);
}

void DelegateWorker::Count(const ServedDelegate& ended, const std::optional<FaultContent>& content, bool alone,
                           bool kept) {
  const bool was_given_up = !faults_.given_up().ok();
  faults_.Count(ended.own_fault(), content, alone, kept, ended.fault_limits ? ended.fault_limits() : FaultLimits());
  if (const Status given_up = faults_.given_up(); !given_up.ok() && !was_given_up)
    Log(LogLevel::kWarning, "{}: {}; it is not used any more", ended.delegate->name(), given_up.message());
}

std::shared_ptr<const ServedDelegate> DelegateWorker::last() const {
  const MutexLock lock(mutex_);
  return worker_;
}

Status DelegateWorker::SetOption(const std::string& name, const std::string& text) {
  const MutexLock lock(loading());
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, Live());
  DEPUTY_RETURN_IF_ERROR(worker->delegate->SetOption(name, text));
  changed_options_[name] = text;
  return {};
}

Result<std::unique_ptr<Delegate>> IsolatedDelegate::Open(const LoadedPlugin::Expected& file, const OpenRequest& request,
                                                         const RemotePluginOptions& options, FaultHandling faults) {
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
    ServedDelegate served{std::move(opened), std::move(remote.has_ended), std::move(remote.own_fault)};
    served.fault_limits = std::move(remote.fault_limits);
    return served;
  };
  return Open(std::move(start), std::move(faults));
}

Result<std::unique_ptr<Delegate>> IsolatedDelegate::Open(DelegateWorker::Start start, FaultHandling faults) {
  auto worker = std::make_shared<DelegateWorker>(std::move(start), std::move(faults));
  DEPUTY_RETURN_IF_ERROR(worker->Live().status());
  return std::unique_ptr<Delegate>(new IsolatedDelegate(std::move(worker)));
}

IsolatedDelegate::IsolatedDelegate(std::shared_ptr<DelegateWorker> worker)
    : worker_(std::move(worker)),
      name_(last().name()),
      id_(last().id()),
      proposes_(last().proposer() != nullptr),
      groups_(last().grouper() != nullptr),
      estimates_(last().estimator() != nullptr),
      has_blobs_(last().blobs() != nullptr),
      has_operators_(last().own_operators() != nullptr),
      has_device_(last().device_control() != nullptr) {}

Status IsolatedDelegate::QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) {
  const MutexLock lock(worker_->loading());
  const WorkContent content(&view);
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  return InWork(*worker_, *worker, content).Done(worker->delegate->QuerySupport(view, verdicts));
}

Result<std::vector<PartitionSpec>> IsolatedDelegate::Propose(const GraphView& view) {
  const MutexLock lock(worker_->loading());
  const WorkContent content(&view);
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  DEPUTY_ASSIGN_OR_RETURN(PartitionProposer* const proposer, Offered(worker->delegate->proposer()));
  InWork work(*worker_, *worker, content);
  DEPUTY_ASSIGN_OR_RETURN(std::vector<PartitionSpec> claims, work.Done(proposer->Propose(view)));
  for (PartitionSpec& claim : claims) claim.claim = new Claim{worker, claim.claim};
  return claims;
}

void IsolatedDelegate::ReleaseClaim(void* claim) {
  const MutexLock lock(worker_->loading());
  const std::unique_ptr<Claim> released(static_cast<Claim*>(claim));
  released->worker->delegate->proposer()->ReleaseClaim(released->claim);
}

Result<std::vector<std::vector<NodeId>>> IsolatedDelegate::Groups(const GraphView& view) {
  const MutexLock lock(worker_->loading());
  const WorkContent content(&view);
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  DEPUTY_ASSIGN_OR_RETURN(NodeGrouper* const grouper, Offered(worker->delegate->grouper()));
  return InWork(*worker_, *worker, content).Done(grouper->Groups(view));
}

Result<Estimate> IsolatedDelegate::EstimatePartition(const GraphView& view, const PartitionSpec& partition) {
  const MutexLock lock(worker_->loading());
  const WorkContent content(&view, &partition);
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  DEPUTY_ASSIGN_OR_RETURN(PartitionEstimator* const estimator, Offered(worker->delegate->estimator()));
  DEPUTY_ASSIGN_OR_RETURN(const PartitionSpec own, WithClaimOf(partition, worker));
  InWork work(*worker_, *worker, content);
  return work.Done(estimator->EstimatePartition(view, own));
}

Result<std::shared_ptr<const Executable>> IsolatedDelegate::Compile(const GraphView& view,
                                                                    const PartitionSpec& partition) {
  const MutexLock lock(worker_->loading());
  const std::unique_ptr<Claim> consumed(static_cast<Claim*>(partition.claim));
  const WorkContent content(&view, &partition);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  DEPUTY_ASSIGN_OR_RETURN(const PartitionSpec own, WithClaimOf(partition, worker));
  InWork work(*worker_, *worker, content);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> made, work.Done(worker->delegate->Compile(view, own)));
  return Kept(std::move(worker), std::move(made), view, partition);
}

Result<std::shared_ptr<const Executable>> IsolatedDelegate::Restore(const GraphView& view,
                                                                    const PartitionSpec& partition, Blob blob) {
  const MutexLock lock(worker_->loading());
  const WorkContent content(&view, &partition);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  DEPUTY_ASSIGN_OR_RETURN(BlobFormat* const blobs, Offered(worker->delegate->blobs()));
  DEPUTY_ASSIGN_OR_RETURN(const PartitionSpec own, WithClaimOf(partition, worker));
  InWork work(*worker_, *worker, content);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> made,
                          work.Done(blobs->Restore(view, own, std::move(blob))));
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

Result<BlobMaker> IsolatedDelegate::blob_maker() {
  const MutexLock lock(worker_->loading());
  DEPUTY_ASSIGN_OR_RETURN(BlobFormat* const blobs, Offered(last().blobs()));
  return blobs->blob_maker();
}

Status IsolatedDelegate::CheckBlob(const std::string& compatibility) {
  const MutexLock lock(worker_->loading());
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->Live());
  DEPUTY_ASSIGN_OR_RETURN(BlobFormat* const blobs, Offered(worker->delegate->blobs()));
  return blobs->CheckBlob(compatibility);
}

Status IsolatedDelegate::InferOwn(InferenceContext& context) const {
  const WorkContent content;
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> worker, worker_->LiveFor(content));
  DEPUTY_ASSIGN_OR_RETURN(const OwnOperators* const own, Offered(worker->delegate->own_operators()));
  return InWork(*worker_, *worker, content).Done(own->InferOwn(context));
}

std::shared_ptr<Delegate> IsolatedDelegate::custom_kernels() const {
  const OwnOperators* const own = last().own_operators();
  if (own == nullptr || own->custom_kernels() == nullptr) return nullptr;
  Result<std::unique_ptr<Delegate>> kernels = Open([worker = worker_]() -> Result<ServedDelegate> {
    DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const ServedDelegate> live, worker->Live());
    DEPUTY_ASSIGN_OR_RETURN(const OwnOperators* const live_own, Offered(live->delegate->own_operators()));
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<Delegate> served, Offered(live_own->custom_kernels()));
    return ServedDelegate{std::move(served), live->has_ended, live->own_fault, live->calls, live->fault_limits};
  });
  return kernels.ok() ? std::shared_ptr<Delegate>(std::move(kernels).value()) : nullptr;
}

Result<DeviceState> IsolatedDelegate::device_state() const {
  const std::shared_ptr<const ServedDelegate> worker = worker_->last();
  DEPUTY_ASSIGN_OR_RETURN(const DeviceControl* const control, Offered(worker->delegate->device_control()));
  return control->device_state();
}

std::vector<std::pair<std::string, std::string>> IsolatedDelegate::options() const {
  const std::shared_ptr<const ServedDelegate> worker = worker_->last();
  return worker->delegate->options();
}

}  // namespace deputy::host
