// The optional parts of a delegate, each an interface of its own, as in the ABI: Delegate returns those that it has.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "delegate/extensions.hpp"
#include "graph/graph.hpp"
#include "graph/inference.hpp"

namespace deputy::host {

class Delegate;
class Executable;
struct GraphView;
struct PartitionSpec;

// Forms the partitions itself; without it the host clusters the nodes that QuerySupport accepts.
class PartitionProposer {
 public:
  // Claims, each all or nothing. Every returned claim goes to Compile or to ReleaseClaim, once. `inputs` and `outputs`
  // may be empty: the host determines them.
  virtual Result<std::vector<PartitionSpec>> Propose(const GraphView& view) = 0;
  virtual void ReleaseClaim(void* claim) = 0;

 protected:
  ~PartitionProposer() = default;
};

// Names nodes that stay together. Called after QuerySupport, with the nodes that it accepted on offer.
class NodeGrouper {
 public:
  virtual Result<std::vector<std::vector<NodeId>>> Groups(const GraphView& view) = 0;

 protected:
  ~NodeGrouper() = default;
};

// A delegate's estimate of a partition before it is compiled. Unknown amounts are left out.
struct Estimate {
  bool feasible = true;
  std::string reason;  // why not, or why nodes are given back
  std::optional<uint64_t> latency_ns, memory_bytes, energy_nj;
  std::vector<NodeId> give_back;
};

class PartitionEstimator {
 public:
  // The claim, if there is one, is not consumed.
  virtual Result<Estimate> EstimatePartition(const GraphView& view, const PartitionSpec& partition) = 0;

 protected:
  ~PartitionEstimator() = default;
};

// A node whose executable computes more than the node: it reads `inputs` and makes `outputs`, values of the graph in
// binding order, among them those that other nodes make.
struct FusedNode {
  NodeId node = 0;
  std::vector<ValueId> inputs, outputs;
  std::shared_ptr<const Executable> executable;
};

// Of the last delegate, whose nodes are partitions of their own.
class NodeFuser {
 public:
  // Nodes on offer that compute the results of later ones too, from values that exist before the node runs. Nodes whose
  // results have no readers left are not run.
  virtual std::vector<FusedNode> Fuse(const GraphView& view) = 0;

 protected:
  ~NodeFuser() = default;
};

// Executables as bytes, for other processes.
class BlobFormat {
 public:
  // Identity of the producer of this delegate's blobs; kNotSupported: it has none.
  virtual Result<BlobMaker> blob_maker() = 0;
  // Whether blobs with this text of compatibility can be restored; kIncompatible with the reason when not.
  virtual Status CheckBlob(const std::string& compatibility) = 0;
  // Makes an executable of a blob that Serialize wrote for such a partition. Does not consume the claim: after success
  // it goes to ReleaseClaim, after failure to Compile.
  virtual Result<std::shared_ptr<const Executable>> Restore(const GraphView& view, const PartitionSpec& partition,
                                                            Blob blob) = 0;

 protected:
  ~BlobFormat() = default;
};

// Operators that the delegate defines.
class OwnOperators {
 public:
  // Types of the outputs of a node; kNotSupported when its operator is not one of them. Other failures describe a fault
  // of the node. [any-thread]
  virtual Status InferOwn(InferenceContext& context) const = 0;
  // Kernels for them, as a delegate that is asked after all others but the CPU; null: there are none.
  virtual std::shared_ptr<Delegate> custom_kernels() const = 0;

 protected:
  ~OwnOperators() = default;
};

// Clock and power as the device reports them.
struct DeviceState {
  std::string device_name;
  uint32_t level_requested = 0, level_granted = 0;
  uint64_t frequency_requested_hz = 0, frequency_granted_hz = 0;
  uint64_t busy_ns = 0, runs = 0;
};

class DeviceControl {
 public:
  virtual Result<DeviceState> device_state() const = 0;

 protected:
  ~DeviceControl() = default;
};

}  // namespace deputy::host
