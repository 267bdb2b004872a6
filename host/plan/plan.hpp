// A plan: a placed graph with every partition compiled, a storage class for every value, and the steps in a flat array.
// Immutable and shared by sessions; the tensors and contexts of a run belong to host/execute.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partition/hosted_delegate.hpp"
#include "partition/placement.hpp"
#include "plan/health.hpp"

namespace deputy::host {

// Where a value's bytes are while a plan runs.
enum class StorageClass : uint8_t {
  kUnused,    // inside a partition, or not needed
  kConstant,  // the model's own memory
  kBound,     // memory from outside: inputs, captures, outputs with known extents
  kArena,     // at `offset` of the arena
  kDynamic,   // extents known only at run time; memory grows on demand
  kHeld,      // not a tensor: a ModelValue that the execution holds
};

struct Slot {
  StorageClass storage = StorageClass::kUnused;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;  // of kArena, kConstant and kBound outputs; for bound inputs those of the plan
  size_t offset = 0;
  size_t bytes = 0;
  // The next value in the ring of aliases in this place; the value itself where it has no alias.
  ValueId next_alias = kNone;
};

struct Plan;

// How a plan obtained an executable.
enum class ExecutableOrigin : uint8_t {
  kCompiled,
  kRestored,  // from the cache of compiled partitions
  kResized,   // from a plan for other shapes; its contexts are resized to these
};
std::string_view NameOf(ExecutableOrigin origin);  // "compiled", "restored", "resized"

// A region of a step as a plan. captures[i] feeds plan->graph->captured[i].
struct Branch {
  std::shared_ptr<const Plan> plan;
  std::vector<ValueId> captures;
};

// A partition, or a node whose regions the host runs.
struct Step {
  uint32_t partition = 0;
  std::shared_ptr<const Executable> executable;           // null for an If, a Loop or a Scan
  ExecutableOrigin origin = ExecutableOrigin::kCompiled;  // of the executable
  std::shared_ptr<const std::string> not_cached;          // why the cache does not have the compiled one; null: it does
  std::shared_ptr<const Graph> compiled_from;             // of a resized executable: the graph that it still reads
  bool is_view = false;                                   // its output is an alias of its input: nothing to run
  bool is_fused = false;                                  // other steps compute what is read of it: nothing to run
  bool overlaps = false;     // it runs on a thread of its delegate, in a plan that overlaps
  bool may_overlap = false;  // a step of another delegate may run at the same time
  std::vector<ValueId> inputs, outputs;
  // The steps that must have ended before this one may begin, the latest first: producers of the values that it reads,
  // captures included, without those for which another one of them waits already. Only in a plan whose steps may
  // overlap.
  std::vector<uint32_t> waits;
  // If: [0] then, [1] else; Loop and Scan: [0] the body. The inputs of these are kNone where they are left out.
  std::vector<Branch> branches;
  // Of a delegate's step that others could run; null for steps of the last delegate and where no failure is answered.
  std::shared_ptr<StepHealth> health;

  bool runs() const { return !is_view && !is_fused; }
};

struct Plan {
  std::shared_ptr<const Graph> graph;
  Placement placement;
  std::vector<std::string> delegate_names;  // by the numbers of the placement
  std::vector<Slot> slots;                  // per value
  std::vector<Step> steps;
  size_t arena_bytes = 0;
  size_t weight_bytes = 0;  // that the executables of its steps keep in forms of their own
  // The steps may run in every order that their waits allow, also at once; else only one after another.
  bool overlaps = false;
};

// The plan that runs a demoted step; null for any other step.
inline const Plan* AlternativeOf(const Step& step) {
  return step.health != nullptr && step.health->demoted() ? step.health->alternative.get() : nullptr;
}

// The delegate that runs the step: its own, or the first one of the plan in its place.
inline size_t DelegateOf(const Plan& plan, const Step& step) {
  const Plan* alternative = AlternativeOf(step);
  if (alternative != nullptr) return DelegateOf(*alternative, alternative->steps.front());
  return plan.placement.partitions[step.partition].delegate;
}

std::vector<std::string> NamesOf(Delegates delegates);

// "3 delegates, 5 partitions: npu 41/66 nodes (93 % of multiply-adds), onednn 24, cpu 1". Regions count too.
std::string SummarizePlacement(const Plan& plan, Delegates delegates);

}  // namespace deputy::host
