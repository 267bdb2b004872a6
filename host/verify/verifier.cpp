#include "verify/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "compare/traits.hpp"
#include "deputy/element.hpp"
#include "graph/graph.hpp"
#include "plan/make_plan.hpp"
#include "tensor/held_value.hpp"
#include "verify/noise.hpp"
#include "verify/reference_run.hpp"
#include "verify/rounding.hpp"

namespace deputy::host {
namespace {

constexpr int kDisturbances = 6;
constexpr size_t kRoundings = 4;
// Contexts of each part of a partition, alive at once, and runs of each: for faults that do not show in every run.
constexpr int kContextsOfPart = 2, kRunsOfPart = 2;

ModelTraits TraitsOf(const Graph& graph, std::span<const NodeId> nodes) {
  ModelTraits traits;
  for (const NodeId id : nodes) {
    const Node& node = graph.nodes[id];
    AddNode(node.primitive.domain(), node.primitive.op_type(), Describe(graph, id), traits);
    for (const Region& region : node.regions) {
      std::vector<NodeId> inner(region.body->nodes.size());
      for (NodeId i = 0; i < inner.size(); ++i) inner[i] = i;
      const ModelTraits body = TraitsOf(*region.body, inner);
      traits.nodes += body.nodes;
      traits.quantized = traits.quantized || body.quantized;
      if (!body.drawing.empty()) traits.drawing = body.drawing;
    }
  }
  return traits;
}

}  // namespace

// The verification of one run.
class Verifier::StepVerification {
 public:
  StepVerification(Verifier& verifier, const StepRun& run, const ToleranceSettings& settings,
                   const CancellationToken& token, bool with_parts)
      : delegates_(verifier.delegates_),
        model_mutex_(verifier.model_mutex_),
        run_(run),
        graph_(*run.plan.graph),
        placed_(run.plan.placement.partitions[run.step.partition]),
        settings_(settings),
        token_{0, token.cancelled_ns, token.hook},
        with_parts_(with_parts),
        traits_(TraitsOf(graph_, placed_.spec.nodes)) {}

  Result<Verification> Run() {
    Verification result;
    result.outcome = VerifyOutcome::kNotVerifiable;
    const std::string changed = RestoreInputs();
    if (!traits_.drawing.empty()) {
      result.text = "it draws random numbers: " + traits_.drawing;
      return result;
    }
    for (const deputy_tensor* output : run_.outputs)
      if (output != nullptr && !IsNumeric(static_cast<DType>(output->dtype))) {
        result.text = "it has outputs that are not numbers";
        return result;
      }
    for (const deputy_tensor* input : run_.before)
      if (input != nullptr) {
        DEPUTY_ASSIGN_OR_RETURN(Tensor view, ViewOf(*input));
        inputs_.push_back(std::move(view));
      }
    Result<std::unique_ptr<Execution>> reference = Reference();
    const Status status = reference.ok() ? RunWith(**reference, inputs_, token_) : reference.status();
    if (token_.Due()) return token_.Check();
    if (!status.ok()) {
      result.text = "the CPU cannot run it: " + status.ToString();
      return result;
    }
    DEPUTY_ASSIGN_OR_RETURN(result.expected, OutputsOf(**reference));
    DEPUTY_RETURN_IF_ERROR(Compare(**reference, result));
    if (token_.Due()) return token_.Check();
    if (!changed.empty()) {
      result.outcome = VerifyOutcome::kWrong;
      result.text = changed;
    }
    if (result.outcome != VerifyOutcome::kWrong) return result;
    if (changed.empty()) SearchNodes(result);
    if (with_parts_) DEPUTY_RETURN_IF_ERROR(KeepParts(result));
    if (token_.Due()) return token_.Check();
    return result;
  }

 private:
  // Which input the delegate has changed; empty if none.
  std::string RestoreInputs() {
    std::string changed;
    for (size_t i = 0; i < run_.inputs.size(); ++i) {
      const deputy_tensor *now = run_.inputs[i], *before = run_.before[i];
      if (now == nullptr || now->byte_size == 0 || std::memcmp(now->data, before->data, now->byte_size) == 0) continue;
      std::memcpy(now->data, before->data, now->byte_size);
      changed = fmt::format("it changed its input '{}'", graph_.values[run_.step.inputs[i]].name);
    }
    return changed;
  }

  Result<std::unique_ptr<Execution>> Reference() {
    const MutexLock lock(model_mutex_);
    std::shared_ptr<const Plan>& plan = run_.step.health->reference;
    if (plan == nullptr) {
      DEPUTY_ASSIGN_OR_RETURN(plan, MakeReference(run_.plan, run_.step, delegates_));
    }
    return Execution::Create(plan);
  }

