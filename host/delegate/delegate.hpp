// The interface of a delegate for partition, plan and execute: an opened instance that answers, compiles and runs. It
// is the CPU, a plugin behind its checked proxy, or an object of the application.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancellation.hpp"
#include "base/status.hpp"
#include "delegate/extensions.hpp"
#include "deputy/abi/tensor.h"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "tensor/scratch.hpp"

namespace deputy::host {

// Why a node is not on a delegate. Those up to kOther are a delegate's answers (numbers as in deputy_reason); the
// others are the host's own.
enum class Reason : uint32_t {
  kSupported = 0,
  kOperatorUnknown = 1,
  kDefinitionTooNew = 2,
  kDType = 3,
  kRank = 4,
  kShapeDynamic = 5,
  kAttribute = 6,
  kLayout = 7,
  kShape = 8,
  kNotConstant = 9,
  kOther = 10,
  kDeniedByRule = 32,
  kGroupIncomplete = 33,
  kPartitionTooSmall = 34,
  kMoreExpensive = 35,
  kInfeasible = 36,
  kWouldMakeCycle = 37,
  kTakenByOther = 38,
  kRefusedAtCompile = 39,
  kNotAnswered = 40,
  kNoTensor = 41,
  kFailedAtRun = 42,
  kWrongResult = 43,
  kSlower = 44,
};
std::string_view NameOf(Reason reason);  // "operator unknown", "dtype", ...

struct Verdict {
  Reason reason = Reason::kNotAnswered;
  std::string detail;
  bool supported() const { return reason == Reason::kSupported; }
};

// Nodes that run together. Inputs and outputs are exact and in binding order; a node of a delegate with one node in
// each partition also has the outputs that its operator must have and that are never read.
struct PartitionSpec {
  std::vector<NodeId> nodes;  // topological order
  std::vector<ValueId> inputs, outputs;
  void* claim = nullptr;  // from Delegate::Propose; passes to Compile
  std::string name;
};

// A form of a view that a delegate has made for itself. Copies of the view begin without one: they may be changed.
struct KeptForm {
  KeptForm() = default;
  KeptForm(const KeptForm&) noexcept {}
  KeptForm& operator=(const KeptForm&) noexcept {
    form = nullptr;
    return *this;
  }
  mutable std::shared_ptr<const void> form;
};

// The graph as it is shown to a delegate: the nodes on offer, and an order in which to visit them.
struct GraphView {
  const Graph* graph = nullptr;
  std::vector<NodeId> order;     // topological
  std::vector<uint8_t> offered;  // per node
  // Per node, the atomic group that it belongs to; nodes of one group stay together. Empty: each node is one of its
  // own.
  std::vector<uint32_t> group_of = {};
  // Shared by the calls for the partitions of this view, Compile, Restore and EstimatePartition, between which it must
  // not change.
  KeptForm kept = {};
};

class Executable;

// A node whose executable computes more than the node: it reads `inputs` and makes `outputs`, values of the graph in
// binding order, among them those that other nodes make.
struct FusedNode {
  NodeId node = 0;
  std::vector<ValueId> inputs, outputs;
  std::shared_ptr<const Executable> executable;
};

// A delegate's estimate of a partition before it is compiled. Unknown amounts are left out.
struct Estimate {
  bool feasible = true;
  std::string reason;  // why not, or why nodes are given back
  std::optional<uint64_t> latency_ns, memory_bytes, energy_nj;
  std::vector<NodeId> give_back;
};

// Wishes for a run that a delegate may ignore.
struct RunHints {
  uint32_t power_level = 0;             // 1 low power to 4 extreme; 0: none
  DType precision = DType::kUndefined;  // the least precise float type that may compute; undefined: none
};

// One run's tensors, in the order of the partition's inputs and outputs. A null pointer is an input left out.
class OutputAllocator;
struct RunArgs {
  std::span<const deputy_tensor* const> inputs;
  std::span<deputy_tensor* const> outputs;
  OutputAllocator* allocator = nullptr;             // for outputs whose extents are known only now
  Scratch* scratch = nullptr;                       // of the whole run; undefined contents
  const CancellationToken* cancellation = nullptr;  // of the whole run; null: it always runs to its end
  RunHints hints = {};

