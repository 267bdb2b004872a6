// As much of an interpreter of TensorFlow Lite as a delegate asks while it is applied: tensors, nodes, the plan, and a
// partitioning that puts neighbouring nodes of the list into one part.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "plugins/tflite_abi/tflite_abi.hpp"

namespace deputy::test {

// A list in the layout of the C structs, which must not move.
class IntList {
 public:
  IntList(std::vector<int32_t> values) : values_(std::move(values)) {  // NOLINT(google-explicit-constructor)
    values_.insert(values_.begin(), static_cast<int32_t>(values_.size()));
  }
  tflite_abi::IntArray* get() { return reinterpret_cast<tflite_abi::IntArray*>(values_.data()); }

 private:
  std::vector<int32_t> values_;
};

class FakeInterpreter {
 public:
  FakeInterpreter() {
    context.impl = this;
    context.GetExecutionPlan = [](tflite_abi::Context* c, tflite_abi::IntArray** plan) {
      FakeInterpreter& self = Of(c);
      if (self.fails_plan) return tflite_abi::kError;
      self.plan_ = IntList(self.order);
      *plan = self.plan_.get();
      return tflite_abi::kOk;
    };
    context.GetNodeAndRegistration = [](tflite_abi::Context* c, int index, tflite_abi::Node** node,
                                        tflite_abi::Registration** registration) {
      FakeInterpreter& self = Of(c);
      if (index < 0 || static_cast<size_t>(index) >= self.nodes.size()) return tflite_abi::kError;
      *node = &self.nodes[static_cast<size_t>(index)];
      *registration = &self.registrations[static_cast<size_t>(index)];
      return tflite_abi::kOk;
    };
    context.PreviewDelegatePartitioning = [](tflite_abi::Context* c, const tflite_abi::IntArray* list,
                                             tflite_abi::DelegateParams** params,
                                             int* count) { return Of(c).Preview(list, params, count); };
    context.ReplaceNodeSubsetsWithDelegateKernels =
        [](tflite_abi::Context* c, tflite_abi::Registration registration, const tflite_abi::IntArray* list,
           tflite_abi::Delegate* delegate) { return Of(c).Replace(registration, list, delegate); };
    context.ReportError = Report;
  }
  FakeInterpreter(const FakeInterpreter&) = delete;
  FakeInterpreter& operator=(const FakeInterpreter&) = delete;

  // Without `data` a tensor that is computed.
  int32_t AddTensor(const std::string& name, tflite_abi::Type type, std::vector<int32_t> dims, void* data = nullptr,
                    size_t bytes = 0) {
    tflite_abi::Tensor& tensor = tensors_.emplace_back();
    tensor.type = type;
    tensor.name = names_.emplace_back(name).c_str();
    tensor.dims = lists_.emplace_back(std::move(dims)).get();
    tensor.allocation_type = data != nullptr ? tflite_abi::kMmapRo : tflite_abi::kArenaRw;
    tensor.data = data;
    tensor.bytes = bytes;
    context.tensors = tensors_.data();
    context.tensors_size = tensors_.size();
    return static_cast<int32_t>(tensors_.size() - 1);
  }
  tflite_abi::Tensor& tensor(int32_t index) { return tensors_[static_cast<size_t>(index)]; }

  int AddNode(int32_t number, std::vector<int32_t> from, std::vector<int32_t> to, void* params = nullptr) {
    tflite_abi::Node& node = nodes.emplace_back();
    node.inputs = lists_.emplace_back(std::move(from)).get();
    node.outputs = lists_.emplace_back(std::move(to)).get();
    node.builtin_data = params;
    tflite_abi::Registration& registration = registrations.emplace_back();
    registration.builtin_code = number;
    registration.version = 1;
    order.push_back(static_cast<int32_t>(nodes.size() - 1));
    return order.back();
  }

  tflite_abi::Context context{};
  std::deque<tflite_abi::Node> nodes;
  std::deque<tflite_abi::Registration> registrations;
  std::vector<int32_t> order, outputs;  // the plan; tensors that the application reads
  bool fails_plan = false;
  std::function<void()> before_init;  // of the first kernel, when nodes are replaced
  tflite_abi::Registration kernel{};
  std::vector<tflite_abi::Node> kernels;  // one for each part that was replaced
  std::string error;                      // the last one that was reported

 private:
  static FakeInterpreter& Of(tflite_abi::Context* context) { return *static_cast<FakeInterpreter*>(context->impl); }

  static void Report(tflite_abi::Context* context, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[1024];
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Of(context).error = text;
  }

  tflite_abi::Outcome Preview(const tflite_abi::IntArray* list, tflite_abi::DelegateParams** params, int* count) {
    const tflite_abi::ListView<int32_t> wanted = tflite_abi::Values(list);
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
        for (const int32_t input : tflite_abi::Values(nodes[static_cast<size_t>(index)].inputs))
          (inside.count(index) != 0 ? read : used).insert(input);
      for (const int32_t index : part)
        for (const int32_t output : tflite_abi::Values(nodes[static_cast<size_t>(index)].outputs)) made.insert(output);
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
    return tflite_abi::kOk;
  }

  tflite_abi::Outcome Replace(const tflite_abi::Registration& registration, const tflite_abi::IntArray* list,
                              tflite_abi::Delegate* delegate) {
    tflite_abi::DelegateParams* params = nullptr;
    int count = 0;
    Preview(list, &params, &count);
    kernel = registration;
    if (before_init) before_init();
    for (int i = 0; i < count; ++i) {
      params[i].delegate = delegate;
      tflite_abi::Node& node = kernels.emplace_back();
      node.inputs = params[i].input_tensors;
      node.outputs = params[i].output_tensors;
      node.user_data = kernel.init(&context, reinterpret_cast<const char*>(&params[i]), sizeof params[i]);
      if (node.user_data == tflite_abi::kInitFailed) return tflite_abi::kError;
    }
    return tflite_abi::kOk;
  }

  std::vector<tflite_abi::Tensor> tensors_;
  std::deque<std::string> names_;
  std::deque<IntList> lists_;
  IntList plan_{{}};
  std::vector<tflite_abi::DelegateParams> params_;
};

}  // namespace deputy::test
