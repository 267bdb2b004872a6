// The common base of PartitionDelegate and Delegate: identity, options, device, and the answers that the layer passes
// to the host. Unless noted otherwise, one thread at a time calls each function.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/sdk/device_memory.hpp"
#include "deputy/sdk/executable.hpp"
#include "deputy/sdk/graph.hpp"
#include "deputy/sdk/options.hpp"
#include "deputy/sdk/own_operators.hpp"
#include "deputy/sdk/placement.hpp"

namespace deputy::sdk {

enum class Reason : uint32_t {
  kSupported = DEPUTY_REASON_SUPPORTED,
  kOperatorUnknown = DEPUTY_REASON_OPERATOR_UNKNOWN,
  kDefinitionTooNew = DEPUTY_REASON_DEFINITION_TOO_NEW,
  kDType = DEPUTY_REASON_DTYPE,
  kRank = DEPUTY_REASON_RANK,
  kShapeDynamic = DEPUTY_REASON_SHAPE_DYNAMIC,
  kAttribute = DEPUTY_REASON_ATTRIBUTE,
  kLayout = DEPUTY_REASON_LAYOUT,
  kShape = DEPUTY_REASON_SHAPE,
  kNotConstant = DEPUTY_REASON_NOT_CONSTANT,
  kOther = DEPUTY_REASON_OTHER
};

// An answer about one node; `detail` is one short sentence for people ("kernel 7x7 is larger than 5x5").
struct Verdict {
  Reason reason = Reason::kSupported;
  std::string detail;

  bool supported() const { return reason == Reason::kSupported; }
  // The detail, or words for the reason where there is none: the message of a status.
  std::string Text() const {
    if (!detail.empty()) return detail;
    switch (reason) {
      case Reason::kOperatorUnknown: return "the operator is not supported";
      case Reason::kDefinitionTooNew: return "the definition of the operator is too new";
      case Reason::kDType: return "an element type is not supported";
      case Reason::kRank: return "a rank is not supported";
      case Reason::kShapeDynamic: return "the extents must be known";
      case Reason::kAttribute: return "an attribute is not supported";
      case Reason::kLayout: return "a layout is not supported";
      case Reason::kShape: return "the extents are not supported";
      case Reason::kNotConstant: return "an input must be constant";
      default: return "the node is not supported";
    }
  }
  static Verdict Yes() { return {}; }
  static Verdict No(Reason reason, std::string detail = {}) { return {reason, std::move(detail)}; }
};

// Clock and cost of the device, as the device reports them.
struct DeviceState {
  std::string_view device_name;  // lives as long as the delegate
  uint32_t level_requested = 0;  // 1 low, 2 balanced, 3 high, 4 extreme; 0: an explicit clock, or nothing
  uint32_t level_granted = 0;    // 0: between levels
  uint64_t frequency_requested_hz = 0;
  uint64_t frequency_granted_hz = 0;
  uint64_t busy_ns = 0;  // device time of all finished runs, on the device's own clock
  uint64_t runs = 0;
};

// Receives the claims of Build. Only inside the host's call.
class ClaimSink {
 public:
  ClaimSink(const GraphView& graph, const deputy_claim_sink* sink) : graph_(graph), sink_(sink) {}
  // False: refused, and the handle is still the caller's.
  bool Add(const deputy_claim& claim) const {
    return graph_.Ask([&] { return sink_->add(sink_->self, &claim); });
  }