  template <size_t kCount = 1>
  Result<std::array<std::unique_ptr<Execution>, kCount>> ExecutionsOf(Graph graph, size_t delegate,
                                                                      std::span<const NodeId> refused = {}) {
    DEPUTY_ASSIGN_OR_RETURN(
        const std::shared_ptr<const Plan> plan,
        MakePlanWithOnly(std::make_shared<const Graph>(std::move(graph)), delegate, delegates_, refused));
    std::array<std::unique_ptr<Execution>, kCount> executions;
    for (std::unique_ptr<Execution>& execution : executions) {
      DEPUTY_ASSIGN_OR_RETURN(execution, Execution::Create(plan));
    }
    return executions;
  }
  Result<std::unique_ptr<Execution>> ExecutionOnCpu(Graph graph) {
    DEPUTY_ASSIGN_OR_RETURN(auto executions, ExecutionsOf(std::move(graph), CpuOf(delegates_)));
    return std::move(executions[0]);
  }

  Tolerance ToleranceOf(DType dtype) const { return ToleranceFor(settings_, dtype, traits_); }

  Status Compare(Execution& reference, Verification& result) {
    result.outcome = VerifyOutcome::kRight;
    std::vector<Evidence> evidence;
    size_t made = 0;
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      if (run_.outputs[i] == nullptr) continue;
      const Tensor& expected = result.expected[made];
      DEPUTY_ASSIGN_OR_RETURN(const Tensor got, ViewOf(*run_.outputs[i]));
      const Tolerance tolerance = ToleranceOf(expected.dtype());
      const Comparison comparison = CompareTensors(got, expected, tolerance);
      result.max_difference = std::max(result.max_difference, comparison.max_difference);
      if (!comparison.ok) {
        if (evidence.empty()) {
          DEPUTY_ASSIGN_OR_RETURN(evidence, Collect(reference, inputs_));
        }
        const bool noise = IsNoise(got, expected, evidence[made], tolerance);
        result.text = fmt::format("output '{}': {}", graph_.values[run_.step.outputs[i]].name, comparison.description);
        if (!noise) {
          result.outcome = VerifyOutcome::kWrong;
          return {};
        }
        result.outcome = VerifyOutcome::kRounding;
      }
      ++made;
    }
    return {};
  }

  // For each output of the reference, a run of the CPU.
  Result<std::vector<Evidence>> Collect(Execution& reference, const std::vector<Tensor>& given) {
    std::vector<Evidence> evidence(reference.plan().graph->outputs.size());
    if (std::optional<Graph> wide = WithFloat64(*reference.plan().graph)) {
      std::vector<Tensor> inputs;
      for (const Tensor& input : given) {
        DEPUTY_ASSIGN_OR_RETURN(Tensor exact, AsFloat64(input));
        inputs.push_back(std::move(exact));
      }
      Result<std::unique_ptr<Execution>> exact = ExecutionOnCpu(*std::move(wide));
      if (exact.ok() && RunWith(**exact, inputs, token_).ok()) {
        DEPUTY_ASSIGN_OR_RETURN(std::vector<Tensor> results, OutputsOf(**exact));
        for (size_t i = 0; i < evidence.size(); ++i) evidence[i].exact = std::move(results[i]);
      }
    }
    for (uint64_t seed = 1; seed <= kDisturbances; ++seed) {
      std::vector<Tensor> inputs;
      for (size_t i = 0; i < given.size(); ++i) {
        DEPUTY_ASSIGN_OR_RETURN(Tensor disturbed, Disturbed(given[i], seed * 1000 + i));
        inputs.push_back(std::move(disturbed));
      }
      const Result<std::unique_ptr<Execution>> made =
          ExecutionOnCpu(WithDisturbedConstants(*reference.plan().graph, seed * 1000));
      Execution& disturbed = made.ok() && RunWith(**made, inputs, token_).ok() ? **made : reference;
      if (&disturbed == &reference && !RunWith(reference, inputs, token_).ok()) continue;
      DEPUTY_ASSIGN_OR_RETURN(std::vector<Tensor> results, OutputsOf(disturbed));
      for (size_t i = 0; i < evidence.size(); ++i) evidence[i].disturbed.push_back(std::move(results[i]));
    }
    const Result<std::vector<std::vector<Tensor>>> rounded = RunsRoundedDifferently(
        *reference.plan().graph, given, kRoundings, [&](Graph part) { return ExecutionOnCpu(std::move(part)); },
        token_);
    if (rounded.ok())
      for (const std::vector<Tensor>& results : *rounded)
        for (size_t i = 0; i < evidence.size(); ++i) evidence[i].disturbed.push_back(results[i]);
    return evidence;
  }

