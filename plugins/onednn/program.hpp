// A compiled partition: oneDNN primitives in a row, and the memory between them. Values keep whatever layout the
// primitive that made them prefers; reorders stand only where the next one wants another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace onednn {

namespace sdk = deputy::sdk;
using dnnl::memory;

memory::dims ToDims(sdk::Span<const int64_t> dims);
// Dense row-major float32. oneDNN has no scalars: they become [1].
memory::desc PlainDesc(const memory::dims& dims);

// Index of a piece of memory in a program.
using Slot = size_t;

struct SlotPlan {
  enum class Home { kInput, kOutput, kConstant, kTemporary };
  Home home;
  memory::desc desc;
  size_t index = 0;      // of the partition's input or output; offset of a temporary in the context's arena
  void* data = nullptr;  // of a constant
};

struct Step {
  dnnl::primitive primitive;
  std::vector<std::pair<int, Slot>> arguments;  // DNNL_ARG_..., slot
};

class Program final : public sdk::Executable {
 public:
  Program(dnnl::engine engine, int threads) : engine_(std::move(engine)), threads_(threads) {}
  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override;

 private:
  friend class ProgramBuilder;
  friend class ProgramContext;
  dnnl::engine engine_;
  int threads_;  // 0: all
  std::vector<SlotPlan> slots_;
  std::vector<Step> steps_;
  std::vector<memory> constants_;  // owns reordered weights
  size_t arena_bytes_ = 0;
};

// Turns nodes into steps. The functions that lower one operator use it; see lowering.hpp.
class ProgramBuilder {
 public:
  ProgramBuilder(const sdk::PartitionView& partition, const dnnl::engine& engine, int threads);

  const dnnl::engine& engine() const { return program_->engine_; }

  // Where a value is now: an input, a constant, or what an earlier step made.
  Slot Find(const sdk::ValueView& value);
  const memory::desc& DescOf(Slot slot) const { return program_->slots_[slot].desc; }
  // The same elements, seen as `dims` (same count, both dense row-major).
  Slot Reshaped(Slot slot, const memory::dims& dims);
  // The same bytes read through another description (strides exchanged).
  Slot Viewed(Slot slot, const memory::desc& desc);
  // The same elements in another layout. Constants are converted now, everything else when it runs.
  Slot Reordered(Slot slot, const memory::desc& desc);
  // Elements made here.
  Slot Constant(const memory::dims& dims, const std::vector<float>& values);
  // Memory for what a step makes of `value`. Results that leave the partition in row-major order go straight out.
  Slot Result(const sdk::ValueView& value, const memory::desc& desc);
  void Add(dnnl::primitive primitive, std::vector<std::pair<int, Slot>> arguments);

  // Puts results that are in another layout than the host reads into the outputs.
  std::unique_ptr<Program> Finish();

 private:
  Slot NewSlot(SlotPlan plan);
  Slot Temporary(const memory::desc& desc);

  const sdk::PartitionView& partition_;
  std::unique_ptr<Program> program_;
  std::map<deputy_value_id, Slot> slot_of_;
};

}  // namespace onednn