 private:
  const GraphView& graph_;
  const deputy_claim_sink* sink_;
};

// Extensions that the host requests only if the delegate declares them in kExtensions.
enum : uint32_t {
  kBlobs = 1,         // Executable::Serialize, PartitionDelegate::Restore, BlobCompatibility
  kCompileOnly = 2,   // with kBlobs: Init supports compile_only()
  kResizes = 4,       // ExecutionContext::Resize
  kProfiles = 8,      // ExecutionContext::CollectEvents and profiler(), Executable::DescribeEvents
  kDeviceClock = 16,  // with kProfiles: events on the device's clock, and CorrelateClocks
  kMemory = 32,       // ExecutionContext::WishOf, AllocateBuffer, ReleaseBuffer, CopyBytes
  kAsync = 64,        // ExecutionContext::Submit
  kQueues = 128,      // with kAsync: queue_limits, and Choose if the class has one
  kImports = 256,     // with kMemory: ImportBuffer
};

// A delegate's class may hide these members with its own:
//   static OptionSchema Options()           its options; read with options() from Init on
//   static constexpr uint32_t kFlags        DEPUTY_DELEGATE_SERIAL | DEPUTY_DELEGATE_DYNAMIC_SHAPES | ...
//   static constexpr bool kReadsPrecision   true: Compile keeps to PartitionView::PrecisionOf, or returns
//   kNotSupported.
//                                           Otherwise partitions for which a precision is asked are refused
//   static Status Probe(const Host&)        checks that everything it needs is present; cheap, no side effects
//   static std::vector<Capability> Capabilities()                       supported operators, for listings
//   static Result<std::vector<DeviceDescription>> Devices(const Host&)  devices here; cheap, no side effects
//   static constexpr uint32_t kExtensions   kBlobs | kResizes | ...: further extensions
//   static Status CheckBlob(const Host&, std::string_view compatibility)
//                                           with kBlobs: checks whether blobs with this text can be restored here,
//                                           without the device; kIncompatible and the reason if not. Absent: only
//                                           BlobCompatibility's text
//   static OwnOperators Operators()         operators of the vendor's own
class DelegateBase {
 public:
  static OptionSchema Options() { return {}; }
  static constexpr uint32_t kFlags = 0;
  static constexpr bool kReadsPrecision = false;
  static Status Probe(const Host&) { return {}; }
  static std::vector<Capability> Capabilities() { return {}; }
  static Result<std::vector<DeviceDescription>> Devices(const Host&) { return std::vector<DeviceDescription>(); }
  static constexpr uint32_t kExtensions = 0;
  static OwnOperators Operators() { return {}; }

  DelegateBase() = default;
  DelegateBase(const DelegateBase&) = delete;
  DelegateBase& operator=(const DelegateBase&) = delete;
  virtual ~DelegateBase() = default;

  // Opens the device; host(), options() and device_id() are valid. NOT_SUPPORTED: this machine cannot run the delegate.
  virtual Status Init() { return {}; }

  // Override both if there is a clock to report. [any-thread]
  virtual Result<DeviceState> device_state() const { return Status(Code::kNotSupported, "no device control"); }
  // The value of an option that is in force, if it is not the requested one ("600000000Hz" granted for "level 4").
  virtual std::string OptionInForce(const std::string& name) const { return options_.Text(name); }

  // Applies a new value of an option that Options() declares Settable(): `values` has it, and options() has it
  // afterwards. Runs may be under way; those that begin later use it.
  virtual Status SetOption(const std::string& name, [[maybe_unused]] const OptionValues& values) {
    return Status(Code::kNotSupported, "option '" + name + "' is set when the delegate is opened");
  }
  // Called for every partition before it is compiled: whether it can run, its cost, and the nodes that other delegates
  // should run. Pure, and uses nothing of the device.
  virtual Result<PartitionEstimate> Estimate(const PartitionView&) { return PartitionEstimate(); }
  // The calls of execute that may overlap, if not all of them. With DEPUTY_DELEGATE_SERIAL in kFlags none may.
  virtual Concurrency concurrency() const { return {}; }
  // For a PartitionDelegate: nodes that stay together, all or nothing. They need not be offered or supported: an
  // incomplete group goes to the next delegate.
  virtual Status Groups(const GraphView&, const GroupSink&) { return {}; }
  // With kBlobs: all that a blob of this delegate depends on beside partition and options: format, driver, firmware,
  // kind of device. At most 1023 bytes, for people too.
  virtual std::string BlobCompatibility() const { return {}; }
  // With kBlobs: false, this instance serializes nothing, and the host does not spend time on identifying partitions.
  virtual bool has_blobs() const { return true; }
  // With kDeviceClock: one moment on both clocks. [any-thread]
  virtual Result<ClockPair> CorrelateClocks() const { return Status(Code::kNotSupported, "no clock of its own"); }

