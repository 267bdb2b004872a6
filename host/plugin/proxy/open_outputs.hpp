// The outputs of a context whose extents only its runs know: the form in which the plugin sees them, and the allocator
// that it gets for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "delegate/delegate.hpp"
#include "deputy/abi/delegate.h"

namespace deputy::host {

// One run at a time. Neither copied nor moved: the plugin has its address.
class OpenOutputs {
 public:
  // `outputs` of a partition of the graph.
  OpenOutputs(const Graph& graph, std::span<const ValueId> outputs);
  OpenOutputs(const OpenOutputs&) = delete;
  OpenOutputs& operator=(const OpenOutputs&) = delete;

  bool any() const { return !open_.empty(); }
  // For other shapes: one tensor per output, null where one is left out.
  void Resize(std::span<const deputy_tensor* const> outputs);
  // Takes the memory of an earlier run away from those of a run.
  void Forget(const RunArgs& args) const;
  // Puts the outputs and the allocator of a run into its arguments for the plugin; `args` outlives the run.
  void Begin(const RunArgs& args, deputy_run_args& form);
  // After a run that succeeded: the plugin's fault, or empty.
  std::string Fault() const;

 private:
  struct Open {
    size_t output = 0;
    std::vector<int64_t> dims;  // -1 where not known
    deputy_tensor shown{};
    bool allocated = false;
  };
  void Add(size_t output, deputy_dtype dtype, std::span<const int64_t> dims);
  static deputy_status* Allocate(void* self, uint32_t output, const int64_t* dims, uint32_t rank, void** data);
  std::string Take(uint32_t output, const int64_t* dims, uint32_t rank, void** data, Status& status);

  std::deque<Open> open_;                    // descriptors point into it
  std::vector<const deputy_tensor*> shown_;  // all outputs of the run
  const deputy_output_allocator table_{sizeof table_, 0, this, Allocate};
  const RunArgs* args_ = nullptr;
  std::string fault_;
};

}  // namespace deputy::host
