#include "runtime/model_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "graph/inference.hpp"
#include "graph/passes/passes.hpp"

namespace deputy {

using host::Error;
using host::IsSymbol;

namespace {

// Plans hold converted weights; a model that is run with ever new shapes must not collect plans without limit.
constexpr size_t kPlansKept = 8;

bool HasStaticInputs(const host::Graph& graph) {
  return std::all_of(graph.inputs.begin(), graph.inputs.end(), [&](host::ValueId id) {
    const host::ValueType& type = graph.values[id].type;
    return !type.is_tensor() || type.is_static();
  });
}

}  // namespace

bool Model::State::has_static_inputs() const { return HasStaticInputs(*graph); }

std::vector<Shape> Model::State::static_shapes() const {
  std::vector<Shape> shapes;
  for (const host::ValueId id : graph->caller_inputs()) {
    const host::ValueType& type = graph->values[id].type;
    shapes.push_back(type.is_tensor() ? type.dims : Shape());
  }
  return shapes;
}

Status Model::State::Prepare(host::Graph imported) {
  fallback = std::make_unique<host::ModelFallback>(name, engine);
  const bool is_static = HasStaticInputs(imported);
  host::Graph passed = is_static ? std::move(imported) : imported;
  Status status = RunPasses(passed, engine->passes);
  // Values that cannot be computed may be in a branch that is never taken: this depends on the shapes.
  if (!status.ok() && !is_static) {
    passed = std::move(imported);
    status = InferGraph(passed, {});
  }
  if (!status.ok()) return std::move(status).At(name);
  graph = std::make_shared<const host::Graph>(std::move(passed));
  inputs = host::DescribeValues(*graph, graph->caller_inputs());
  outputs = host::DescribeValues(*graph, graph->caller_outputs());
  const auto is_tensor = [](const TensorInfo& info) { return info.kind == ValueKind::kTensor; };
  only_tensors =
      std::all_of(inputs.begin(), inputs.end(), is_tensor) && std::all_of(outputs.begin(), outputs.end(), is_tensor);
  return {};
}

Status Model::State::CheckShapes(std::span<const Shape> shapes) const {
  const size_t count = graph->caller_inputs().size();
  if (shapes.size() != count)
    return Error(StatusCode::kInvalidArgument, "{} inputs given, the model has {}", shapes.size(), count).At(name);
  std::vector<int64_t> symbols(graph->symbols.size(), host::kUnknownDim);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const host::Value& input = graph->values[graph->inputs[i]];
    const auto refuse = [&](const std::string& why) {
      return Error(StatusCode::kInvalidArgument, "input '{}' is {}, the model takes {}{}", input.name,
                   host::ShapeToString(shapes[i]), Describe(*graph, input.type), why)
          .At(name);
    };
    if (!input.type.is_tensor() && !shapes[i].empty()) return refuse(" (which has no shape)");
    if (!input.type.is_tensor() || !input.type.ranked) continue;
    if (shapes[i].size() != input.type.dims.size()) return refuse(" (another rank)");
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const int64_t want = input.type.dims[axis], got = shapes[i][axis];
      if (got < 0) return refuse(" (an extent is negative)");
      if (want >= 0 && got != want) return refuse("");
      if (!IsSymbol(want)) continue;
      int64_t& known = symbols[host::SymbolIndex(want)];
      if (known >= 0 && known != got)
        return refuse(fmt::format(" ('{}' is {} elsewhere)", graph->symbols[host::SymbolIndex(want)], known));
      known = got;
    }
  }
  return {};
}

Result<std::shared_ptr<const host::Plan>> Model::State::MakePlanFor(std::span<const Shape> shapes) const {
  DEPUTY_RETURN_IF_ERROR(CheckShapes(shapes));
  std::shared_ptr<const host::Graph> shaped = graph;
  if (!has_static_inputs()) {
    auto special = std::make_shared<host::Graph>(*graph);
    for (size_t i = 0; i < shapes.size(); ++i) {
      host::ValueType& type = special->values[special->inputs[i]].type;
      if (!type.is_tensor()) continue;
      type.ranked = true;
      type.dims = shapes[i];
    }
    Status status = RunPasses(*special, engine->passes);
    if (!status.ok()) return std::move(status).At(name);
    shaped = std::move(special);
  }
  host::PlanSources sources = fallback->Sources();
  if (!plans_.empty()) sources.sibling = plans_.front().second.get();
  host::PlacementOptions options = engine->placement;
  if (fallback->Restrict(*shaped, options)) sources.sibling = nullptr;
  Result<std::shared_ptr<const host::Plan>> plan =
      MakePlan(std::move(shaped), engine->delegates, std::move(options), sources);
  if (!plan.ok()) return std::move(plan).status().At(name);
  host::Log(host::LogLevel::kInfo, "{}: {}", name, SummarizePlacement(**plan, engine->delegates));
  return plan;
}

Result<std::shared_ptr<const host::Plan>> Model::State::PlanFor(std::span<const Shape> shapes) {
  std::lock_guard lock(engine->load_mutex);
  for (auto it = plans_.begin(); it != plans_.end(); ++it)
    if (std::equal(shapes.begin(), shapes.end(), it->first.begin(), it->first.end())) {
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front().second;
    }
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const host::Plan> plan, MakePlanFor(shapes));
  plans_.emplace_front(std::vector<Shape>(shapes.begin(), shapes.end()), plan);
  if (plans_.size() > kPlansKept) plans_.pop_back();
  return plan;
}

}  // namespace deputy
