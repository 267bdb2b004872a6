// Model::Verify: each delegate runs what it supports of the model, and every partition is compared with the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "deputy/model.hpp"
#include "deputy/output_file.hpp"
#include "deputy/tensor_file.hpp"
#include "graph/graph.hpp"
#include "measure/decision.hpp"
#include "plan/make_plan.hpp"
#include "runtime/held_states.hpp"
#include "runtime/importers.hpp"
#include "runtime/model_state.hpp"
#include "runtime/tensor_binding.hpp"
#include "verify/verifier.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

VerificationResult ResultOf(VerifyOutcome outcome) {
  switch (outcome) {
    case VerifyOutcome::kRight: return VerificationResult::kRight;
    case VerifyOutcome::kRounding: return VerificationResult::kRounding;
    case VerifyOutcome::kWrong: return VerificationResult::kWrong;
    case VerifyOutcome::kNotVerifiable: break;
  }
  return VerificationResult::kNotVerified;
}

// Verifies every run of a step, collects the results, and gives the steps behind it the expected values.
class Collector final : public StepFallback {
 public:
  Collector(Engine& engine, Mutex& model_mutex, const VerifyOptions& options)
      : engine_(engine), model_mutex_(model_mutex), options_(options) {}

  Result<std::unique_ptr<Execution>> CreateAlternative(const Plan&, const Step&, const Status& why,
                                                       const ExecutionMemory&) override {
    return why.ok() ? Status(StatusCode::kUnavailable, "the device is not available") : why;
  }
  void Report(const Plan&, const Step&, const StepFailure&, const Status&) override {}

  Status Verify(const StepRun& run, const CancellationToken& token) override {
    const PlacedPartition& placed = run.plan.placement.partitions[run.step.partition];
    engine_.Report({ProgressStage::kVerification, run.plan.delegate_names[placed.delegate], placed.spec.name, 0, 0,
                    placed.spec.nodes.size()});
    DEPUTY_ASSIGN_OR_RETURN(const Verification found,
                            Verifier(engine_.delegates, model_mutex_)
                                .Verify(run, ToleranceOf(placed.delegate), token, !options_.folder.empty()));
    PartitionVerification report;
    report.delegate = run.plan.delegate_names[placed.delegate];
    report.plugin = engine_.delegates[placed.delegate].plugin_file;
    report.partition = placed.spec.name;
    for (const NodeId node : placed.spec.nodes) {
      report.nodes.push_back(NodeName(*run.plan.graph, node));
      report.op_types.emplace_back(run.plan.graph->nodes[node].primitive.op_type());
    }
    report.result = ResultOf(found.outcome);
    report.max_difference = found.max_difference;
    report.detail = found.text;
    for (const std::vector<uint32_t>& group : found.wrong_nodes.groups) {
      report.wrong_nodes.emplace_back();
      for (const uint32_t position : group) report.wrong_nodes.back().push_back(report.nodes[position]);
    }
    if (found.outcome == VerifyOutcome::kWrong) {
      for (const WrongPart& part : found.parts) {
        DEPUTY_ASSIGN_OR_RETURN(std::string folder, WriteCase(part, report.partition, report.case_folders.size()));
        report.case_folders.push_back(std::move(folder));
      }
      DEPUTY_RETURN_IF_ERROR(TakeExpected(run, found));
    }
    reports_.push_back(std::move(report));
    return {};
  }

  std::vector<PartitionVerification> Take() { return std::move(reports_); }

 private:
  // The tolerances of the configuration, where none are given.
  ToleranceSettings ToleranceOf(size_t delegate) const {
    ToleranceSettings tolerance = engine_.delegates[delegate].tolerances;
    const ToleranceSettings& given = options_.tolerance;
    if (given.rtol) tolerance.rtol = given.rtol;
    if (given.atol) tolerance.atol = given.atol;
    if (given.atol_scale) tolerance.atol_scale = given.atol_scale;
    if (given.outliers) tolerance.outliers = given.outliers;
    return tolerance;
  }

  // "npu0/1" becomes the folders npu0_1, npu0_1_1 and so on.
  Result<std::string> WriteCase(const WrongPart& part, const std::string& partition, size_t number) const {
    std::string name = partition;
    std::replace(name.begin(), name.end(), '/', '_');
    if (number != 0) name += fmt::format("_{}", number);
    const fs::path folder = fs::path(options_.folder) / name, data = folder / "test_data_set_0";
    std::error_code failed;
    fs::create_directories(data, failed);
    if (failed) return Error(StatusCode::kUnavailable, "{}: cannot be made: {}", data.string(), failed.message());
    DEPUTY_ASSIGN_OR_RETURN(const Importer* onnx, OpenImporter("onnx"));
    DEPUTY_ASSIGN_OR_RETURN(const std::string model, onnx->Export(part.graph));
    DEPUTY_RETURN_IF_ERROR(WriteOutputFile((folder / "model.onnx").string(), model));
    const auto write = [&](const char* kind, const std::vector<ValueId>& ids,
                           const std::vector<Tensor>& tensors) -> Status {
      for (size_t i = 0; i < tensors.size(); ++i) {
        DEPUTY_ASSIGN_OR_RETURN(const std::string bytes,
                                onnx->ExportTensor(tensors[i], part.graph.values[ids[i]].name));
        DEPUTY_RETURN_IF_ERROR(WriteOutputFile((data / fmt::format("{}_{}.pb", kind, i)).string(), bytes));
        DEPUTY_RETURN_IF_ERROR(WriteTensorFile((folder / fmt::format("{}_{}.npy", kind, i)).string(), tensors[i]));
      }
      return {};
    };
    DEPUTY_RETURN_IF_ERROR(write("input", part.graph.captured, part.inputs));
    DEPUTY_RETURN_IF_ERROR(write("output", part.graph.outputs, part.expected));
    for (size_t i = 0; i < part.actual.size(); ++i)
      DEPUTY_RETURN_IF_ERROR(WriteTensorFile((folder / fmt::format("actual_{}.npy", i)).string(), part.actual[i]));
    return folder.string();
  }

