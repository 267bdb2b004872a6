// MindSpore Lite's MSTensor as a handle: every copy of a model's value refers to the data that the current run has
// bound to it. So a kernel may keep the tensors that it was made with and read them in every Execute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/graph.hpp"

namespace deputy::sdk {

// A default-constructed tensor is an optional input or output that is left out; only == nullptr is valid for it.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::nullptr_t) {}  // NOLINT: as MSTensor
  explicit Tensor(const ValueView& value) : state_(std::make_shared<State>()) {
    state_->id = value.id();
    state_->name = std::string(value.name());
    state_->dtype = value.dtype();
    state_->shape = value.dims().ToVector();
    state_->constant = value.is_constant();
    state_->constant_data = value.constant();
    state_->constant_bytes = value.constant_bytes();
  }

  bool operator==(std::nullptr_t) const { return state_ == nullptr; }
  bool operator!=(std::nullptr_t) const { return state_ != nullptr; }
  // Handles of one value are equal.
  bool operator==(const Tensor& other) const { return state_ == other.state_; }
  bool operator!=(const Tensor& other) const { return state_ != other.state_; }

  deputy_value_id Id() const { return state_ == nullptr ? DEPUTY_NO_VALUE : state_->id; }
  const std::string& Name() const { return state_->name; }
  sdk::DType DataType() const { return state_->dtype; }
  // Extents; -1 where not known before the run, and then those of the run during ReSize and Execute.
  const std::vector<int64_t>& Shape() const { return state_->shape; }
  int64_t ElementNum() const {
    int64_t count = 1;
    for (const int64_t extent : state_->shape) count *= extent;
    return count;
  }
  // Bytes of the elements.
  size_t DataSize() const {
    return state_->constant ? state_->constant_bytes : static_cast<size_t>(ElementNum()) * SizeOf(state_->dtype);
  }
  bool IsConst() const { return state_->constant; }
  // Dense row-major elements. Always set for constants; for other values only during Execute, NULL otherwise.
  const void* Data() const { return state_->constant ? state_->constant_data : state_->bound; }
  // NULL for constants, which are shared.
  void* MutableData() const { return state_->constant ? nullptr : state_->bound; }

  // For the layer: the data of this value in the current run. NULL afterwards.
  void Bind(void* data) const { state_->bound = data; }
  void SetShape(Span<const int64_t> dims) const { state_->shape.assign(dims.begin(), dims.end()); }

 private:
  struct State {
    deputy_value_id id = DEPUTY_NO_VALUE;
    std::string name;
    sdk::DType dtype = sdk::DType::kUndefined;
    std::vector<int64_t> shape;
    bool constant = false;
    const void* constant_data = nullptr;
    size_t constant_bytes = 0;
    void* bound = nullptr;
  };
  std::shared_ptr<State> state_;
};

}  // namespace deputy::sdk
