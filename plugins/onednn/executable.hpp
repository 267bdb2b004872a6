// A compiled partition: a sequence of oneDNN primitives and their memory. Immutable, shared by all sessions; each
// session's context has an arena of its own and memory objects that point into it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "layout.hpp"

namespace onednn {

// A block of memory. Several slots may be in one buffer.
struct Buffer {
  enum class Storage { kInput, kOutput, kConstant, kTemporary };
  Storage storage;
  size_t bytes = 0;
  size_t index = 0;                         // of the partition's input or output
  const void* data = nullptr;               // of a constant
  std::shared_ptr<const memory> keep = {};  // owns `data`, unless the model does
  size_t offset = 0;                        // of a temporary, in the arena; of a part, in its whole
  std::optional<size_t> whole = {};         // the buffer of which a temporary has become a part
};

// Elements in a buffer.
struct Slot {
  size_t buffer;
  memory::desc desc;
  size_t offset = 0;  // of the first element, in bytes
};

// A primitive, or a function of the plugin over the addresses of its slots.
struct Step {
  dnnl::primitive primitive;
  std::vector<std::pair<int, Slot>> arguments;  // DNNL_ARG_..., slot
  std::function<void(const std::vector<char*>& data)> function = {};
  int threads = 1;
  const char* name = "";                   // of a function
  std::vector<deputy_node_id> nodes = {};  // of the model, which it computes wholly or in part
};

// Assigns offsets in one arena to the temporaries that steps use, so that those in use at the same time do not overlap;
// returns the bytes of the arena.
size_t PlanMemory(const std::vector<Step>& steps, std::vector<Buffer>& buffers);

constexpr size_t kAlignment = 64;

// The extents of a partition's inputs and outputs for which it was compiled, and the response to a change.
class Shapes {
 public:
  Shapes() = default;
  explicit Shapes(const sdk::PartitionView& partition);

  // kDone when nothing changes. Primitives are made for their extents, so that other extents need a compile, which
  // reuses the packed weights.
  sdk::Result<sdk::ResizeOutcome> Answer(const sdk::ResizeArgs& wanted) const;

 private:
  std::vector<memory::dims> inputs_, outputs_;
  // Equal extents of the inputs imply that all others are equal. False where an operand that is not constant determines
  // extents, such as the second of a Reshape: then extents inside may change and none of the inputs and outputs.
  bool decided_by_inputs_ = true;
};

class Executable final : public sdk::Executable {
 public:
  Executable(dnnl::engine engine, std::vector<Buffer> buffers, std::vector<Step> steps, const sdk::Host& host,
             Shapes shapes);
  sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override;
  // An event's id is the index of its step.
  sdk::Status DescribeEvents(sdk::DebugMap& map) const override;

  const std::vector<Step>& steps() const { return steps_; }
  size_t arena_bytes() const { return arena_bytes_; }

 private:
  friend class Context;
  dnnl::engine engine_;
  std::vector<Buffer> buffers_;
  std::vector<Step> steps_;
  sdk::Host host_;
  Shapes shapes_;
  size_t arena_bytes_;
  bool has_parallel_steps_ = false;
};

}  // namespace onednn
