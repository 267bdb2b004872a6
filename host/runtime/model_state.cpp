#include "runtime/model_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/inference.hpp"
#include "graph/passes/passes.hpp"

namespace deputy {

using host::Error;
using host::IsSymbol;

namespace {

constexpr size_t kShapesShown = 4;

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

// ", for [1,3,240,320]"; empty for a model that fixes its shapes.
std::string Model::State::ForShapes(std::span<const Shape> shapes) const {
  if (has_static_inputs()) return {};
  std::string text;
  for (size_t i = 0; i < std::min(shapes.size(), kShapesShown); ++i)
    text += (i == 0 ? ", for " : ", ") + host::ShapeToString(shapes[i]);
  return shapes.size() <= kShapesShown ? text : fmt::format("{} and {} more", text, shapes.size() - kShapesShown);
}

Status Model::State::Prepare(host::Graph imported, const host::Engine& engine) {
  const bool is_static = HasStaticInputs(imported);
  host::Graph passed = is_static ? std::move(imported) : imported;
  engine.Report({ProgressStage::kPasses, {}, name, 0, 0, passed.nodes.size()});
  Status status = RunPasses(passed, engine.passes);
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

std::shared_ptr<host::ModelPlans> Model::State::Use(std::shared_ptr<host::ModelPlans> next) {
  const host::MutexLock lock(mutex_);
  timeout_ = std::chrono::nanoseconds(next->engine->limits.timeout_ns);
  current_.store(next.get(), std::memory_order_release);
  return std::exchange(plans_, std::move(next));
}

std::vector<std::shared_ptr<void>> Model::State::LetGo() const {
  const host::MutexLock lock(mutex_);
  std::vector<std::shared_ptr<void>> former;
  for (host::PlansUser* user : users_)
    if (std::shared_ptr<void> held = user->LetGo(); held != nullptr) former.push_back(std::move(held));
  return former;
}

void Model::State::Add(host::PlansUser& user) {
  const host::MutexLock lock(mutex_);
  users_.push_back(&user);
}

void Model::State::Remove(host::PlansUser& user) {
  const host::MutexLock lock(mutex_);
  std::erase(users_, &user);
}

}  // namespace deputy
