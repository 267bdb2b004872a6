// A delegate whose plugin runs in a worker process. When the worker has ended, a new one is started with the options
// that were in force, and each executable is compiled again when a context of it is next made. A fault counts for the
// content that was in work (plugin_faults.hpp); calls with a content that is kept away fail without reaching a worker.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "delegate/delegate.hpp"
#include "delegate/factory.hpp"
#include "isolation/serve.hpp"
#include "plugin/discovery/loaded_plugin.hpp"
#include "runtime/model_scope.hpp"
#include "runtime/plugin_faults.hpp"

namespace deputy::host {

// Something of a model that calls hand to a plugin: a partition, or without one the whole graph of the view, or without
// a view all of the model. The view and its graph live as long.
class WorkContent {
 public:
  explicit WorkContent(const GraphView* view = nullptr, const PartitionSpec* partition = nullptr)
      : view_(view), partition_(partition), model_(ModelScope::Current()) {}
  // Reads all of its constants. Nothing where no model is known.
  std::optional<FaultContent> Describe() const;
  const std::shared_ptr<const ModelIdentity>& model() const { return model_; }

 private:
  const GraphView* const view_;
  const PartitionSpec* const partition_;
  const std::shared_ptr<const ModelIdentity> model_;  // null: the graph stands for it
};

// The calls of one worker process. A run notes only two numbers. [any-thread]
class WorkerCalls {
 public:
  // A number for the contexts of a content, valid while it lives.
  uint64_t Register(const std::shared_ptr<const WorkContent>& content);
  // A call that loads, with something of this model, which may be null.
  void NoteLoading(const std::shared_ptr<const ModelIdentity>& model);
  // Whether the end of the process is to be counted as a fault with this model in work: once, with any number
  // of its calls.
  bool CountsFor(const Digest& model);
  // What was last in work, as far as it is known and alive; for a process that ended between calls.
  std::optional<FaultContent> Last() const;

  std::atomic<uint32_t> running{0};
  std::atomic<bool> overlapped{false};  // when it ended, several calls were running
  std::atomic<bool> counted{false};     // its end, as a fault
  std::atomic<uint64_t> last_run{0};    // number of a content

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<const WorkContent>> contents_ DEPUTY_GUARDED_BY(mutex_);
  std::set<Digest> counted_models_ DEPUTY_GUARDED_BY(mutex_);
  std::weak_ptr<const ModelIdentity> loaded_ DEPUTY_GUARDED_BY(mutex_);  // of the last call that loaded
  uint64_t last_number_ DEPUTY_GUARDED_BY(mutex_) = 0;
  size_t next_sweep_ DEPUTY_GUARDED_BY(mutex_) = 64;  // entries, after which those of ended contents are removed
};

// A delegate in a process that may end.
struct ServedDelegate {
  std::shared_ptr<Delegate> delegate;
  std::function<bool()> has_ended;  // [any-thread]
  // How its process ended by a fault of its own; empty while it lives, and where another process killed it.
  // [any-thread]
  std::function<std::string()> own_fault;
  std::shared_ptr<WorkerCalls> calls = std::make_shared<WorkerCalls>();
  // The limits under which it did; null: none. [any-thread]
  std::function<FaultLimits()> fault_limits = {};
};

// The present worker of a delegate. [any-thread]
class DelegateWorker {
 public:
  using Start = std::function<Result<ServedDelegate>()>;

  DelegateWorker(Start start, FaultHandling faults) : start_(std::move(start)), faults_(std::move(faults)) {}

  // A worker that was alive at the time of the call; starts one where there is none. Once the plugin was given up no
  // other is started: kUnavailable. Load-time calls to its delegate need the lock of loading().
  Result<std::shared_ptr<const ServedDelegate>> Live();
  // The same for a call with this content, which fails where that is kept away.
  Result<std::shared_ptr<const ServedDelegate>> LiveFor(const WorkContent& content);
  // Counts the end of the worker if it was a fault of its own, during a call with this content. `kept`: also for other
  // processes.
  void CountFault(const ServedDelegate& ended, const WorkContent& content, bool kept);
  // The last worker, alive or not; null before the first.
  std::shared_ptr<const ServedDelegate> last() const;
  RecursiveMutex& loading() const DEPUTY_RETURNS(loading_) { return loading_; }
  // Changes an option of this worker and of those to come.
  Status SetOption(const std::string& name, const std::string& text);

