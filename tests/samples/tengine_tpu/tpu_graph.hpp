// A partition on the TPU, and what one session needs to run it: Tengine's pre_run, run and post_run.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deputy/sdk/sdk.hpp"
#include "tpu_runtime.h"

// One of the TPU's operators; the one table that describe, support and run read.
struct TpuOp {
  const char* type;
  size_t inputs;
  void (*run)(const tpu_buffer* a, const tpu_buffer* b, tpu_buffer* y);
};
const std::vector<TpuOp>& TpuOps();
// NULL: the TPU does not have it.
const TpuOp* FindTpuOp(const deputy::sdk::NodeView& node);

// The opened TPU. Sessions begin and end on any thread, and the runtime takes one call at a time.
struct Tpu {
  explicit Tpu(size_t memory_bytes) : device(tpu_open(memory_bytes)) {}
  Tpu(const Tpu&) = delete;
  Tpu& operator=(const Tpu&) = delete;
  ~Tpu() {
    if (device != nullptr) tpu_close(device);
  }

  tpu_device* const device;
  std::mutex mutex;  // of allocation
};

class TpuGraph final : public deputy::sdk::Executable {
 public:
  TpuGraph(const deputy::sdk::PartitionView& partition, std::shared_ptr<Tpu> opened, deputy::sdk::Host host);
  deputy::sdk::Result<std::unique_ptr<deputy::sdk::ExecutionContext>> CreateContext() override;

  // Of all its tensors, which one session needs.
  static uint64_t MemoryOf(const deputy::sdk::PartitionView& partition);

  struct Step {
    const TpuOp* op;
    deputy_value_id a, b, y;
  };
  std::shared_ptr<Tpu> tpu;
  deputy::sdk::Host host;
  std::vector<Step> steps;
  std::vector<deputy_value_id> inputs, outputs;
  std::map<deputy_value_id, size_t> elements;         // of every value
  std::map<deputy_value_id, const float*> constants;  // the model's own
};
