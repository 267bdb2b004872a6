// From a graph to its plan: the sources that save a compilation, and plans of single steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plan/health.hpp"
#include "plan/plan.hpp"
#include "plan/verdicts.hpp"
#include "store/store.hpp"

namespace deputy::host {

// The verdicts on partitions, for plans whose delegates are verified.
struct VerdictSources {
  Verdicts* verdicts = nullptr;   // null: no partition has one
  const Digest* model = nullptr;  // of the file; null: constants are digested
};

// A partition that is compiled or restored next.
struct CompileProgress {
  std::string_view delegate;
  size_t number = 0, count = 0;  // of the delegate's partitions in the graph, from 1
  size_t nodes = 0;
};

// Sources from which a plan is made without compiling.
struct PlanSources {
  Store* store = nullptr;         // null: nothing is saved, nothing restored
  const Plan* sibling = nullptr;  // of the same model for other shapes; see respecialize.hpp
  VerdictSources verdicts = {};
  std::function<void(const CompileProgress&)> progress = {};  // may be empty
  size_t weight_limit = SIZE_MAX;                             // of the weight_bytes of a plan and its branches
  // For the listing of the store: the name of the model; files and libraries of plugins, by the delegate's name.
  std::string model = {};
  const std::map<std::string, EntryOrigin>* plugins = nullptr;
};

// Places and compiles. A delegate that refuses a partition at compile loses its nodes to the next in order; every such
// fallback is logged as a warning and stays in the placement's verdicts. Delegates must outlive the plan.
Result<std::shared_ptr<const Plan>> MakePlan(std::shared_ptr<const Graph> graph, Delegates delegates,
                                             PlacementOptions options, const PlanSources& sources = {});

// Nodes of a step that its delegate must not have any more, and the reasons.
using Refusals = std::map<NodeId, Verdict>;
// The same verdict for all nodes of the step.
Refusals RefuseAll(const Plan& plan, const Step& step, const Verdict& verdict);

// A plan for the nodes of one step: those of `refused` by the delegates after the step's own, the others by that
// delegate again. Its graph captures the inputs of the step and has its outputs, both in the step's order without those
// that are left out.
Result<std::shared_ptr<const Plan>> MakeAlternative(const Plan& plan, const Step& step, const Refusals& refused,
                                                    Delegates delegates, PlacementOptions options,
                                                    const PlanSources& sources);
// A plan for the nodes of one step by the CPU and custom-operator kernels alone, regardless of the rules and the
// fallback of the configuration.
Result<std::shared_ptr<const Plan>> MakeReference(const Plan& plan, const Step& step, Delegates delegates);
// The same for a graph of its own, which has no inputs but captures; delegates other than `delegate` and those of the
// reference have no nodes, and `delegate` gets none of `refused`.
Result<std::shared_ptr<const Plan>> MakePlanWithOnly(std::shared_ptr<const Graph> graph, size_t delegate,
                                                     Delegates delegates, std::span<const NodeId> refused = {});

}  // namespace deputy::host
