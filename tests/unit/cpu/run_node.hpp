// Runs one node the way a model would: infers its outputs, gives them memory, makes the kernel and runs it.
//
//   const std::vector<Tensor> outputs = RunNode(MakeAdd, PrimitiveBuilder("", "Add", 14),
//                                               {TensorOf<float>({2}, {1, 2}), TensorOf<float>({}, {3})});
//   EXPECT_EQ(ValuesOf<float>(outputs[0]), (std::vector<float>{4, 5}));
//
// An empty Tensor{} as input is an optional input that is left out. TryRunNode returns the error instead of failing.
// RunUnchecked runs a kernel on tensors that inference has not seen, as when the declared shapes of a model are wrong.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/kernel.hpp"
#include "graph/inference.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {

// An optional input that is omitted.
inline const Tensor kNoInput;

using Maker = KernelResult (*)(const KernelSpec&);

struct RunNodeOptions {
  size_t outputs = 1;
  std::vector<size_t> constants = {};  // inputs that are constants of the graph: the maker sees their values
  bool hide_shapes = false;            // the maker sees no extents: all inputs and outputs are unranked
};

template <class T>
Tensor TensorOf(Shape shape, std::initializer_list<T> values, DType dtype = kDTypeOf<T>) {
  return Tensor::FromValues<T>(dtype, std::move(shape), std::span<const T>(values.begin(), values.size())).value();
}

template <class T>
Tensor TensorOf(Shape shape, const std::vector<T>& values, DType dtype = kDTypeOf<T>) {
  return Tensor::FromValues<T>(dtype, std::move(shape), std::span<const T>(values)).value();
}

template <class T>
std::vector<T> ValuesOf(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return std::vector<T>(values.begin(), values.end());
}

inline deputy_tensor AbiTensor(const Tensor& tensor) {
  deputy_tensor abi = {};
  abi.struct_size = sizeof abi;
  abi.dtype = static_cast<deputy_dtype>(tensor.dtype());
  abi.rank = static_cast<uint32_t>(tensor.shape().size());
  abi.dims = tensor.shape().data();
  abi.data = const_cast<void*>(tensor.data());
  abi.byte_size = tensor.byte_size();
  return abi;
}

// Owns the outputs of kernels that allocate them themselves.
class TestAllocator final : public OutputAllocator {
 public:
  TestAllocator(std::span<deputy_tensor> views, std::vector<Tensor>& tensors) : views_(views), tensors_(tensors) {}

  Status Allocate(deputy_tensor* view, std::span<const int64_t> dims) override {
    const size_t i = static_cast<size_t>(view - views_.data());
    DEPUTY_ASSIGN_OR_RETURN(tensors_[i],
                            Tensor::Allocate(static_cast<DType>(view->dtype), Shape(dims.begin(), dims.end())));
    *view = AbiTensor(tensors_[i]);
    return Status();
  }

 private:
  std::span<deputy_tensor> views_;
  std::vector<Tensor>& tensors_;
};

inline Result<std::vector<Tensor>> TryRunNode(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs,
                                              const RunNodeOptions& options = {}) {
  Graph graph;
  Node& node = graph.nodes.emplace_back();
  node.primitive = builder.Finish();
  std::vector<ValueType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueType type{inputs[i].dtype(), true, inputs[i].shape()};
    types.push_back(type);
    if (inputs[i].empty()) {
      node.inputs.push_back(kNone);
      continue;
    }
    const bool constant = std::find(options.constants.begin(), options.constants.end(), i) != options.constants.end();
    const ValueType seen = options.hide_shapes ? ValueType{type.dtype, false, {}} : type;
    node.inputs.push_back(constant ? graph.AddConstant("", inputs[i]) : graph.AddValue("", seen));
  }
  for (size_t i = 0; i < options.outputs; ++i) node.outputs.push_back(graph.AddValue(""));

  InferenceContext context(node, types, inputs, {}, InferenceTime::kRun);
  DEPUTY_RETURN_IF_ERROR(InferNode(context));
  for (size_t i = 0; i < options.outputs; ++i) {
    ValueType seen = context.outputs()[i];
    if (options.hide_shapes) seen = ValueType{seen.dtype, false, {}};
    graph.values[node.outputs[i]].type = seen;
  }

  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<CpuKernel> kernel, make(KernelSpec{node, graph}));
  std::vector<Tensor> outputs(options.outputs);
  std::vector<deputy_tensor> input_views(inputs.size()), output_views(options.outputs);
  std::vector<const deputy_tensor*> input_pointers;
  std::vector<deputy_tensor*> output_pointers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    input_views[i] = AbiTensor(inputs[i]);
    input_pointers.push_back(inputs[i].empty() ? nullptr : &input_views[i]);
  }
  for (size_t i = 0; i < options.outputs; ++i) {
    const ValueType& type = context.outputs()[i];
    output_views[i].dtype = static_cast<deputy_dtype>(type.dtype);
    if (!kernel->allocates_outputs()) {
      if (!type.is_static())
        return Error(StatusCode::kInternal, "inference does not tell the extents of output {} from known inputs", i);
      DEPUTY_ASSIGN_OR_RETURN(outputs[i], Tensor::Allocate(type.dtype, type.dims));
      if (outputs[i].byte_size() != 0)
        std::memset(outputs[i].mutable_data(), 0xCD, outputs[i].byte_size());  // planned memory is not clean either
      output_views[i] = AbiTensor(outputs[i]);
    }
    output_pointers.push_back(&output_views[i]);
  }
  ThreadPool pool(3);
  Scratch scratch;
  TestAllocator allocator(output_views, outputs);
  DEPUTY_RETURN_IF_ERROR(kernel->Run(KernelArgs{input_pointers, output_pointers, pool, scratch, &allocator}));
  return outputs;
}

