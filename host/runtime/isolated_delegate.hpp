// A delegate whose plugin runs in a worker process. When the worker has ended, a new one is started with the options
// that were in force, and each executable is compiled again when a context of it is next made.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "delegate/delegate.hpp"
#include "delegate/factory.hpp"
#include "isolation/serve.hpp"
#include "plugin/discovery/loaded_plugin.hpp"

namespace deputy::host {

// A delegate in a process that may end.
struct ServedDelegate {
  std::shared_ptr<Delegate> delegate;
  std::function<bool()> has_ended;  // [any-thread]
  // How its process ended by a fault of its own; empty while it lives, and where another process killed it.
  // [any-thread]
  std::function<std::string()> own_fault;
};

// The present worker of a delegate. [any-thread]
class DelegateWorker {
 public:
  using Start = std::function<Result<ServedDelegate>()>;

  // Gets the faults of the delegate when they were too many, as a sentence.
  using GiveUp = std::function<void(const std::string& faults)>;

  explicit DelegateWorker(Start start, GiveUp give_up = {}) : start_(std::move(start)), give_up_(std::move(give_up)) {}

  // A worker that was alive at the time of the call; starts one where there is none. After three faults of their own
  // within five minutes no other is started: kUnavailable. Load-time calls to its delegate need the lock of loading().
  Result<std::shared_ptr<const ServedDelegate>> Live();
  // The last worker, alive or not; null before the first.
  std::shared_ptr<const ServedDelegate> last() const;
  std::unique_lock<std::recursive_mutex> loading() const { return std::unique_lock(loading_); }
  // Changes an option of this worker and of those to come.
  Status SetOption(const std::string& name, const std::string& text);

 private:
  // An error where the worker has ended by a fault once too often.
  Status CountFault(const ServedDelegate& ended);

  const Start start_;
  const GiveUp give_up_;
  mutable std::recursive_mutex loading_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServedDelegate> worker_;
  std::map<std::string, std::string> changed_options_;
  std::deque<std::chrono::steady_clock::time_point> faults_;
  std::string given_up_;  // why no worker is started any more
};

class IsolatedDelegate final : public Delegate {
 public:
  // Opens a delegate of the file in a worker process with these options; again whenever that process has ended. The
  // texts of `request` are copied, all that it points to must outlive the delegate.
  static Result<std::unique_ptr<Delegate>> Open(const LoadedPlugin::Expected& file, const OpenRequest& request,
                                                const RemotePluginOptions& options, DelegateWorker::GiveUp give_up);
  static Result<std::unique_ptr<Delegate>> Open(DelegateWorker::Start start, DelegateWorker::GiveUp give_up = {});

  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  bool takes_dynamic_shapes() const override { return last().takes_dynamic_shapes(); }
  uint32_t newest_definition(std::string_view domain) const override { return last().newest_definition(domain); }
  bool proposes() const override { return last().proposes(); }
  bool groups() const override { return last().groups(); }
  bool estimates() const override { return last().estimates(); }
  bool keeps_partitions() const override { return last().keeps_partitions(); }
  bool overlaps() const override { return last().overlaps(); }
  bool runs_custom_operators_only() const override { return last().runs_custom_operators_only(); }
  DelegateIdentity identity() const override { return last().identity(); }

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override;
  Result<std::vector<PartitionSpec>> Propose(const GraphView& view) override;
  void ReleaseClaim(void* claim) override;
  Result<std::vector<std::vector<NodeId>>> Groups(const GraphView& view) override;
  Result<Estimate> EstimatePartition(const GraphView& view, const PartitionSpec& partition) override;
  Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) override;
  Result<BlobMaker> blob_maker() const override;
  Status CheckBlob(const std::string& compatibility) const override;
  Result<std::shared_ptr<const Executable>> Restore(const GraphView& view, const PartitionSpec& partition,
                                                    Blob blob) override;
  Status InferOwn(InferenceContext& context) const override;
  std::shared_ptr<Delegate> custom_kernels() const override;
  Result<DeviceState> device_state() const override;
  std::vector<std::pair<std::string, std::string>> options() const override;
  Status SetOption(const std::string& name, const std::string& text) override { return worker_->SetOption(name, text); }

 private:
  explicit IsolatedDelegate(std::shared_ptr<DelegateWorker> worker);
  Delegate& last() const { return *worker_->last()->delegate; }
  // An executable that is compiled again, for the worker that made it.
  std::shared_ptr<const Executable> Kept(std::shared_ptr<const ServedDelegate> worker,
                                         std::shared_ptr<const Executable> made, const GraphView& view,
                                         const PartitionSpec& partition);

  const std::shared_ptr<DelegateWorker> worker_;
  const std::string name_, id_;
  std::shared_ptr<const GraphView> view_;  // of the last executable, for those after it
};

}  // namespace deputy::host
