// A layer of a program: the device's computation of one node. Tensors are float32. The vector unit computes in float32;
// the matrix unit rounds its factors to halves and sums the products in float32.
#pragma once

#include <cstdint>
#include <vector>

#include "constant.hpp"
#include "deputy/sdk/sdk.hpp"

namespace sim_npu {

// Elements of an element-wise loop that are worth a range of their own in ParallelFor.
inline constexpr int64_t kElementsPerJob = 1 << 14;

class Layer {
 public:
  virtual ~Layer() = default;
  // Once, before the first run: memory for copies of operands that only runs give. A layer that is only estimated has
  // none.
  virtual void Prepare() {}
  // `inputs` are the node's inputs named by operands(), in that order. One call at a time; allocates nothing.
  virtual void Run(const deputy::sdk::Host& host, const std::vector<const float*>& inputs, float* output) = 0;

  const std::vector<size_t>& operands() const { return operands_; }
  uint64_t macs() const { return macs_; }
  // Device memory for constants: weights are halves, all others have 32 bits.
  uint64_t constant_bytes() const { return constant_bytes_; }

 protected:
  enum class Form { kFloats, kHalves };

  // Elements of an input: held since the layer was made where they are constant, otherwise an operand of each run.
  class Source {
   public:
    bool given() const { return held_.empty() && operand_ != kNone; }
    const float* In(const std::vector<const float*>& inputs) const {
      return !held_.empty() ? held_.data() : operand_ == kNone ? nullptr : inputs[operand_];
    }

   private:
    friend class Layer;
    static constexpr size_t kNone = static_cast<size_t>(-1);
    std::vector<float> held_;
    size_t operand_ = kNone;  // none where the node leaves the input out
  };

  // Constants are requested and operands are numbered in the order of these calls.
  Source Take(const deputy::sdk::NodeView& node, size_t input, Constants& constants, Form form = Form::kFloats) {
    Source source;
    const deputy::sdk::ValueView value = node.input(input);
    if (!value.exists()) return source;
    if (!value.is_constant()) {
      source.operand_ = operands_.size();
      operands_.push_back(input);
      return source;
    }
    source.held_ = form == Form::kHalves ? constants.Rounded(value) : constants.Plain(value);
    constant_bytes_ += source.held_.size() * (form == Form::kHalves ? 2 : 4);
    return source;
  }

  std::vector<size_t> operands_;
  uint64_t macs_ = 0, constant_bytes_ = 0;
};

}  // namespace sim_npu
