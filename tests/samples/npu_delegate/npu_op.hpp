// The NPU's operators: a class for each, and the table that says which of the model's operators becomes which. An
// operator is made while the model is looked at, so it keeps what it needs: numbers of values, extents, constants.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "device.hpp"

using ValueId = deputy_value_id;

class NPUOp {
 public:
  explicit NPUOp(const deputy::sdk::Kernel& kernel)
      : inputs{kernel.inputs()[0].Id()},
        output(kernel.outputs()[0].Id()),
        input_dims_(kernel.inputs()[0].Shape()),
        dims_(kernel.outputs()[0].Shape()) {}
  NPUOp(ValueId input, ValueId made, const std::vector<int64_t>& dims)
      : inputs{input}, output(made), input_dims_(dims), dims_(dims) {}
  virtual ~NPUOp() = default;

  // Does the device take the operator's image, and give its result, with the channels last?
  virtual bool channels_last() const { return false; }
  // Does it treat each element alone, so that it does not matter how they lie?
  virtual bool elementwise() const { return false; }
  // 1: from the model's layout to the device's, -1: back, 0: no transpose at all.
  virtual int transposes() const { return 0; }

  // Once, before the first run: packs constants.
  virtual void Pack() {}
  virtual void Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const = 0;

  // Extents of the first input and of the result in the model's order (NCHW), however they lie.
  const std::vector<int64_t>& input_dims() const { return input_dims_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t extent : dims_) count *= extent;
    return count;
  }

  std::vector<ValueId> inputs;
  ValueId output;

 private:
  std::vector<int64_t> input_dims_, dims_;
};

class ConvNPUOp final : public NPUOp {
 public:
  static std::unique_ptr<NPUOp> Get(const deputy::sdk::Kernel& kernel);
  explicit ConvNPUOp(const deputy::sdk::Kernel& kernel);
  bool channels_last() const override { return true; }
  void Pack() override;
  void Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const override;

 private:
  toy_npu::Image in_, out_;
  toy_npu::Window window_;
  deputy::sdk::Tensor weights_, bias_;  // constants; the model keeps them
  std::vector<float> packed_;
};

class MaxPoolNPUOp final : public NPUOp {
 public:
  static std::unique_ptr<NPUOp> Get(const deputy::sdk::Kernel& kernel);
  explicit MaxPoolNPUOp(const deputy::sdk::Kernel& kernel);
  bool channels_last() const override { return true; }
  void Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const override;

 private:
  toy_npu::Image in_, out_;
  toy_npu::Window window_;
};

class ReluNPUOp final : public NPUOp {
 public:
  static std::unique_ptr<NPUOp> Get(const deputy::sdk::Kernel& kernel);
  using NPUOp::NPUOp;
  bool elementwise() const override { return true; }
  void Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const override;
};

class AddNPUOp final : public NPUOp {
 public:
  static std::unique_ptr<NPUOp> Get(const deputy::sdk::Kernel& kernel);
  explicit AddNPUOp(const deputy::sdk::Kernel& kernel);
  bool elementwise() const override { return true; }
  void Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const override;
};

// Only the passes make these.
class TransposeNPUOp final : public NPUOp {
 public:
  TransposeNPUOp(int direction, ValueId input, ValueId made, const std::vector<int64_t>& dims);
  int transposes() const override { return direction_; }
  void Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const override;

 private:
  int direction_;
  toy_npu::Image image_;
};

// NULL: not this one, with these attributes, types and shapes.
using NPUGetOp = std::unique_ptr<NPUOp> (*)(const deputy::sdk::Kernel& kernel);
std::map<std::string, NPUGetOp> NPUOpTable();