 private:
  // The same where no call knows of it.
  void CountIdleFault(const ServedDelegate& ended);
  void Count(const ServedDelegate& ended, const std::optional<FaultContent>& content, bool alone, bool kept);

  const Start start_;
  PluginFaults faults_;
  mutable RecursiveMutex loading_;
  mutable Mutex mutex_;
  std::shared_ptr<const ServedDelegate> worker_ DEPUTY_GUARDED_BY(mutex_);
  std::map<std::string, std::string> changed_options_ DEPUTY_GUARDED_BY(loading_);
};

// It has the facets of the first worker's delegate. Where that of a later one lacks one of them, its functions fail.
class IsolatedDelegate final : public Delegate,
                               private PartitionProposer,
                               private NodeGrouper,
                               private PartitionEstimator,
                               private BlobFormat,
                               private OwnOperators,
                               private DeviceControl {
 public:
  // Opens a delegate of the file in a worker process with these options; again whenever that process has ended. The
  // texts of `request` are copied, all that it points to must outlive the delegate.
  static Result<std::unique_ptr<Delegate>> Open(const LoadedPlugin::Expected& file, const OpenRequest& request,
                                                const RemotePluginOptions& options, FaultHandling faults);
  static Result<std::unique_ptr<Delegate>> Open(DelegateWorker::Start start, FaultHandling faults = {});

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  DelegateTraits traits() const override { return last().traits(); }
  uint32_t newest_definition(std::string_view domain) const override { return last().newest_definition(domain); }
  DelegateIdentity identity() const override { return last().identity(); }

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override;
  Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) override;

  PartitionProposer* proposer() override { return proposes_ ? this : nullptr; }
  NodeGrouper* grouper() override { return groups_ ? this : nullptr; }
  PartitionEstimator* estimator() override { return estimates_ ? this : nullptr; }
  BlobFormat* blobs() override { return has_blobs_ ? this : nullptr; }
  const OwnOperators* own_operators() const override { return has_operators_ ? this : nullptr; }
  const DeviceControl* device_control() const override { return has_device_ ? this : nullptr; }

  std::vector<std::pair<std::string, std::string>> options() const override;
  Status SetOption(const std::string& name, const std::string& text) override { return worker_->SetOption(name, text); }

 private:
  explicit IsolatedDelegate(std::shared_ptr<DelegateWorker> worker);
  Result<std::vector<PartitionSpec>> Propose(const GraphView& view) override;
  void ReleaseClaim(void* claim) override;
  Result<std::vector<std::vector<NodeId>>> Groups(const GraphView& view) override;
  Result<Estimate> EstimatePartition(const GraphView& view, const PartitionSpec& partition) override;
  Result<BlobMaker> blob_maker() override;
  Status CheckBlob(const std::string& compatibility) override;
  Result<std::shared_ptr<const Executable>> Restore(const GraphView& view, const PartitionSpec& partition,
                                                    Blob blob) override;
  Status InferOwn(InferenceContext& context) const override;
  std::shared_ptr<Delegate> custom_kernels() const override;
  Result<DeviceState> device_state() const override;

  Delegate& last() const { return *worker_->last()->delegate; }
  // An executable that is compiled again, for the worker that made it.
  std::shared_ptr<const Executable> Kept(std::shared_ptr<const ServedDelegate> worker,
                                         std::shared_ptr<const Executable> made, const GraphView& view,
                                         const PartitionSpec& partition);

  const std::shared_ptr<DelegateWorker> worker_;
  const std::string name_, id_;
  const bool proposes_, groups_, estimates_, has_blobs_, has_operators_, has_device_;
  std::shared_ptr<const GraphView> view_;  // of the last executable, for those after it
};

}  // namespace deputy::host
