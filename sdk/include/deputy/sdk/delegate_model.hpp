// MindSpore Lite's DelegateModel: the model as a list of kernels in topological order, in which a delegate replaces
// ranges by kernels of its own. Nodes of other delegates stay in the list with a NULL primitive, so that no range can
// include them; any range without a NULL primitive is therefore a sub-graph that no path leaves and enters again.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "deputy/sdk/kernel.hpp"
#include "deputy/sdk/operators.hpp"

namespace deputy::sdk {

using KernelIter = std::vector<Kernel*>::iterator;

class DelegateModel {
 public:
  explicit DelegateModel(const GraphView& graph) {
    for (size_t i = 0, count = graph.node_count(); i < count; ++i) AddNode(graph, graph.NodeAt(i));
    for (const ValueView& value : graph.Inputs()) inputs_.push_back(TensorOf(value));
    for (const ValueView& value : graph.Outputs()) outputs_.push_back(TensorOf(value));
  }
  DelegateModel(const DelegateModel&) = delete;
  DelegateModel& operator=(const DelegateModel&) = delete;

  KernelIter BeginKernelIterator() { return kernels_.begin(); }
  KernelIter EndKernelIterator() { return kernels_.end(); }

  // NULL: the node is not offered (it belongs to another delegate, or its definition is newer than this SDK knows), or
  // `kernel` was put in by Replace. Lives as long as the model.
  const schema::Primitive* GetPrimitive(const Kernel* kernel) const {
    return originals_.count(kernel) == 0 ? nullptr : kernel->primitive();
  }

  // Puts `kernel` in the place of [from, end) and owns it from now on. Returns the iterator after the new kernel, as
  // MindSpore does; other iterators into the range and behind it are invalid. A NULL kernel, an empty range or a node
  // that is not offered changes nothing: Build then counts as failed, and the last element is returned so that a loop's
  // ++ ends it.
  KernelIter Replace(KernelIter from, KernelIter end, Kernel* kernel) {
    std::unique_ptr<Kernel> owned(kernel);
    if (owned == nullptr) return Fail("Replace was given no kernel");
    if (from < kernels_.begin() || end > kernels_.end() || from >= end) return Fail("Replace was given an empty range");
    Claim claim;
    for (auto node = from; node != end; ++node) {
      if (GetPrimitive(*node) == nullptr) return Fail("Replace was given a node that is not on offer");
      claim.nodes.push_back(originals_.at(*node)->id);
    }
    claim.kernel = std::move(owned);
    claims_.push_back(std::move(claim));
    const auto place = kernels_.insert(kernels_.erase(from, end), kernel);
    return place + 1;
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  // All values that the model's nodes touch, by name.
  const std::unordered_map<std::string, Tensor>& nodes() const { return by_name_; }
  std::string GetVersion() const {
    return "deputy/" + std::to_string(DEPUTY_ABI_MAJOR) + "." + std::to_string(DEPUTY_ABI_MINOR);
  }

  // True if a kernel that is not in `inside` reads the value, or if it is an output of the model.
  bool IsReadOutside(const Tensor& value, const std::unordered_set<const Kernel*>& inside) const {
    if (std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end()) return true;
    const auto readers = readers_.find(value.Id());
    return readers != readers_.end() && std::any_of(readers->second.begin(), readers->second.end(),
                                                    [&](const Kernel* kernel) { return inside.count(kernel) == 0; });
  }

  // For the layer: the claims that Replace collected.
  struct Claim {
    std::vector<deputy_node_id> nodes;
    std::unique_ptr<Kernel> kernel;
  };
  std::vector<Claim> TakeClaims() { return std::move(claims_); }
  const Status& status() const { return status_; }
  Tensor Find(deputy_value_id id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? Tensor() : found->second;
  }

 private:
  class Original final : public Kernel {
   public:
    Original(const NodeView& node, std::vector<Tensor> inputs, std::vector<Tensor> outputs, bool offered)
        : Kernel(std::move(inputs), std::move(outputs), offered ? node.primitive() : nullptr), id(node.id()) {
      type_ = std::string(node.op_type());
      name_ = std::string(node.name());
    }
    Status Prepare() override { return kLiteNotSupport; }
    Status Execute() override { return kLiteNotSupport; }
    Status ReSize() override { return kLiteNotSupport; }

    const deputy_node_id id;
  };

  void AddNode(const GraphView&, const NodeView& node) {
    std::vector<Tensor> inputs, outputs;
    for (size_t i = 0; i < node.input_count(); ++i) inputs.push_back(TensorOf(node.input(i)));
    for (size_t i = 0; i < node.output_count(); ++i) outputs.push_back(TensorOf(node.output(i)));
    const bool offered = node.offered() && !DefinitionTooNew(node);
    auto kernel = std::make_unique<Original>(node, std::move(inputs), std::move(outputs), offered);
    for (const Tensor& input : kernel->inputs()) readers_[input.Id()].push_back(kernel.get());
    kernels_.push_back(kernel.get());
    const Kernel* key = kernel.get();
    originals_.emplace(key, std::move(kernel));
  }

  Tensor TensorOf(const ValueView& value) {
    if (!value.exists()) return Tensor();
    Tensor& known = by_id_[value.id()];
    if (known == nullptr) {
      known = Tensor(value);
      by_name_.emplace(known.Name(), known);
    }
    return known;
  }

  KernelIter Fail(const char* message) {
    if (status_.ok()) status_ = Status(Code::kInvalidArgument, message);
    return kernels_.empty() ? kernels_.end() : kernels_.end() - 1;
  }

  std::vector<Kernel*> kernels_;
  std::unordered_map<const Kernel*, std::unique_ptr<Original>> originals_;
  std::unordered_map<deputy_value_id, Tensor> by_id_;
  std::unordered_map<std::string, Tensor> by_name_;
  std::unordered_map<deputy_value_id, std::vector<const Kernel*>> readers_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<Claim> claims_;
  Status status_;
};

// The non-constant values that the kernels read from outside: no duplicates, in the order of first use.
inline std::vector<Tensor> GraphInTensors(const std::vector<Kernel*>& kernels) {
  std::unordered_set<deputy_value_id> seen{DEPUTY_NO_VALUE};
  for (const Kernel* kernel : kernels)
    for (const Tensor& output : kernel->outputs()) seen.insert(output.Id());
  std::vector<Tensor> tensors;
  for (const Kernel* kernel : kernels)
    for (const Tensor& input : kernel->inputs())
      if (seen.insert(input.Id()).second && !input.IsConst()) tensors.push_back(input);
  return tensors;
}

// The values of the kernels that kernels outside read or the model returns: no duplicates, in the order of computation.
inline std::vector<Tensor> GraphOutTensors(const std::vector<Kernel*>& kernels, const DelegateModel& model) {
  const std::unordered_set<const Kernel*> inside(kernels.begin(), kernels.end());
  std::vector<Tensor> tensors;
  for (const Kernel* kernel : kernels)
    for (const Tensor& output : kernel->outputs())
      if (output != nullptr && model.IsReadOutside(output, inside)) tensors.push_back(output);
  return tensors;
}

}  // namespace deputy::sdk