  // CLOCK_MONOTONIC; 0: none.
  uint64_t deadline_ns() const { return cancellation == nullptr ? 0 : cancellation->deadline_ns; }
};

// Gives memory to outputs whose extents were not known when the plan was made.
class OutputAllocator {
 public:
  virtual ~OutputAllocator() = default;
  // Sets dims, byte_size and data of `tensor`, which is one of the run's outputs. An output whose extents are planned
  // accepts only those. Memory is kept and reused between runs.
  virtual Status Allocate(deputy_tensor* tensor, std::span<const int64_t> dims) = 0;
  // Sets the value of an output that is not a tensor. Only for the host's own kernels.
  virtual Status Hold(deputy_tensor*, ModelValue) {
    return Error(StatusCode::kInternal, "there is no place for a value that is no tensor");
  }
};

class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;
  // One call at a time per context, of all functions below.
  virtual Status Execute(const RunArgs& args) = 0;
  // Whether the last Execute failed with kDeviceLost because the device was lost before it: nothing was run, and a new
  // context of the executable may work at once.
  virtual bool was_lost_before() const { return false; }
  // Whether the last failed execute ended the process that ran it, by a fault of the delegate.
  virtual bool ended_its_process() const { return false; }
  // Shapes for the following runs: tensors without data, in the order of the partition. After a failure, or kRecompile,
  // the context is as it was.
  virtual Result<ResizeOutcome> Resize(std::span<const deputy_tensor* const>, std::span<const deputy_tensor* const>) {
    return Status(StatusCode::kNotSupported, "made for one set of shapes");
  }
  // kNotSupported: there are no events.
  virtual Status SetProfiling(bool) { return Status(StatusCode::kNotSupported, "no profiling"); }
  // Appends the events of the runs since the last call, in the order in which they began.
  virtual void TakeEvents(std::vector<ProfileEvent>&) {}
};

// An output that may occupy the bytes of an input, both by position in the partition.
struct Alias {
  uint32_t output = 0, input = 0;
  bool view = false;  // a view of the input: where it occupies the same bytes, there is nothing to execute
};

// Immutable once made; shared by all sessions of a model.
class Executable {
 public:
  virtual ~Executable() = default;
  // Only for the last delegate; others must keep their inputs intact for fallback.
  virtual std::vector<Alias> aliases() const { return {}; }
  virtual Result<std::unique_ptr<ExecutionContext>> CreateContext() const = 0;
  // Memory of the host that it keeps for weights in a form of its own; 0 where that is not known.
  virtual size_t weight_bytes() const { return 0; }
  // It runs in another process, which reads inputs where they are if the memory is shared with it (ArenaSource).
  virtual bool reads_shared_memory() const { return false; }
  // Bytes for Delegate::Restore; not more than `limit`. kNotSupported: it cannot be serialized. [any-thread]
  virtual Result<std::vector<uint8_t>> Serialize([[maybe_unused]] size_t limit) const {
    return Status(StatusCode::kNotSupported, "cannot be serialized");
  }
};

// Clock and power as the device reports them.
struct DeviceState {
  std::string device_name;
  uint32_t level_requested = 0, level_granted = 0;
  uint64_t frequency_requested_hz = 0, frequency_granted_hz = 0;
  uint64_t busy_ns = 0, runs = 0;
};

class Delegate {
 public:
  virtual ~Delegate() = default;

  virtual const std::string& name() const = 0;  // of the YAML entry
  virtual const std::string& id() const = 0;    // of the delegate in its plugin
  // False: nodes that read or make values with extents known only at run time are not offered.
  virtual bool takes_dynamic_shapes() const = 0;
  // The newest definition of a domain's operators that the delegate knows; nodes of newer ones are not offered.
  virtual uint32_t newest_definition(std::string_view) const { return UINT32_MAX; }
  // True: every node is a partition of its own, as on the CPU, and planned like any partition.
  virtual bool one_node_partitions() const { return false; }
  // True: Propose forms the partitions; otherwise the host clusters the nodes that QuerySupport accepts.
  virtual bool proposes() const { return false; }

