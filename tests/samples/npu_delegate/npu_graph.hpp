// The sub-graph that stands for a run of the model's kernels.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "npu_pass_manager.hpp"

class NPUGraph final : public deputy::sdk::Kernel {
 public:
  NPUGraph(NPUOps ops, std::shared_ptr<toy_npu::Device> device, std::vector<deputy::sdk::Tensor> inputs,
           std::vector<deputy::sdk::Tensor> outputs)
      : Kernel(std::move(inputs), std::move(outputs)), ops_(std::move(ops)), device_(std::move(device)) {}

  const NPUOps& ops() const { return ops_; }

  deputy::sdk::Status Prepare() override;
  deputy::sdk::Status Execute() override;
  // The operators have the extents of Build in them.
  deputy::sdk::Status ReSize() override { return deputy::sdk::kLiteNotSupport; }

 private:
  NPUOps ops_;
  std::shared_ptr<toy_npu::Device> device_;
  std::map<ValueId, std::vector<float>> memory_;  // the device's
};
