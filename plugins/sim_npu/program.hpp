// A partition as the device runs it: layers in order, over float32 tensors in an arena of device memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clock.hpp"
#include "command_queue.hpp"
#include "constant.hpp"
#include "deputy/sdk/sdk.hpp"
#include "faults.hpp"
#include "memory.hpp"
#include "operators.hpp"

namespace sim_npu {

// Of a tensor in the device's memory, regardless of its type outside.
inline constexpr size_t kElementBytes = sizeof(float);

// The device as one instance has opened it. Shared by all of its programs.
struct Device {
  // `memory_bytes` replaces the size of the device's memory; 0: no replacement. `realtime`: a run takes at least the
  // device's time.
  Device(Hardware& opened, const deputy::sdk::FrequencyWish& wish, size_t memory_bytes, bool in_realtime)
      : hardware(opened),
        clock(opened, wish),
        memory(memory_bytes == 0 ? opened.memory() : std::make_shared<DeviceMemory>(memory_bytes)),
        realtime(in_realtime) {}

  // Takes the time of a transfer.
  deputy::sdk::Status Copy(const deputy::sdk::CopySide& from, const deputy::sdk::CopySide& to, uint64_t bytes);
  // Where a tensor of a run is; INVALID_ARGUMENT unless it has so many bytes. `kind` and `index` are for the message.
  deputy::sdk::Result<void*> Locate(const deputy::sdk::TensorView& tensor, size_t bytes, const char* kind,
                                    size_t index) const;

  Hardware& hardware;
  Clock clock;
  std::shared_ptr<DeviceMemory> memory;
  const bool realtime;
  Faults faults;
  CommandQueue commands;
};

// A step of a run on the device's own clock.
struct Span {
  uint64_t begin_ns = 0, end_ns = 0, cycles = 0;
  size_t step = 0;  // 0 copies in, 1 and above are layers, the one after the last layer copies out
};

class Program final : public deputy::sdk::Executable {
 public:
  // NOT_SUPPORTED when weights and tensors do not fit into the free part of the device's memory. Without a device no
  // memory is reserved, and the program cannot run.
  static deputy::sdk::Result<std::unique_ptr<Program>> Make(const deputy::sdk::PartitionView& partition,
                                                            const deputy::sdk::Host& host,
                                                            std::shared_ptr<Device> device);
  // INCOMPATIBLE when the blob is not of this partition.
  static deputy::sdk::Result<std::unique_ptr<Program>> Restore(const deputy::sdk::PartitionView& partition,
                                                               const deputy::sdk::Blob& blob,
                                                               const deputy::sdk::Host& host,
                                                               std::shared_ptr<Device> device);

  // The cost of the partition, regardless of other programs in the device's memory; nodes that do not fit are rejected,
  // the last ones first.
  static deputy::sdk::PartitionEstimate Estimate(const deputy::sdk::PartitionView& partition,
                                                 const deputy::sdk::Host& host, std::shared_ptr<Device> device);

  deputy::sdk::Result<std::unique_ptr<deputy::sdk::ExecutionContext>> CreateContext() override;
  deputy::sdk::Status Serialize(deputy::sdk::BlobWriter& blob) const override;
  deputy::sdk::Status DescribeEvents(deputy::sdk::DebugMap& map) const override;

  // Whether the index-th of the inputs, then outputs, can stay in memory of the device.
  bool Keeps(size_t index) const;
  // `spans`, when given, gets the times of all steps.
  deputy::sdk::Status Run(const deputy::sdk::RunArgs& run, std::vector<Span>* spans);
  // Executes the run with the context when those before it have ended. UNAVAILABLE: the queue is full.
  deputy::sdk::Status Submit(deputy::sdk::ExecutionContext& context, deputy::sdk::SubmittedRun& run);
  // Runs that wait for the device look again whether they are cancelled. [any-thread]
  void Interrupt();
  // NOT_SUPPORTED for shapes that the device cannot hold.
  deputy::sdk::Result<deputy::sdk::ResizeOutcome> Resize(const deputy::sdk::ResizeArgs& shapes) const;
  void Report(const std::vector<Span>& spans, const deputy::sdk::Profiler& profiler) const;

 private:
  struct Step {
    std::unique_ptr<Layer> layer;
    std::vector<size_t> reads;  // tensors
    size_t writes = 0;
    deputy_node_id node = 0;
    std::string type;
    uint64_t cycles = 0;
  };
  static constexpr size_t kNoTensor = static_cast<size_t>(-1);
  // An input or output of the partition.
  struct SubgraphValue {
    size_t tensor;  // kNoTensor: the layers do not read it; it only repeats shapes
    deputy::sdk::DType dtype;
    size_t bytes;
  };

  Program(const deputy::sdk::Host& host, std::shared_ptr<Device> device) : host_(host), device_(std::move(device)) {}
  // NOT_SUPPORTED for a node that Check refuses, and a value that the partition does not have.
  deputy::sdk::Status Lower(const deputy::sdk::PartitionView& partition, Constants& constants);
  // Device memory for the first so many steps.
  size_t BytesOf(size_t steps) const;
  deputy::sdk::Status Place();
  // Elements between host memory and the device's arena.
  deputy::sdk::Status Load(const deputy::sdk::RunArgs& run);
  deputy::sdk::Status Store(const deputy::sdk::RunArgs& run) const;
  void Compute(const Step& step);

  deputy::sdk::Host host_;
  std::shared_ptr<Device> device_;
  std::vector<Step> steps_;
  std::vector<Lifetime> tensors_;
  std::vector<SubgraphValue> inputs_, outputs_;
  Constants constants_;  // of a program that was compiled
  bool restored_ = false;
  uint64_t constant_bytes_ = 0, cycles_ = 0;  // the second: with copies of all inputs and outputs
  uint64_t layer_cycles_ = 0;                 // of the layers alone
  std::unique_ptr<Block> block_;
  std::vector<float> arena_;
  std::vector<const float*> reads_;  // the operands of the layer that runs
};

}  // namespace sim_npu