inline std::vector<Tensor> RunNode(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs,
                                   const RunNodeOptions& options = {}) {
  Result<std::vector<Tensor>> outputs = TryRunNode(make, builder, std::move(inputs), options);
  if (outputs.ok()) return std::move(outputs).value();
  ADD_FAILURE() << outputs.status().ToString();
  std::vector<Tensor> none(options.outputs);
  return none;
}

// The message of the error; empty: the node ran.
inline std::string Failure(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs,
                           const RunNodeOptions& options = {}) {
  const Result<std::vector<Tensor>> outputs = TryRunNode(make, builder, std::move(inputs), options);
  return outputs.ok() ? std::string() : outputs.status().message();
}

// An error of the model or of the caller, never of the host; found by a kernel that knows the extents and by one that
// does not.
inline void ExpectRefused(Maker make, const PrimitiveBuilder& builder, const std::vector<Tensor>& inputs,
                          size_t outputs = 1) {
  for (const bool hidden : {false, true}) {
    const Result<std::vector<Tensor>> result =
        TryRunNode(make, builder, inputs, {.outputs = outputs, .hide_shapes = hidden});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().code(), StatusCode::kInternal) << result.status().ToString();
    EXPECT_FALSE(result.status().message().empty());
  }
}

inline Status RunUnchecked(Maker make, const PrimitiveBuilder& builder, const std::vector<Tensor>& inputs,
                           const Tensor& output) {
  Graph graph;
  Node& node = graph.nodes.emplace_back();
  node.primitive = builder.Finish();
  for (const Tensor& input : inputs) node.inputs.push_back(graph.AddValue("", {input.dtype(), false, {}}));
  node.outputs.push_back(graph.AddValue("", {output.dtype(), false, {}}));
  DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<CpuKernel> kernel, make(KernelSpec{node, graph}));
  std::vector<deputy_tensor> views;
  for (const Tensor& input : inputs) views.push_back(AbiTensor(input));
  std::vector<const deputy_tensor*> pointers;
  for (const deputy_tensor& view : views) pointers.push_back(&view);
  deputy_tensor output_view = AbiTensor(output);
  deputy_tensor* const output_pointers[] = {&output_view};
  ThreadPool pool(1);
  Scratch scratch;
  return kernel->Run(KernelArgs{pointers, output_pointers, pool, scratch, nullptr});
}

inline Tensor Zeros(Shape shape, DType dtype = DType::kFloat32) {
  return Tensor::Allocate(dtype, std::move(shape)).value();
}

// first, first + 1, ...
inline Tensor Counting(Shape shape, float first = 0) {
  Tensor tensor = Zeros(std::move(shape));
  for (float& value : tensor.mutable_values<float>()) value = first++;
  return tensor;
}

// A list of int64.
inline Tensor List(const std::vector<int64_t>& values) {
  return TensorOf<int64_t>({static_cast<int64_t>(values.size())}, values);
}

// To a few units in the last place of the larger ones.
inline void ExpectFloats(const Tensor& tensor, const std::vector<float>& want) {
  const std::vector<float> got = ValuesOf<float>(tensor);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 2e-6f * std::max(1.0f, std::fabs(want[i]))) << "at " << i;
}

// The first output.
inline Tensor RunOne(Maker make, const PrimitiveBuilder& builder, std::vector<Tensor> inputs) {
  return RunNode(make, builder, std::move(inputs))[0];
}

}  // namespace deputy::host
