// As much of an interpreter of TensorFlow Lite as a delegate asks while it is applied: tensors, nodes, the plan, and a
// partitioning that puts neighbouring nodes of the list into one part.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "plugins/tflite_delegate/tflite_abi.hpp"

namespace deputy::test {

namespace abi = ::deputy::tflite_delegate::abi;

// A list in the layout of the C structs, which must not move.
class IntList {
 public:
  IntList(std::vector<int32_t> values) : values_(std::move(values)) {  // NOLINT(google-explicit-constructor)
    values_.insert(values_.begin(), static_cast<int32_t>(values_.size()));
  }
  abi::IntArray* get() { return reinterpret_cast<abi::IntArray*>(values_.data()); }

 private:
  std::vector<int32_t> values_;
};

class FakeInterpreter {
 public:
  FakeInterpreter() {
    context.impl = this;
    context.GetExecutionPlan = [](abi::Context* c, abi::IntArray** plan) {
      FakeInterpreter& self = Of(c);
      if (self.fails_plan) return abi::kError;
      self.plan_ = IntList(self.order);
      *plan = self.plan_.get();
      return abi::kOk;
    };
    context.GetNodeAndRegistration = [](abi::Context* c, int index, abi::Node** node,
                                        abi::Registration** registration) {
      FakeInterpreter& self = Of(c);
      if (index < 0 || static_cast<size_t>(index) >= self.nodes.size()) return abi::kError;
      *node = &self.nodes[static_cast<size_t>(index)];
      *registration = &self.registrations[static_cast<size_t>(index)];
      return abi::kOk;
    };
    context.PreviewDelegatePartitioning = [](abi::Context* c, const abi::IntArray* list, abi::DelegateParams** params,
                                             int* count) { return Of(c).Preview(list, params, count); };
  }
  FakeInterpreter(const FakeInterpreter&) = delete;
  FakeInterpreter& operator=(const FakeInterpreter&) = delete;

  // Without `data` a tensor that is computed.
  int32_t AddTensor(const std::string& name, abi::Type type, std::vector<int32_t> dims, void* data = nullptr,
                    size_t bytes = 0) {
    abi::Tensor& tensor = tensors_.emplace_back();
    tensor.type = type;
    tensor.name = names_.emplace_back(name).c_str();
    tensor.dims = lists_.emplace_back(std::move(dims)).get();
    tensor.allocation_type = data != nullptr ? abi::kMmapRo : abi::kArenaRw;
    tensor.data = data;
    tensor.bytes = bytes;
    context.tensors = tensors_.data();
    context.tensors_size = tensors_.size();
    return static_cast<int32_t>(tensors_.size() - 1);
  }
  abi::Tensor& tensor(int32_t index) { return tensors_[static_cast<size_t>(index)]; }

  int AddNode(int32_t number, std::vector<int32_t> from, std::vector<int32_t> to, void* params = nullptr) {
    abi::Node& node = nodes.emplace_back();
    node.inputs = lists_.emplace_back(std::move(from)).get();
    node.outputs = lists_.emplace_back(std::move(to)).get();
    node.builtin_data = params;
    abi::Registration& registration = registrations.emplace_back();
    registration.builtin_code = number;
    registration.version = 1;
    order.push_back(static_cast<int32_t>(nodes.size() - 1));
    return order.back();
  }

  abi::Context context{};
  std::deque<abi::Node> nodes;
  std::deque<abi::Registration> registrations;
  std::vector<int32_t> order, outputs;  // the plan; tensors that the application reads
  bool fails_plan = false;

 private:
  static FakeInterpreter& Of(abi::Context* context) { return *static_cast<FakeInterpreter*>(context->impl); }

  abi::Outcome Preview(const abi::IntArray* list, abi::DelegateParams** params, int* count) {
    const std::span<const int32_t> wanted = abi::Values(list);
    const std::set<int32_t> given(wanted.begin(), wanted.end());
    std::vector<std::vector<int32_t>> parts;
    bool open = false;
    for (const int32_t index : order) {
      const bool taken = given.count(index) != 0;
      if (taken && !open) parts.emplace_back();
      if (taken) parts.back().push_back(index);
      open = taken;
    }
    params_.clear();
    for (const std::vector<int32_t>& part : parts) {
      std::set<int32_t> made, read, used(outputs.begin(), outputs.end());
      const std::set<int32_t> inside(part.begin(), part.end());
      for (const int32_t index : order)
        for (const int32_t input : abi::Values(nodes[static_cast<size_t>(index)].inputs))
          (inside.count(index) != 0 ? read : used).insert(input);
      for (const int32_t index : part)
        for (const int32_t output : abi::Values(nodes[static_cast<size_t>(index)].outputs)) made.insert(output);
      std::vector<int32_t> from, to;
      for (const int32_t input : read)
        if (made.count(input) == 0) from.push_back(input);
      for (const int32_t output : made)
        if (used.count(output) != 0) to.push_back(output);
      params_.push_back(
          {nullptr, lists_.emplace_back(part).get(), lists_.emplace_back(from).get(), lists_.emplace_back(to).get()});
    }
    *params = params_.data();
    *count = static_cast<int>(params_.size());
    return abi::kOk;
  }

  std::vector<abi::Tensor> tensors_;
  std::deque<std::string> names_;
  std::deque<IntList> lists_;
  IntList plan_{{}};
  std::vector<abi::DelegateParams> params_;
};

}  // namespace deputy::test
