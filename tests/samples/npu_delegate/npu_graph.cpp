// Runs a sub-graph on the device: inputs in, operators in their order, outputs out.
#include "npu_graph.hpp"

#include <algorithm>

namespace sdk = deputy::sdk;

sdk::Status NPUGraph::Prepare() {
  for (const sdk::Tensor& input : inputs()) memory_[input.Id()].resize(static_cast<size_t>(input.ElementNum()));
  for (const auto& op : ops_) {
    memory_[op->output].resize(static_cast<size_t>(op->elements()));
    op->Pack();
  }
  return sdk::kSuccess;
}

sdk::Status NPUGraph::Execute() {
  for (const sdk::Tensor& input : inputs()) {
    std::vector<float>& there = memory_[input.Id()];
    std::copy_n(static_cast<const float*>(input.Data()), there.size(), there.data());
  }
  for (const auto& op : ops_) {
    std::vector<const float*> x;
    for (const ValueId id : op->inputs) x.push_back(memory_[id].data());
    op->Run(device_.get(), x, memory_[op->output].data());
  }
  for (const sdk::Tensor& output : outputs()) {
    const std::vector<float>& there = memory_[output.Id()];
    std::copy_n(there.data(), there.size(), static_cast<float*>(output.MutableData()));
  }
  device_->FinishRun();
  return sdk::kSuccess;
}
