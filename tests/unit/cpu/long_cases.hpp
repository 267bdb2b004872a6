// What the tests of kernels with long work and of those with long outputs have in common.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cpu/kernel.hpp"
#include "graph/inference.hpp"
#include "graph/operator.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {

using Dims = std::vector<int64_t>;

struct LongCase {
  std::string name;  // of the operator, and what is particular
  PrimitiveBuilder node;
  std::vector<Tensor> inputs;
  size_t outputs = 1;
  size_t filled = 0;  // the output that is large
};

// The kernel of a case with its operands.
class LongKernel {
 public:
  void Make(const LongCase& one) {
    Node& node = graph_.nodes.emplace_back();
    node.primitive = one.node.Finish();
    std::vector<ValueType> types;
    std::vector<Tensor> known;
    constexpr size_t kSmall = 1 << 20;
    for (const Tensor& input : one.inputs) {
      types.push_back({input.dtype(), true, input.shape()});
      known.push_back(input.byte_size() <= kSmall ? input : Tensor());
      node.inputs.push_back(input.empty() ? kNone : graph_.AddValue("", types.back()));
    }
    for (size_t i = 0; i < one.outputs; ++i) node.outputs.push_back(graph_.AddValue(""));
    InferenceContext context(node, types, known);
    ASSERT_TRUE(InferNode(context).ok()) << InferNode(context).ToString();
    for (size_t i = 0; i < one.outputs; ++i) graph_.values[node.outputs[i]].type = context.outputs()[i];
    KernelResult made = MakeKernel({node, graph_});
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    kernel_ = *std::move(made);

    input_views_.resize(one.inputs.size());
    output_views_.resize(one.outputs);
    for (size_t i = 0; i < one.inputs.size(); ++i) {
      if (!one.inputs[i].empty()) input_views_[i] = AbiTensor(one.inputs[i]);
      inputs_.push_back(one.inputs[i].empty() ? nullptr : &input_views_[i]);
    }
    for (size_t i = 0; i < one.outputs; ++i) {
      output_views_[i].dtype = static_cast<deputy_dtype>(context.outputs()[i].dtype);
      outputs_.push_back(&output_views_[i]);
    }
  }
  // Gives memory to the outputs, unless the kernel does.
  void Allocate(OutputAllocator& allocator) {
    for (size_t i = 0; i < outputs_.size() && !kernel_->allocates_outputs(); ++i)
      ASSERT_TRUE(allocator.Allocate(outputs_[i], graph_.values[graph_.nodes[0].outputs[i]].type.dims).ok());
  }
  Status Run(OutputAllocator& allocator) { return kernel_->Run({inputs_, outputs_, pool_, scratch_, &allocator}); }
  std::vector<deputy_tensor>& output_views() { return output_views_; }

 private:
  Graph graph_;
  std::unique_ptr<CpuKernel> kernel_;
  std::vector<deputy_tensor> input_views_, output_views_;
  std::vector<const deputy_tensor*> inputs_;
  std::vector<deputy_tensor*> outputs_;
  ThreadPool pool_{2};
  Scratch scratch_;
};

// The operators of the cases of long_outputs_test.cpp.
std::set<OpKind> OperatorsWithLongOutputs();

inline OpKind OperatorOf(const PrimitiveBuilder& builder) {
  const Primitive primitive = builder.Finish();
  return FindOperator(primitive.domain(), primitive.op_type());
}

inline PrimitiveBuilder Newest(const std::string& op, const std::string& domain = "") {
  return {domain, op, InfoOf(FindOperator(domain, op))->newest()};
}

// Anonymous memory of the tests, which takes pages only as they are used.
class Mapping {
 public:
  Mapping(size_t size, int access)
      : size_(std::max<size_t>(size, 1)),
        data_(static_cast<uint8_t*>(mmap(nullptr, size_, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  }
  ~Mapping() { munmap(data_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // Bytes of it that are in memory.
  size_t touched() const {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), pages = (size_ + page - 1) / page;
    std::vector<unsigned char> present(pages);
    EXPECT_EQ(mincore(data_, size_, present.data()), 0);
    return page * static_cast<size_t>(std::count_if(present.begin(), present.end(), [](auto in) { return in & 1; }));
  }

 private:
  const size_t size_;
  uint8_t* const data_;
};

// Zeros that take no memory until they are written.
inline Tensor Lazy(Shape shape, DType dtype = DType::kFloat32) {
  const size_t bytes = ByteSize(dtype, shape).value();
  const auto mapping = std::make_shared<Mapping>(bytes, PROT_READ);
  return Tensor::Wrap(dtype, std::move(shape), mapping->data(), bytes, mapping).value();
}
template <class T>
Tensor ListOf(std::vector<T> values) {
  return TensorOf<T>({static_cast<int64_t>(values.size())}, values);
}
template <class T>
Tensor ScalarOf(T value) {
  return TensorOf<T>({}, std::vector<T>{value});
}
inline Tensor TruthsOf(std::vector<uint8_t> values) {
  return TensorOf<uint8_t>({static_cast<int64_t>(values.size())}, values, DType::kBool);
}

}  // namespace deputy::host