  Engine& engine_;
  Mutex& model_mutex_;
  const VerifyOptions& options_;
  std::vector<PartitionVerification> reports_;
};

// The model with this delegate and the CPU alone.
Result<std::shared_ptr<const Plan>> PlanWith(size_t delegate, const std::shared_ptr<const Graph>& graph, Engine& engine,
                                             const std::string& name) {
  PlacementOptions options = engine.placement;
  options.policy = std::make_shared<PriorityPolicy>();
  options.cpu_fallback = true;
  for (size_t d = 0; d < CpuOf(engine.delegates); ++d) {
    if (d == delegate || engine.delegates[d]->traits().runs_custom_operators_only) continue;
    ForEachNode(*graph, [&](const Graph& where, NodeId id, uint32_t) {
      options.refused[{&where, d, id}] = {Reason::kDeniedByRule, "another delegate is verified"};
    });
    std::erase_if(options.rules, [&](const NodeRule& rule) { return rule.to == engine.delegates[d]->name(); });
  }
  RunHandling handling;
  handling.falls_back = false;
  handling.every = 1;
  std::vector<HostedDelegate> verified = engine.delegates;
  for (HostedDelegate& hosted : verified) hosted.health = nullptr;
  verified[delegate].health = std::make_shared<DelegateHealth>(handling);
  return MakePlan(graph, verified, std::move(options),
                  {engine.store.get(), nullptr, {}, CompileReporter(engine, name)});
}

}  // namespace
}  // namespace deputy::host

namespace deputy {

Result<std::vector<PartitionVerification>> Model::Verify(const std::vector<Tensor>& inputs,
                                                         const VerifyOptions& options) const {
  if (state_ == nullptr) return host::Error(StatusCode::kFailedPrecondition, "the model is not built");
  if (!state_->only_tensors)
    return host::Error(StatusCode::kFailedPrecondition, "the model has inputs or outputs that are not tensors")
        .At(state_->name);
  std::vector<Shape> shapes;
  std::vector<host::ValueView> views;
  std::vector<Tensor> aligned = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < state_->inputs.size()) DEPUTY_RETURN_IF_ERROR(CheckInput(*state_->graph, i, inputs[i]).At(state_->name));
    if (host::Misaligned(inputs[i])) {
      DEPUTY_ASSIGN_OR_RETURN(aligned[i], Tensor::Allocate(inputs[i].dtype(), inputs[i].shape()));
      std::memcpy(aligned[i].mutable_data(), inputs[i].data(), inputs[i].byte_size());
    }
    shapes.push_back(inputs[i].shape());
    views.push_back({&aligned[i], nullptr});
  }
  const host::ModelScope working(state_->identity);
  const std::shared_ptr<host::ModelPlans> plans = state_->plans();
  DEPUTY_ASSIGN_OR_RETURN(const host::ModelPlans::ShapedPlan planned, plans->PlanFor(shapes));
  const std::shared_ptr<const host::Graph> graph = planned.plan->graph;
  host::Engine& engine = *plans->engine;
  // The limits are those of a session, for each delegate anew.
  const host::SessionLimits& limits = engine.limits;
  host::Collector collector(engine, plans->fallback->mutex, options);
  for (size_t d = 0; d < host::CpuOf(engine.delegates); ++d) {
    if (engine.delegates[d]->traits().runs_custom_operators_only) continue;
    std::shared_ptr<host::MemoryBudget> budget;
    if (limits.memory_bytes != 0) budget = std::make_shared<host::MemoryBudget>(limits.memory_bytes);
    host::LoopSteps loop_steps{limits.loop_steps == 0 ? UINT64_MAX : limits.loop_steps};
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const host::Plan> plan, host::PlanWith(d, graph, engine, state_->name));
    DEPUTY_RETURN_IF_ERROR(host::TakeOutputs(*plan, budget.get()).At(state_->name));
    DEPUTY_ASSIGN_OR_RETURN(const std::unique_ptr<host::Execution> execution,
                            host::Execution::Create(std::move(plan), &collector, {nullptr, budget}));
    host::HeldStates states;
    DEPUTY_RETURN_IF_ERROR(states.Begin(*state_->graph));
    DEPUTY_RETURN_IF_ERROR(states.Attach(execution->plan()));
    host::OutputBinding binding;
    binding.Prepare(execution->plan());
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < inputs.size(); ++i) execution->Bind(graph->inputs[i], aligned[i].mutable_data());
    DEPUTY_RETURN_IF_ERROR(binding.Bind(views, outputs, *execution).At(state_->name));
    states.Bind(*execution);
    host::CancellationToken stop;
    stop.loop_steps = &loop_steps;
    if (limits.timeout_ns != 0) stop.deadline_ns = host::NowNs() + limits.timeout_ns;
    DEPUTY_RETURN_IF_ERROR(execution->Run(stop).At(state_->name));
  }
  return collector.Take();
}

}  // namespace deputy