  // One verdict per node of the graph; nodes not on offer keep kNotAnswered.
  virtual Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) = 0;
  // Claims, each all or nothing. Every returned claim goes to Compile or to ReleaseClaim, once. `inputs` and `outputs`
  // may be empty: the host determines them.
  virtual Result<std::vector<PartitionSpec>> Propose(const GraphView&) { return std::vector<PartitionSpec>(); }
  virtual void ReleaseClaim(void*) {}
  // True: Groups may name nodes that stay together. Called after QuerySupport, with the nodes that it accepted on
  // offer.
  virtual bool groups() const { return false; }
  virtual Result<std::vector<std::vector<NodeId>>> Groups(const GraphView&) {
    return std::vector<std::vector<NodeId>>();
  }
  // True: EstimatePartition is implemented. The claim, if there is one, is not consumed.
  virtual bool estimates() const { return false; }
  virtual Result<Estimate> EstimatePartition(const GraphView&, const PartitionSpec&) { return Estimate(); }

  // kNotSupported: the nodes go to the next delegate. Consumes the claim in every case.
  virtual Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) = 0;

  // Without a build where that is not known: nothing about such a delegate is kept for another process.
  virtual DelegateIdentity identity() const { return {}; }
  // Of the last delegate, whose nodes are partitions of their own: nodes on offer that compute the results of later
  // ones too, from values that exist before the node runs. Nodes whose results have no readers left are not run.
  virtual std::vector<FusedNode> Fuse(const GraphView&) { return {}; }

  // Identity of the producer of this delegate's blobs; kNotSupported when it makes none.
  virtual Result<BlobMaker> blob_maker() const { return Status(StatusCode::kNotSupported, "no compiled blobs"); }
  // Whether blobs with this text of compatibility can be restored; kIncompatible with the reason when not.
  virtual Status CheckBlob(const std::string&) const { return Status(StatusCode::kNotSupported, "no compiled blobs"); }
  // Makes an executable of a blob that Serialize wrote for such a partition. Does not consume the claim: after success
  // it goes to ReleaseClaim, after failure to Compile.
  virtual Result<std::shared_ptr<const Executable>> Restore(const GraphView&, const PartitionSpec&, Blob) {
    return Status(StatusCode::kNotSupported, "no compiled blobs");
  }

  // Types of the outputs of a node of one of the delegate's own operators; kNotSupported when it is not one of them.
  // Other failures describe a fault of the node. [any-thread]
  virtual Status InferOwn(InferenceContext&) const { return Status(StatusCode::kNotSupported, "no own operators"); }
  // Custom-operator kernels of the delegate, as a delegate that is asked after all others but the CPU.
  virtual std::shared_ptr<Delegate> custom_kernels() const { return nullptr; }
  // True for such a delegate: reports leave it out where it has no nodes.
  virtual bool runs_custom_operators_only() const { return false; }

  // True: for other shapes of the model a partition of this delegate is resized or compiled again without a support
  // query; only when that fails, the model is placed again.
  virtual bool keeps_partitions() const { return false; }

  // True: a partition of this delegate may run while other steps of its plan do. The memory of such a plan is right for
  // every order that Step::waits allows; that of a plan without such a delegate only for the order of its steps.
  virtual bool overlaps() const { return false; }

  // kNotSupported when the delegate has no clock to report.
  virtual Result<DeviceState> device_state() const { return Status(StatusCode::kNotSupported, "no device control"); }
  // Options in force, as the delegate reads them back; name and value.
  virtual std::vector<std::pair<std::string, std::string>> options() const { return {}; }
  // Changes a settable option for the runs that begin afterwards. kNotFound, kInvalidArgument for a wrong value,
  // kFailedPrecondition for an option that is set when the delegate is opened.
  virtual Status SetOption(const std::string& name, const std::string&) {
    return Error(StatusCode::kNotFound, "there is no option '{}'", name);
  }
};

}  // namespace deputy::host
