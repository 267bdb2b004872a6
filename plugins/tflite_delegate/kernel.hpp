// The node that replaces a partition in the interpreter: runs a session of Deputy in the interpreter's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../tflite_abi/tflite_abi.hpp"
#include "deputy/tensor.hpp"
#include "partition.hpp"
#include "report.hpp"

namespace deputy::tflite_delegate {

// [one-thread] Each call may have another context, whose tensors may have moved.
class Kernel {
 public:
  Kernel(std::shared_ptr<Partition> partition, std::shared_ptr<PartitionRecord> record, std::shared_ptr<Report> report)
      : partition_(std::move(partition)), record_(std::move(record)), report_(std::move(report)) {}
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Builds the model again where the inputs have other shapes, and gives the outputs theirs.
  Status Prepare(tflite_abi::Context* context);
  // Inputs are read and outputs written in place.
  Status Invoke(tflite_abi::Context* context);
  // What it did, into the report.
  void WriteRecord();

 private:
  std::shared_ptr<Partition> partition_;
  std::shared_ptr<PartitionRecord> record_;
  std::shared_ptr<Report> report_;
  std::vector<deputy::Tensor> inputs_, outputs_;
  uint64_t runs_ = 0, failures_ = 0;
  std::string last_failure_;
};

}  // namespace deputy::tflite_delegate
