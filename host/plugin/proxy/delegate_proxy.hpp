// The checked proxy of a plugin's delegate: the rest of the host never calls a plugin's tables. It checks each result
// before use, names the plugin and the function in its reports, and turns an exception of the plugin into a failure.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "delegate/delegate.hpp"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/propose.h"
#include "plugin/proxy/opened_delegate.hpp"
#include "plugin/proxy/own_operator_table.hpp"

namespace deputy::host {

// The graph of a view must live as long as the executables compiled from it. [any-thread]
class DelegateProxy final : public Delegate,
                            private PartitionProposer,
                            private NodeGrouper,
                            private PartitionEstimator,
                            private BlobFormat,
                            private OwnOperators,
                            private DeviceControl {
 public:
  static Result<std::unique_ptr<Delegate>> Open(std::shared_ptr<LoadedPlugin> plugin, const OpenRequest& request);
  // Releases claims that were not compiled or released.
  ~DelegateProxy() override;

  const std::string& name() const override { return opened_->name(); }
  const std::string& id() const override { return id_; }
  DelegateTraits traits() const override;
  uint32_t newest_definition(std::string_view domain) const override;
  DelegateIdentity identity() const override;

  Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) override;
  Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) override;

  PartitionProposer* proposer() override { return propose_ == nullptr ? nullptr : this; }
  NodeGrouper* grouper() override { return groups_ == nullptr ? nullptr : this; }
  PartitionEstimator* estimator() override { return estimate_ == nullptr ? nullptr : this; }
  BlobFormat* blobs() override { return opened_->blob() == nullptr ? nullptr : this; }
  const OwnOperators* own_operators() const override { return own_operators_->empty() ? nullptr : this; }
  const DeviceControl* device_control() const override { return device_control_ == nullptr ? nullptr : this; }

  std::vector<std::pair<std::string, std::string>> options() const override;
  Status SetOption(const std::string& option, const std::string& text) override;

 private:
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

  using ShownGraph = std::shared_ptr<const deputy_graph>;

  void CallRelease(void* claim);
  // The graph that the propose of a waiting claim was shown; null: it does not wait.
  ShownGraph ShownWith(void* claim);
  // Whether the claim has waited. It does not any more.
  bool TakeClaim(void* claim);

  DelegateProxy(std::shared_ptr<OpenedDelegate> opened, std::string id);

  std::shared_ptr<OpenedDelegate> opened_;
  std::string id_;
  std::vector<std::pair<std::string, uint32_t>> opsets_;  // domain and its newest version
  const deputy_ext_propose* propose_;
  const deputy_ext_propose* groups_;
  const deputy_ext_estimate* estimate_;
  const deputy_ext_options* options_;
  const deputy_ext_device_control* device_control_;
  std::shared_ptr<const OwnOperatorTable> own_operators_;
  // Claims that wait for Compile or ReleaseClaim, with the graph that their propose was shown.
  Mutex claims_mutex_;  // also of a call of propose, which may return none of them
  std::map<void*, ShownGraph> claims_ DEPUTY_GUARDED_BY(claims_mutex_);
};

}  // namespace deputy::host
