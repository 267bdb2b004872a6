// A plan: a placed graph with every partition compiled, a storage class for every value, and the steps in a flat array.
// Immutable and shared by sessions; the tensors and contexts of a run belong to host/execute.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "delegate/delegate.hpp"
#include "partition/placement.hpp"
#include "plan/health.hpp"
#include "plan/verdicts.hpp"
#include "store/store.hpp"

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

// The verdicts on partitions, for plans whose delegates are verified.
struct VerdictSources {
  Verdicts* verdicts = nullptr;  // null: no partition has one
  // Per delegate, the digest of what its verdicts depend on but the partition; none: they are not kept.
  std::span<const std::optional<Digest>> delegates = {};
  const Digest* model = nullptr;  // of the file; null: constants are digested
};

// A partition that is compiled or restored next.
struct CompileProgress {
  std::string_view delegate;
  size_t number = 0, count = 0;  // of the delegate's partitions in the graph, from 1
  size_t nodes = 0;
};

// Sources from which a plan is made without compiling, and the health of its delegates.
struct PlanSources {
  Store* store = nullptr;         // null: nothing is saved, nothing restored
  const Plan* sibling = nullptr;  // of the same model for other shapes; see respecialize.hpp
  // Per delegate; null, or an empty span: its failures end the run, and nothing is verified.
  std::span<const std::shared_ptr<DelegateHealth>> health = {};
  VerdictSources verdicts = {};
  std::function<void(const CompileProgress&)> progress = {};  // may be empty
  size_t weight_limit = SIZE_MAX;                             // of the weight_bytes of a plan and its branches
};

// Null where a failure of the step ends the run and no run is verified.
std::shared_ptr<StepHealth> HealthOf(const Graph& graph, const PlacedPartition& placed, const Step& step,
                                     const PlanSources& sources);
// The verdict on a partition that its delegate is known to compute wrongly, compiled for its shapes or resized to them.
std::optional<PartitionVerdict> KnownFault(const Graph& graph, const PlacedPartition& placed,
                                           const PlanSources& sources);
// The error that a wrong result is where no other delegate may replace it.
Status WrongResult(const PartitionVerdict& verdict);
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

std::vector<std::string> NamesOf(std::span<const std::shared_ptr<Delegate>> delegates);

// Places and compiles. A delegate that refuses a partition at compile loses its nodes to the next in order; every such
// fallback is logged as a warning and stays in the placement's verdicts. Delegates must outlive the plan.
Result<std::shared_ptr<const Plan>> MakePlan(std::shared_ptr<const Graph> graph,
                                             std::span<const std::shared_ptr<Delegate>> delegates,
                                             PlacementOptions options, const PlanSources& sources = {});

// Nodes of a step that its delegate must not have any more, and the reasons.
using Refusals = std::map<NodeId, Verdict>;
// The same verdict for all nodes of the step.
Refusals RefuseAll(const Plan& plan, const Step& step, const Verdict& verdict);

// A plan for the nodes of one step: those of `refused` by the delegates after the step's own, the others by that
// delegate again. Its graph captures the inputs of the step and has its outputs, both in the step's order without those
// that are left out.
Result<std::shared_ptr<const Plan>> MakeAlternative(const Plan& plan, const Step& step, const Refusals& refused,
                                                    std::span<const std::shared_ptr<Delegate>> delegates,
                                                    PlacementOptions options, const PlanSources& sources);
// A plan for the nodes of one step by the CPU and custom-operator kernels alone, regardless of the rules and the
// fallback of the configuration.
Result<std::shared_ptr<const Plan>> MakeReference(const Plan& plan, const Step& step,
                                                  std::span<const std::shared_ptr<Delegate>> delegates);
// The same for a graph of its own, which has no inputs but captures; delegates other than `delegate` and those of the
// reference have no nodes.
Result<std::shared_ptr<const Plan>> MakePlanWithOnly(std::shared_ptr<const Graph> graph, size_t delegate,
                                                     std::span<const std::shared_ptr<Delegate>> delegates);

// "3 delegates, 5 partitions: npu 41/66 nodes (93 % of multiply-adds), onednn 24, cpu 1". Regions count too.
std::string SummarizePlacement(const Plan& plan, std::span<const std::shared_ptr<Delegate>> delegates);

// Sets what follows from the steps of a new plan: whether they may overlap, their waits, and the slots.
void CompletePlan(Plan& plan, std::span<const std::shared_ptr<Delegate>> delegates, bool top_level);

class StepOrder;

// Fills plan.slots from the steps, and marks steps that have become views. Values share a place where executables allow
// it: views with their inputs; results written over their inputs only inside the last delegate, whose inputs are not
// needed for a fallback. Outputs of a top-level plan are written to the caller's memory. If plan.overlaps, values share
// bytes only where `order` has one dead before the other is written.
void PlanBuffers(Plan& plan, const StepOrder& order, size_t last_delegate, bool top_level);

// Gives every arena slot an offset so that no two values that live at the same time overlap, and returns the size, or
// SIZE_MAX when no memory can be that large. `first` and `last` are the steps in which a value is written first and
// read last; linear-logarithmic.
size_t AssignOffsets(std::span<Slot> slots, std::span<const uint32_t> first, std::span<const uint32_t> last,
                     size_t step_count);

// The same for lives that are known by pairs: two arena slots overlap only if `apart` of their numbers. Quadratic.
size_t AssignOffsets(std::span<Slot> slots, FunctionRef<bool(uint32_t, uint32_t)> apart);

}  // namespace deputy::host
