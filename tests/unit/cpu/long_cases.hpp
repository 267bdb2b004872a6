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

#include "graph/operator.hpp"
#include "unit/cpu/run_node.hpp"

namespace deputy::host {

using Dims = std::vector<int64_t>;

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