  // With kMemory: buffers of the device, and copies of bytes between them and host memory. Of one number all instances
  // on a device mean one buffer. kOutOfMemory: the tensor stays in host memory. [any-thread]
  virtual Result<uint64_t> AllocateBuffer(const BufferRequest&) {
    return Status(Code::kNotSupported, "no memory of a device");
  }
  // With kImports: a name for memory that is there, which the device uses in place and others see at once; it changes
  // nothing beside these bytes, and neither seals nor flags of the descriptor. No mapping and no descriptor of it is
  // left after ReleaseBuffer. A worker process cannot write to files: there it is mapped. kNotSupported: the device
  // cannot reach it. [any-thread]
  virtual Result<uint64_t> ImportBuffer(const SharedMemory&) {
    return Status(Code::kNotSupported, "the device imports no memory");
  }
  // No run and no copy uses the buffer. [any-thread]
  virtual void ReleaseBuffer(uint64_t) {}
  // Ends before it returns. kInvalidArgument for a handle that is none and bytes outside of a buffer. [any-thread]
  virtual Status CopyBytes(const CopySide&, const CopySide&, uint64_t) {
    return Status(Code::kNotSupported, "no memory of a device");
  }

  // With kQueues: constant over the life of the delegate.
  virtual QueueLimits queue_limits() const { return {}; }
  // With kQueues, if the class overrides it: the next of the runs that wait, which are in the host's order. It uses
  // nothing of the device and returns within 10 us. One call at a time.
  virtual QueueChoice Choose(Span<const deputy_ready_run* const>) { return {}; }

  const Host& host() const { return host_; }
  const OptionValues& options() const { return options_; }
  const std::string& instance_name() const { return instance_name_; }  // of the YAML entry
  const std::string& device_id() const { return device_id_; }          // of Devices(); empty for a class without it
  // With kCompileOnly: there may be no device, and nothing that is compiled will run.
  bool compile_only() const { return compile_only_; }

  // For the layer.
  void Attach(const Host& host, OptionValues options, std::string instance_name, std::string device_id,
              bool compile_only = false) {
    host_ = host;
    options_ = std::move(options);
    instance_name_ = std::move(instance_name);
    device_id_ = std::move(device_id);
    compile_only_ = compile_only;
  }
  Status ChangeOption(std::string_view name, std::string_view value) {
    OptionValues changed = options_;
    DEPUTY_SDK_RETURN_IF_ERROR(changed.Change(name, value));
    DEPUTY_SDK_RETURN_IF_ERROR(SetOption(std::string(name), changed));
    options_ = std::move(changed);
    return {};
  }
  virtual void LookAt(const GraphView& graph) = 0;
  virtual Verdict AnswerFor(const NodeView& node) = 0;
  virtual Status ProposeClaims(const GraphView& graph, const ClaimSink& sink) = 0;
  virtual void ReleaseClaim(void* claim) = 0;
  // Takes `claim` by setting it to NULL.
  virtual Result<std::unique_ptr<Executable>> CompilePartition(const PartitionView& partition, void*& claim) = 0;
  virtual Result<std::unique_ptr<Executable>> RestorePartition(const PartitionView&, Blob) {
    return Status(Code::kNotSupported, "no compiled blobs");
  }

 private:
  Host host_;
  OptionValues options_;
  std::string instance_name_;
  std::string device_id_;
  bool compile_only_ = false;
};

}  // namespace deputy::sdk
