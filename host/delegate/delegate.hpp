// The interface of a delegate for partition, plan and execute: an opened instance that answers, compiles and runs. It
// is the CPU, a plugin behind its checked proxy, or an object of the application.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.hpp"
#include "base/status.hpp"
#include "delegate/extensions.hpp"
#include "delegate/facets.hpp"
#include "deputy/abi/tensor.h"
#include "graph/graph.hpp"
#include "graph/inference.hpp"
#include "memory/device_memory.hpp"
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
  void* claim = nullptr;  // from PartitionProposer::Propose; passes to Compile
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

// Wishes for a run that a delegate may ignore.
struct RunHints {
  uint32_t power_level = 0;             // 1 low power to 4 extreme; 0: none
  DType precision = DType::kUndefined;  // the least precise float type that may compute; undefined: none
  int32_t priority = 0;                 // against other runs where a delegate has one at a time; the largest first
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

// Where a context wants a tensor of its runs to be.
struct MemoryWish {
  bool on_device = false;                // in a buffer of its device; else dense in host memory, aligned to 64
  size_t byte_size = 0, alignment = 64;  // of the buffer, at least those of the elements
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
  // The memory in which wishes place tensors; null: there are none.
  virtual std::shared_ptr<DeviceMemory> device_memory() const { return nullptr; }
  // The wish for the index-th of the inputs, then outputs, for the shapes of the context. A run may bring each tensor
  // in host memory nonetheless.
  virtual MemoryWish WishOf([[maybe_unused]] size_t index, [[maybe_unused]] const deputy_tensor& tensor) { return {}; }
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

// What holds for all that a delegate is given.
struct DelegateTraits {
  bool takes_dynamic_shapes = false;  // else nodes with values whose extents only a run knows are not offered
  bool one_node_partitions = false;   // every node is a partition of its own, as on the CPU, and planned like any
  // For other shapes of the model a partition is resized or compiled again without a support query; only when that
  // fails, the model is placed again.
  bool keeps_partitions = false;
  bool overlaps = false;  // its runs leave the CPU free: one may pay while other steps of the plan run
  bool runs_custom_operators_only = false;  // as OwnOperators::custom_kernels; reports leave it out without nodes
};

class Delegate {
 public:
  virtual ~Delegate() = default;

  virtual const std::string& name() const = 0;  // of the YAML entry
  virtual const std::string& id() const = 0;    // of the delegate in its plugin
  virtual DelegateTraits traits() const { return {}; }
  // The newest definition of a domain's operators that the delegate knows; nodes of newer ones are not offered.
  virtual uint32_t newest_definition(std::string_view) const { return UINT32_MAX; }
  // Without a build where that is not known: nothing about such a delegate is kept for another process.
  virtual DelegateIdentity identity() const { return {}; }

  // One verdict per node of the graph; nodes not on offer keep kNotAnswered.
  virtual Status QuerySupport(const GraphView& view, std::vector<Verdict>& verdicts) = 0;
  // kNotSupported: the nodes go to the next delegate. Consumes the claim in every case.
  virtual Result<std::shared_ptr<const Executable>> Compile(const GraphView& view, const PartitionSpec& partition) = 0;

  // What the delegate has, for its lifetime; null: it has none.
  virtual PartitionProposer* proposer() { return nullptr; }
  virtual NodeGrouper* grouper() { return nullptr; }
  virtual PartitionEstimator* estimator() { return nullptr; }
  virtual NodeFuser* fuser() { return nullptr; }
  virtual BlobFormat* blobs() { return nullptr; }
  virtual const OwnOperators* own_operators() const { return nullptr; }
  virtual const DeviceControl* device_control() const { return nullptr; }

  // Options in force, as the delegate reads them back; name and value.
  virtual std::vector<std::pair<std::string, std::string>> options() const { return {}; }
  // Changes a settable option for the runs that begin afterwards. kNotFound, kInvalidArgument for a wrong value,
  // kFailedPrecondition for an option that is set when the delegate is opened.
  virtual Status SetOption(const std::string& name, const std::string&) {
    return Error(StatusCode::kNotFound, "there is no option '{}'", name);
  }
};

// The state of the delegate's device; none: it has no device control, or its state cannot be read.
inline std::optional<DeviceState> StateOf(const Delegate& delegate) {
  const DeviceControl* const control = delegate.device_control();
  if (control == nullptr) return std::nullopt;
  Result<DeviceState> state = control->device_state();
  return state.ok() ? std::optional(std::move(state).value()) : std::nullopt;
}

}  // namespace deputy::host
