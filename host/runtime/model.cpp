// deputy::Model: from a file or memory to a state that sessions share.
#include "deputy/model.hpp"

#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "format/model_file.hpp"
#include "graph/inference.hpp"
#include "runtime/context_state.hpp"
#include "runtime/model_state.hpp"
#include "runtime/read_model.hpp"

namespace deputy::host {

std::vector<TensorInfo> DescribeValues(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (const ValueId id : ids) {
    const Value& value = graph.values[id];
    TensorInfo info{value.name, value.type.dtype, value.type.ranked, {}, {}};
    for (const int64_t dim : value.type.dims) {
      info.shape.push_back(dim < 0 ? -1 : dim);
      info.dims.push_back(dim >= 0                                                   ? std::to_string(dim)
                          : IsSymbol(dim) && SymbolIndex(dim) < graph.symbols.size() ? graph.symbols[SymbolIndex(dim)]
                                                                                     : "?");
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace deputy::host

namespace deputy {

using host::Error;
using host::Graph;

namespace {

// Types of all values as far as the model alone tells them: for the outputs that a caller may list before running.
Status DescribeModel(Model::State& state) {
  Graph typed = *state.graph;
  DEPUTY_RETURN_IF_ERROR(InferGraph(typed, {}));
  state.inputs = host::DescribeValues(*state.graph, state.graph->inputs);
  state.outputs = host::DescribeValues(typed, typed.outputs);
  return {};
}

Result<std::shared_ptr<Model::State>> MakeState(const host::ImportSource& source, ModelType type, std::string name,
                                                std::shared_ptr<host::Engine> engine) {
  auto state = std::make_shared<Model::State>();
  state->name = std::move(name);
  state->engine = std::move(engine);
  DEPUTY_ASSIGN_OR_RETURN(host::ReadGraph read, host::ReadAnyModel(source, type, state->name));
  state->graph = std::make_shared<const Graph>(std::move(read.graph));
  Status status = DescribeModel(*state);
  if (!status.ok()) return std::move(status).At(state->name);
  if (state->has_static_inputs()) {
    Result<std::shared_ptr<const host::Plan>> plan = state->PlanFor(state->static_shapes());
    if (!plan.ok()) return std::move(plan).status();
  }
  return state;
}

}  // namespace

Model::Model() = default;
Model::~Model() = default;
Model::Model(const Model&) = default;
Model& Model::operator=(const Model&) = default;

Status Model::Build(const std::string& path, const Context& context) {
  Context opened(context);
  DEPUTY_RETURN_IF_ERROR(opened.Load());
  context.state_->engine = opened.state_->engine;
  const std::string name = std::filesystem::path(path).filename().string();
  Result<std::shared_ptr<const host::MappedFile>> file = host::MappedFile::Open(path);
  if (!file.ok()) return std::move(file).status().WithCode(StatusCode::kModel);
  DEPUTY_ASSIGN_OR_RETURN(state_,
                          MakeState({(*file)->bytes(), *file, path}, ModelType::kAuto, path, opened.state_->engine));
  state_->name = name;
  return {};
}

Status Model::Build(const void* data, size_t size, ModelType type, const Context& context) {
  Context opened(context);
  DEPUTY_RETURN_IF_ERROR(opened.Load());
  context.state_->engine = opened.state_->engine;
  if (data == nullptr && size != 0) return Error(StatusCode::kInvalidArgument, "no model data");
  DEPUTY_ASSIGN_OR_RETURN(state_, MakeState({{static_cast<const uint8_t*>(data), size}, nullptr, {}}, type, "model",
                                            opened.state_->engine));
  return {};
}

const std::vector<TensorInfo>& Model::inputs() const {
  static const std::vector<TensorInfo> none;
  return state_ == nullptr ? none : state_->inputs;
}

const std::vector<TensorInfo>& Model::outputs() const {
  static const std::vector<TensorInfo> none;
  return state_ == nullptr ? none : state_->outputs;
}

const std::vector<std::pair<std::string, std::string>>& Model::metadata() const {
  static const std::vector<std::pair<std::string, std::string>> none;
  return state_ == nullptr ? none : state_->graph->metadata;
}

Result<PlacementReport> Model::Placement() const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  if (!state_->has_static_inputs())
    return Error(StatusCode::kInvalidArgument, "the model's inputs have extents of their own choosing")
        .At(state_->name)
        .Advise("name the shapes");
  return Placement(state_->static_shapes());
}

Result<PlacementReport> Model::Placement(const std::vector<Shape>& shapes) const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const host::Plan> plan, state_->PlanFor(shapes));
  return host::MakeReport(*plan, *state_->engine);
}

Status Model::Save(const std::string& path) const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  return host::WriteModelFile(*state_->graph, path);
}

}  // namespace deputy
