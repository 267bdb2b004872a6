// Binding of a session's tensors to those of the caller: outputs that the plan writes in place, outputs that are copied
// after the run, and the check that no written buffer overlaps another one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_budget.hpp"
#include "deputy/model_value.hpp"
#include "deputy/tensor.hpp"
#include "execute/execution.hpp"

namespace deputy::host {

// An input of a run, in the caller's memory.
struct ValueView {
  const Tensor* tensor = nullptr;     // never null in a run; empty where the model takes another kind of value
  const ModelValue* value = nullptr;  // that value
};

// The first element is not aligned for its dtype.
bool Misaligned(const Tensor& tensor);

bool SameDims(std::span<const int64_t> a, std::span<const int64_t> b);

// Whether a tensor can be input `i` of the graph, which is one: not empty, of its dtype.
Status CheckInput(const Graph& graph, size_t i, const Tensor& tensor);

// Keeps a tensor that fits, otherwise replaces it by a new one.
Status MakeFit(Tensor& tensor, DType dtype, std::span<const int64_t> dims);

// Whether a buffer that is written shares memory with any other. Sorts once, O(n log n), and remembers the buffers that
// it found disjoint: a caller that keeps its tensors pays for a comparison per buffer. Allocates only while it grows.
class DisjointBuffers {
 public:
  void Clear() { same_ = 0; }
  void AddRead(const Tensor& tensor) { Add(tensor, false); }
  void AddWritten(const Tensor& tensor) { Add(tensor, true); }
  // Since the last Clear.
  bool Disjoint();

 private:
  struct Range {
    uintptr_t begin = 0, end = 0;
    bool written = false;

    bool operator==(const Range&) const = default;
  };

  static constexpr size_t kOthers = SIZE_MAX;

  void Add(const Tensor& tensor, bool written);

  std::vector<Range> ranges_, sorted_;
  std::vector<Range> disjoint_;  // the last ranges that were disjoint
  size_t same_ = 0;              // number of ranges equal to those of `disjoint_`, `ranges_` is not used; or kOthers
};

// Takes the bytes of the outputs that the plan writes in the caller's memory, or in memory that a session allocates for
// the caller. `budget` may be null. On failure the message names the output, and the node that makes it.
Status TakeOutputs(const Plan& plan, MemoryBudget* budget);

// The outputs of one plan.
class OutputBinding {
 public:
  // Decides for each output of the plan whether the plan writes it itself.
  void Prepare(const Plan& plan);

  // Before a run: gives every output that the plan writes a fitting tensor, and binds it.
  Status Bind(std::span<const ValueView> inputs, std::vector<Tensor>& outputs, Execution& execution);
  // Before Copy: whether the copies fit in the budget, which may be null, too.
  Status CheckCopies(const Execution& execution, MemoryBudget* budget) const;
  // After a run: copies outputs that are inputs, constants, repeated, or of extents that are known only after the run.
  Status Copy(std::span<const ValueView> inputs, std::vector<Tensor>& outputs, const Execution& execution);

 private:
  struct Bound {
    size_t output = 0;  // position among the outputs
    ValueId value = kNone;
    DType dtype = DType::kUndefined;
    std::span<const int64_t> dims;  // of the plan
  };

  std::vector<Bound> bound_;
  std::vector<size_t> copied_;  // positions among the outputs
  DisjointBuffers before_, after_;
};

}  // namespace deputy::host
