// The smallest complete delegate: a skeleton to copy. It declares one option, answers for every node, compiles
// partitions and runs them. By default it supports no operator; with `claim_identity: true` it supports Identity, which
// it runs by copying bytes.
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace {

using namespace deputy::sdk;

// One session's state for an executable. This one needs none: the run provides everything.
class CopyContext final : public ExecutionContext {
 public:
  explicit CopyContext(std::vector<size_t> source_of) : source_of_(std::move(source_of)) {}

  // Tensors come in the order of the partition's inputs and outputs, dense and in the memory of the host. Every element
  // of every output has to be written; no input may be.
  Status Execute(const RunArgs& run) override {
    for (size_t i = 0; i < run.output_count(); ++i) {
      const TensorView from = run.input(source_of_[i]), to = run.output(i);
      if (from.byte_size() != to.byte_size()) return Status(Code::kInvalidArgument, "Identity changes no size");
      if (to.byte_size() > 0) std::memcpy(to.data(), from.data(), to.byte_size());
    }
    return {};
  }

 private:
  std::vector<size_t> source_of_;  // for each output, the input that it copies
};

// A compiled partition: immutable, shared by all sessions. Weights in the device's format would live here.
class CopyExecutable final : public Executable {
 public:
  explicit CopyExecutable(std::vector<size_t> source_of) : source_of_(std::move(source_of)) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::make_unique<CopyContext>(source_of_);
  }

 private:
  std::vector<size_t> source_of_;
};

class NullDelegate final : public PartitionDelegate {
 public:
  // Declared once: the host checks a YAML against it before anything is opened, and prints it.
  static OptionSchema Options() {
    return OptionSchema().Bool("claim_identity", false, "take the operator Identity instead of nothing");
  }

  // A device would be opened here, with options() and device_id(). A failure's message is written for users.
  Status Init() override { return {}; }

  // Called for every offered node. A "no" gives a reason from a closed list and a sentence for users.
  Verdict Supports(const NodeView& node) override {
    if (!options().Bool("claim_identity")) return Verdict::No(Reason::kOther, "this delegate takes nothing");
    if (!node.Is("Identity")) return Verdict::No(Reason::kOperatorUnknown, "only Identity is known");
    if (SizeOf(node.input(0).dtype()) == 0) return Verdict::No(Reason::kDType, "strings cannot be copied");
    if (!node.input(0).shape_known()) return Verdict::No(Reason::kShapeDynamic, "extents must be known");
    if (node.input(0).dtype() != node.output(0).dtype()) return Verdict::No(Reason::kDType, "Identity changes no type");
    return CheckOperator(node);  // extents, constants and attributes are what the definition says
  }

  // Given nodes that Supports accepted, connected as the model connects them: here chains and trees of Identity. Each
  // output of the partition is a copy of the input that its chain begins with.
  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    std::map<deputy_value_id, size_t> source;  // value -> input of the partition
    for (size_t i = 0; i < partition.inputs().size(); ++i) source[partition.inputs()[i].id()] = i;
    for (const NodeView& node : partition.nodes()) {
      const auto found = source.find(node.input(0).id());
      if (found == source.end()) return Status(Code::kNotSupported, "the input is a constant", node.id());
      source[node.output(0).id()] = found->second;
    }
    std::vector<size_t> source_of;
    for (const ValueView& output : partition.outputs()) {
      const auto found = source.find(output.id());
      if (found == source.end()) return Status(Code::kNotSupported, "no node of the partition makes an output");
      source_of.push_back(found->second);
    }
    return std::make_unique<CopyExecutable>(std::move(source_of));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(NullDelegate, "null", "takes nothing; a skeleton to copy")