  // Without memory for all values of the partition the search finds nothing.
  void SearchNodes(Verification& result) {
    if (!ComputeValues().ok()) return;
    std::vector<uint32_t> operators;
    std::map<std::string, uint32_t> numbers;
    for (const NodeId node : placed_.spec.nodes) {
      const Primitive& primitive = graph_.nodes[node].primitive;
      const auto number = static_cast<uint32_t>(numbers.size());
      operators.push_back(
          numbers.try_emplace(std::string(primitive.domain()) + ":" + std::string(primitive.op_type()), number)
              .first->second);
    }
    result.wrong_nodes = FindWrongNodes(
        operators, [&](std::span<const uint32_t> positions) { return !token_.Due() && PartDiffers(positions); });
    if (!result.wrong_nodes.groups.empty() && RestDiffers(result.wrong_nodes)) result.wrong_nodes = {};
  }

  // Whether the results are wrong where the wrong nodes run on the CPU and the delegate computes their inputs: each
  // node may be right by itself, as one that loses small numbers is, and a later one may need what it has lost.
  bool RestDiffers(const WrongNodes& wrong) {
    std::vector<uint32_t> all(placed_.spec.nodes.size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<NodeId> refused;  // a node of the part has its position as number
    for (const std::vector<uint32_t>& group : wrong.groups) refused.insert(refused.end(), group.begin(), group.end());
    return !token_.Due() && PartDiffers(all, refused);
  }

  // Parts that show no difference when they run again are left out.
  Status KeepParts(Verification& result) {
    for (const std::vector<uint32_t>& group : result.wrong_nodes.groups)
      if (PartDiffers(group)) result.parts.push_back(std::move(*differing_));
    if (!result.parts.empty()) return {};
    const PartitionSpec& spec = placed_.spec;
    WrongPart& whole = result.parts.emplace_back();
    whole.graph = Subgraph(graph_, spec.nodes, spec.inputs, spec.outputs);
    whole.inputs = inputs_;
    whole.expected = result.expected;
    for (const deputy_tensor* output : run_.outputs) {
      if (output == nullptr) continue;
      DEPUTY_ASSIGN_OR_RETURN(Tensor actual, CopyOf(*output));
      whole.actual.push_back(std::move(actual));
    }
    return {};
  }

  // All values that the nodes make, by the reference.
  Status ComputeValues() {
    std::vector<ValueId> made;
    for (const NodeId node : placed_.spec.nodes)
      for (const ValueId id : graph_.nodes[node].outputs)
        if (id != kNone) made.push_back(id);
    DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<Execution> execution,
                            ExecutionOnCpu(Subgraph(graph_, placed_.spec.nodes, placed_.spec.inputs, made)));
    DEPUTY_RETURN_IF_ERROR(RunWith(*execution, inputs_, token_));
    DEPUTY_ASSIGN_OR_RETURN(std::vector<Tensor> results, OutputsOf(*execution));
    for (size_t i = 0; i < made.size(); ++i) values_[made[i]] = std::move(results[i]);
    size_t given = 0;
    for (const ValueId id : placed_.spec.inputs)
      if (id != kNone) values_[id] = inputs_[given++];
    return {};
  }

  // Whether the delegate computes these nodes wrongly. False also where it cannot run them by themselves.
  bool PartDiffers(std::span<const uint32_t> positions, std::span<const NodeId> refused = {}) {
    std::vector<NodeId> nodes;
    std::set<NodeId> inside;
    for (const uint32_t position : positions) {
      nodes.push_back(placed_.spec.nodes[position]);
      inside.insert(nodes.back());
    }
    std::vector<ValueId> inputs, outputs;
    std::set<ValueId> made, read;
    for (const NodeId node : nodes) {
      graph_.nodes[node].ForEachRead([&](ValueId id) {
        if (!graph_.values[id].is_constant() && made.count(id) == 0 && read.insert(id).second) inputs.push_back(id);
      });
      for (const ValueId id : graph_.nodes[node].outputs)
        if (id != kNone) made.insert(id);
    }
    std::set<ValueId> wanted(placed_.spec.outputs.begin(), placed_.spec.outputs.end());
    for (const NodeId node : placed_.spec.nodes)
      if (inside.count(node) == 0) graph_.nodes[node].ForEachRead([&](ValueId id) { wanted.insert(id); });
    for (const ValueId id : made)
      if (wanted.count(id) != 0) outputs.push_back(id);
    if (outputs.empty()) return false;
    return Differ(Subgraph(graph_, nodes, inputs, outputs), inputs, outputs, refused);
  }

