// One plugin for many delegates: each computes with the conformance kit's own oracle, supports what the ABI offers
// (extents of the run, resizing, scratch, cancellation, options), and is right in everything except one fault. The
// option `fault` selects it; a fault overrides one step of the work of the delegate without a fault.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "reference/node.hpp"

namespace liars {

namespace sdk = deputy::sdk;
namespace reference = deputy::conformance::reference;
using reference::Dims;
using reference::Inputs;
using reference::Node;
using reference::Tensor;
using sdk::Code;
using sdk::Status;
using Tensors = std::vector<Tensor>;
using Values = std::map<deputy_value_id, Tensor>;

// A node of a partition, with the numbers of its values.
struct Step {
  Node node;
  std::vector<deputy_value_id> inputs, outputs;
};

// A compiled partition. Passes of the faults rewrite it as a compiler would.
struct Program {
  std::vector<Step> steps;
  Values constants;
  std::map<deputy_value_id, Dims> dims;  // of every value whose extents are known
  std::vector<deputy_value_id> inputs, outputs;
  std::vector<const void*> constant_data;  // of the model
  std::vector<size_t> constant_bytes;

  bool IsOutput(deputy_value_id id) const;
  bool IsConstant(deputy_value_id id) const { return constants.count(id) != 0; }
  // Position of the step that makes a value; steps.size() for none.
  size_t Maker(deputy_value_id id) const;
  std::vector<size_t> Readers(deputy_value_id id) const;
  // True if `id` is read once and is not an output, so that it may disappear in a fusion.
  bool IsPrivate(deputy_value_id id) const { return !IsOutput(id) && Readers(id).size() == 1; }
  // Lets everything behind step `first` read `to` instead of `from`.
  void Replace(deputy_value_id from, deputy_value_id to, size_t first);
  deputy_value_id AddConstant(Tensor value);

  // For faults that keep state in the executable.
  struct Shared {
    std::mutex mutex;
    Values values;
  };
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
};

class Fault;

constexpr const char* kSecondDevice = "pci-2";

// An execution context.
class Session final : public sdk::ExecutionContext {
 public:
  Session(std::shared_ptr<const Program> program, std::shared_ptr<Fault> fault, sdk::Host host);
  ~Session() override;

  Status Execute(const sdk::RunArgs& args) override;
  size_t scratch_bytes() const override;
  void Cancel() override;
  sdk::Result<sdk::ResizeOutcome> Resize(const sdk::ResizeArgs& args) override;

  const Program& program() const { return *program_; }
  const sdk::Host& host() const { return host_; }
  // The run of a delegate without a fault, which calls the fault for each of its steps.
  Status Run(const sdk::RunArgs& args);

  // For faults that keep state in the context.
  struct State {
    uint64_t runs = 0;
    Values values;
    std::vector<void*> pointers;
    std::vector<Dims> dims;
    bool flag = false;
    size_t position = 0;
    std::atomic<bool> cancelled{false};
  };
  State state;

 private:
  std::shared_ptr<const Program> program_;
  std::shared_ptr<Fault> fault_;
  sdk::Host host_;
};

Tensor ReadInput(const sdk::RunArgs& args, size_t index);
// Copies the elements through the run's scratch memory; gives memory to an output whose extents the run decides.
Status WriteOutput(const sdk::RunArgs& args, size_t index, const Tensor& value);
Status WriteOutputTo(const sdk::RunArgs& args, void* to, const Tensor& value);

// The work of a delegate; each fault overrides a part. One object per instance.
class Fault {
 public:
  virtual ~Fault() = default;

  virtual size_t scratch_bytes() const { return kScratchBytes; }
  virtual void Open(const sdk::OptionValues&) {}
  virtual void OpenDevice(const std::string&) {}
  virtual void Set() {}
  virtual std::string OptionInForce(const std::string&, std::string value) { return value; }
  virtual void Look(const sdk::GraphView&) {}
  virtual sdk::Verdict Answer(const sdk::NodeView&, sdk::Verdict honest) { return honest; }
  virtual Status Compile(const sdk::PartitionView&, Program&) { return {}; }
  virtual void Begin(Session&) {}
  virtual void End(Session&) {}
  virtual Status Run(Session& session, const sdk::RunArgs& args) { return session.Run(args); }
  virtual bool NoticesCancel() const { return true; }
  virtual void Cancel(Session&) {}
  virtual void Resize(Session&, const sdk::ResizeArgs&) {}
  virtual Tensor Read(Session&, const sdk::RunArgs& args, size_t index) { return ReadInput(args, index); }
  virtual Tensors Compute(Session&, const Step& step, const Inputs& inputs) {
    return reference::Compute(step.node, inputs);
  }
  virtual Status Write(Session&, const sdk::RunArgs& args, size_t index, const Tensor& value) {
    return WriteOutput(args, index, value);
  }

  static constexpr size_t kScratchBytes = 256;
};

// Finds packed weights again by operator, type, extents and a key of what it reads of them.
struct PackedWeights : Fault {
  std::mutex mutex;
  std::map<std::string, Tensor> packed;

  virtual std::string KeyOf(const Tensor& weights) const = 0;
  Status Compile(const sdk::PartitionView&, Program& program) override;
};

struct FaultRow {
  const char* name;
  std::function<std::shared_ptr<Fault>()> make;
};
using FaultRows = std::vector<FaultRow>;

// A fault in the arithmetic of single nodes, and one in the passes over a partition of several.
using Arithmetic = Tensors (*)(const Node& node, const Inputs& inputs);
using Pass = void (*)(Program& program);
FaultRow InArithmetic(const char* name, Arithmetic compute);
FaultRow InPass(const char* name, Pass pass);
template <class T>
FaultRow Of(const char* name) {
  return {name, [] { return std::make_shared<T>(); }};
}

// The results of a node with other attributes, where they have the shapes of the right ones; otherwise the right ones
// with one element off.
Tensors Mistaken(const Node& node, const Node& taken_for, const Inputs& inputs);
void PutOff(Tensors& outputs);
bool IsOneOf(const std::string& name, std::initializer_list<const char*> names);

FaultRows PrecisionFaults();
FaultRows SizeFaults();
FaultRows MeaningFaults();
FaultRows FusionFaults();
FaultRows StateFaults();
FaultRows ThreadFaults();
FaultRows LeakFaults();
FaultRows AnswerFaults();
FaultRows DynamicFaults();
FaultRows ContractFaults();
FaultRows NarrowFaults();
FaultRows SharedFaults();

}  // namespace liars