  bool Differ(Graph part, const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs,
              std::span<const NodeId> refused) {
    const auto executions = ExecutionsOf<kContextsOfPart>(part, placed_.delegate, refused);
    if (!executions.ok()) return false;
    const std::vector<PlacedPartition>& partitions = (*executions)[0]->plan().placement.partitions;
    if (std::none_of(partitions.begin(), partitions.end(),
                     [&](const PlacedPartition& placed) { return placed.delegate == placed_.delegate; }))
      return false;
    std::vector<Tensor> given;
    for (const ValueId id : inputs) given.push_back(values_.at(id));
    std::vector<Evidence> evidence;  // collected when first needed
    for (int run = 0; run < kRunsOfPart; ++run)
      for (const std::unique_ptr<Execution>& execution : *executions) {
        if (!RunWith(*execution, given, token_).ok()) return false;
        for (size_t i = 0; i < outputs.size(); ++i) {
          const Result<Tensor> got = ViewOf(execution->tensor(execution->plan().graph->outputs[i]));
          const Tensor& expected = values_.at(outputs[i]);
          const Tolerance tolerance = ToleranceOf(expected.dtype());
          if (got.ok() && CompareTensors(*got, expected, tolerance).ok) continue;
          if (evidence.empty()) evidence = EvidenceFor(part, given);
          if (got.ok() && i < evidence.size() && IsNoise(*got, expected, evidence[i], tolerance)) continue;
          if (with_parts_) Keep(std::move(part), given, outputs, *execution);
          return true;
        }
      }
    return false;
  }

  void Keep(Graph part, std::vector<Tensor> inputs, const std::vector<ValueId>& outputs, const Execution& execution) {
    differing_ = WrongPart{std::move(part), std::move(inputs), {}, {}};
    for (const ValueId id : outputs) differing_->expected.push_back(values_.at(id));
    if (Result<std::vector<Tensor>> actual = OutputsOf(execution); actual.ok())
      differing_->actual = std::move(actual).value();
  }

  // Empty where there is none.
  std::vector<Evidence> EvidenceFor(Graph part, const std::vector<Tensor>& given) {
    const Result<std::unique_ptr<Execution>> reference = ExecutionOnCpu(std::move(part));
    if (!reference.ok()) return {};
    Result<std::vector<Evidence>> evidence = Collect(**reference, given);
    return evidence.ok() ? std::move(evidence).value() : std::vector<Evidence>();
  }

  const Delegates delegates_;
  Mutex& model_mutex_;
  const StepRun& run_;
  const Graph& graph_;
  const PlacedPartition& placed_;
  const ToleranceSettings& settings_;
  const CancellationToken token_;
  const bool with_parts_;
  const ModelTraits traits_;
  std::vector<Tensor> inputs_;  // in the order of the step, without those that are left out
  std::map<ValueId, Tensor> values_;
  std::optional<WrongPart> differing_;  // the last part that differed, with parts
};

std::string_view NameOf(VerifyOutcome outcome) {
  switch (outcome) {
    case VerifyOutcome::kRight: return "right";
    case VerifyOutcome::kRounding: return "rounding errors";
    case VerifyOutcome::kWrong: return "wrong";
    case VerifyOutcome::kNotVerifiable: return "not verifiable";
  }
  return "";
}

Result<Tensor> ViewOf(const deputy_tensor& tensor) {
  return Tensor::Wrap(static_cast<DType>(tensor.dtype), Shape(tensor.dims, tensor.dims + tensor.rank), tensor.data,
                      tensor.byte_size);
}

Status TakeExpected(const StepRun& run, const Verification& found) {
  size_t made = 0;
  for (deputy_tensor* target : run.outputs) {
    if (target == nullptr) continue;
    const Tensor& expected = found.expected[made++];
    DEPUTY_RETURN_IF_ERROR(run.allocator.Allocate(target, expected.shape()));
    if (expected.byte_size() != 0) std::memcpy(target->data, expected.data(), expected.byte_size());
  }
  return {};
}

// Without the memory that a verification needs, a model still runs.
Result<Verification> Verifier::Verify(const StepRun& run, const ToleranceSettings& tolerance,
                                      const CancellationToken& token, bool with_parts) {
  Result<Verification> found = StepVerification(*this, run, tolerance, token, with_parts).Run();
  if (found.ok() || found.status().code() != StatusCode::kResourceExhausted) return found;
  Verification none;
  none.outcome = VerifyOutcome::kNotVerifiable;
  none.text = found.status().ToString();
  return none;
}

}  // namespace deputy::host
