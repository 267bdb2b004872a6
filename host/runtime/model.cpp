// deputy::Model: from a file or memory to a state that sessions share.
#include "deputy/model.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/process_fork.hpp"
#include "format/model_file.hpp"
#include "plan/partition_key.hpp"
#include "runtime/context_state.hpp"
#include "runtime/extra_outputs.hpp"
#include "runtime/identity.hpp"
#include "runtime/model_state.hpp"
#include "runtime/node_globs.hpp"
#include "runtime/read_model.hpp"

namespace deputy::host {

std::vector<TensorInfo> DescribeValues(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<TensorInfo> infos;
  for (const ValueId id : ids) {
    const Value& value = graph.values[id];
    TensorInfo info{value.name, value.type.dtype, value.type.ranked, {}, {}, value.type.kind};
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

host::ImportSource SourceOf(const Model::State& state, const host::Engine& engine) {
  return {state.file->bytes(), state.file, state.path, {}, engine.file_access, state.given_inputs};
}

// An error of the graph, if extents of its inputs were changed: the caller's shapes do not fit it.
Status OfExtents(Status status, const std::string& changed) {
  if (changed.empty() || status.code() != StatusCode::kModel) return status;
  return std::move(status)
      .WithCode(StatusCode::kInvalidArgument)
      .Advise(changed + "; this node does not fit other extents: export the model with these, or with dynamic ones");
}

// Decisions about a model belong to its extents; what is known about its graph depends on its outputs, and on the
// constants that are inputs.
host::Digest WithOptions(const host::Digest& model, const Model::State& state, const std::string& changed) {
  host::Digest digest = model;
  host::Digester digester;
  if (!changed.empty()) {
    digester.Add(digest);
    for (const auto& [name, shape] : state.input_shapes) {
      digester.AddText(name).AddNumber(shape.size());
      for (const int64_t extent : shape) digester.AddNumber(static_cast<uint64_t>(extent));
    }
    digest = std::exchange(digester, {}).Finish();
  }
  if (!state.extra_outputs.empty()) {
    digester.Add(digest).AddNumber(state.extra_outputs.size());
    for (const std::string& name : state.extra_outputs) digester.AddText(name);
    digest = std::exchange(digester, {}).Finish();
  }
  if (state.given_inputs.empty()) return digest;
  digester.Add(digest).AddText("given inputs").AddNumber(state.given_inputs.size());
  for (const std::string& name : state.given_inputs) digester.AddText(name);
  return digester.Finish();
}

// Of the imported graph's files, read once. Copies are read for it, as their files may be others by now.
std::function<host::Digest(const host::Engine&)> DigestOf(const host::ImportSource& source, const Graph& graph,
                                                          const host::MappedBytes& own, const Model::State& state,
                                                          const std::string& changed) {
  std::vector<std::string> paths = {source.path.string()};
  paths.insert(paths.end(), graph.external_files.begin(), graph.external_files.end());
  std::vector<host::MappedBytes> contents = graph.mapped;
  contents.insert(contents.begin(), own);
  return [paths = std::move(paths), contents = std::move(contents), &state, changed,
          known = std::optional<host::Digest>()](const host::Engine& engine) mutable {
    if (!known) {
      host::Store* const store = engine.file_access == host::FileAccess::kMapped ? engine.store.get() : nullptr;
      known = WithOptions(host::ModelDigest(paths, contents, store), state, changed);
    }
    return *known;
  };
}

Status CheckGiven(const Graph& graph, const std::vector<std::string>& given) {
  for (const std::string& name : given)
    if (std::find(graph.inputs_with_default.begin(), graph.inputs_with_default.end(), name) ==
        graph.inputs_with_default.end())
      return Error(StatusCode::kInvalidArgument, "the model has no input '{}' with a default value",
                   host::Printable(name));
  return {};
}

// A warning for each output whose element type is not the one that the file states.
void ReportOtherTypes(const Model::State& state, std::span<const DType> stated) {
  for (size_t i = 0; i < stated.size() && i < state.outputs.size(); ++i) {
    const TensorInfo& output = state.outputs[i];
    if (stated[i] == DType::kUndefined || output.dtype == DType::kUndefined || stated[i] == output.dtype) continue;
    host::Log(host::LogLevel::kWarning, "{}: output '{}' is {} in the file, but its node makes {}", state.log_name(),
              host::Printable(output.name), NameOf(stated[i]), NameOf(output.dtype));
  }
}

// Everything up to the plan, when the model fixes its shapes. `state` has a name and perhaps a file.
Status Load(Model::State& state, const std::shared_ptr<host::Engine>& engine, const host::ImportSource& source,
            ModelType type) {
  engine->Report({ProgressStage::kImport, {}, state.name});
  DEPUTY_ASSIGN_OR_RETURN(host::ReadGraph read, host::ReadAnyModel(source, type, state.name, state.input_shapes));
  for (const std::string& warning : read.graph.warnings)
    host::Log(host::LogLevel::kWarning, "{}: {}", state.log_name(), warning);
  DEPUTY_RETURN_IF_ERROR(CheckGiven(read.graph, state.given_inputs).At(state.name));
  state.inputs_with_default = read.graph.inputs_with_default;
  const std::string changed = std::move(read.changed_extents);
  if (state.file == nullptr) state.original = std::make_shared<const Graph>(read.graph);
  // The bytes of a model from memory may be gone when its digest is needed.
  state.identity = std::make_shared<const host::ModelIdentity>(
      state.log_name(), [file = state.file, original = state.original]() -> host::Digest {
        if (file == nullptr) return host::GraphKey(*original);
        return host::Digester().AddText("deputy model").Add(file->bytes()).Finish();
      });
  const host::ModelScope working(state.identity);
  host::MappedBytes own{source.bytes, source.keep};
  if (state.file != nullptr) own.descriptor = state.file->descriptor();
  state.digest = DigestOf(source, read.graph, own, state, changed);
  if (state.file != nullptr) read.graph.mapped.push_back(std::move(own));
  DEPUTY_RETURN_IF_ERROR(AddOutputs(read.graph, state.extra_outputs).At(state.name));
  const std::vector<DType> stated = read.graph.stated_outputs;
  std::vector<std::string> imported_names;
  if (!engine->node_globs.empty()) imported_names = host::NamesOfNodes(read.graph, false);
  DEPUTY_RETURN_IF_ERROR(OfExtents(state.Prepare(std::move(read.graph), *engine), changed));
  ReportOtherTypes(state, stated);
  const auto plans = std::make_shared<host::ModelPlans>(state, engine, std::move(imported_names));
  // The bytes of a model from memory may be gone when a reload asks.
  if (state.file == nullptr)
    state.digest = [known = plans->fallback->digest(), &state, changed](const host::Engine&) {
      return known ? *known : WithOptions(host::GraphKey(*state.original), state, changed);
    };
  // Weights have been read by now, to be folded, and will be read again to be packed: not all of them at once.
  state.graph->DropPages();
  if (state.has_static_inputs())
    DEPUTY_RETURN_IF_ERROR(OfExtents(plans->PlanFor(state.static_shapes()).status(), changed));
  state.graph->DropPages();
  state.Use(plans);
  return {};
}

// The model follows reloads of its context from now on, and one that happened meanwhile.
Status Follow(const std::shared_ptr<Model::State>& state, std::shared_ptr<host::InForce> in_force) {
  state->in_force = std::move(in_force);
  while (!state->in_force->Add(state)) {
    DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<host::ModelPlans> plans,
                            host::ModelPlans::Make(*state, state->in_force->engine(), {}));
    state->Use(std::move(plans));
  }
  return {};
}

}  // namespace

Model::Model() = default;
Model::~Model() { host::KeepInForkedChild(state_); }
Model::Model(const Model&) = default;
Model& Model::operator=(const Model&) = default;

Status Model::Build(const std::string& path, const Context& context, const BuildOptions& options) {
  if (context.state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the context was moved from");
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<host::Engine> engine, context.state_->Open());
  Result<std::shared_ptr<const host::MappedFile>> file = host::MappedFile::Open(path, engine->file_access);
  if (!file.ok()) return std::move(file).status().WithCode(StatusCode::kModel);
  auto state = std::make_shared<State>();
  state->name = path;
  state->file = std::move(file).value();
  state->path = path;
  state->input_shapes = options.input_shapes;
  state->extra_outputs = options.extra_outputs;
  state->given_inputs = options.given_inputs;
  DEPUTY_RETURN_IF_ERROR(Load(*state, engine, SourceOf(*state, *engine), ModelType::kAuto));
  state->name = state->path.filename().string();
  state->path = std::filesystem::absolute(state->path);  // the working directory may change
  DEPUTY_RETURN_IF_ERROR(Follow(state, context.state_->in_force()));
  state_ = std::move(state);
  return {};
}

Status Model::Build(const void* data, size_t size, ModelType type, const Context& context,
                    const BuildOptions& options) {
  if (context.state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the context was moved from");
  DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<host::Engine> engine, context.state_->Open());
  if (data == nullptr && size != 0) return Error(StatusCode::kInvalidArgument, "the model data must not be null");
  auto state = std::make_shared<State>();
  state->name = "model";
  state->input_shapes = options.input_shapes;
  state->extra_outputs = options.extra_outputs;
  state->given_inputs = options.given_inputs;
  host::ImportSource source{{static_cast<const uint8_t*>(data), size}, nullptr, {}};
  source.given_inputs = options.given_inputs;
  DEPUTY_RETURN_IF_ERROR(Load(*state, engine, source, type));
  DEPUTY_RETURN_IF_ERROR(Follow(state, context.state_->in_force()));
  state_ = std::move(state);
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

const std::vector<std::string>& Model::inputs_with_default() const {
  static const std::vector<std::string> none;
  return state_ == nullptr ? none : state_->inputs_with_default;
}

bool Model::has_states() const { return state_ != nullptr && !state_->graph->initial_states.empty(); }

const std::vector<std::pair<std::string, std::string>>& Model::metadata() const {
  static const std::vector<std::pair<std::string, std::string>> none;
  return state_ == nullptr ? none : state_->graph->metadata;
}

Result<PlacementReport> Model::Placement() const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  if (!state_->has_static_inputs())
    return Error(StatusCode::kInvalidArgument, "the model has inputs with dynamic shapes")
        .At(state_->name)
        .Advise("call Placement with the shapes of all inputs");
  return Placement(state_->static_shapes());
}

Result<PlacementReport> Model::Placement(const std::vector<Shape>& shapes) const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  const std::shared_ptr<host::ModelPlans> plans = state_->plans();
  DEPUTY_ASSIGN_OR_RETURN(const host::ModelPlans::ShapedPlan planned, plans->PlanFor(shapes));
  return host::MakeReport(*planned.plan, *plans->engine);
}

Result<PlacedGraph> Model::PlacementWithGraph(const std::vector<Shape>& shapes) const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  const std::shared_ptr<host::ModelPlans> plans = state_->plans();
  DEPUTY_ASSIGN_OR_RETURN(const host::ModelPlans::ShapedPlan planned, plans->PlanFor(shapes));
  return host::MakeReportWithGraph(*planned.plan, *plans->engine);
}

HealthReport Model::Health() const { return state_ == nullptr ? HealthReport() : state_->in_force->Health(); }

Result<std::string> Model::MeasuredPlacements() const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  return state_->plans()->PlacementsText();
}

Status Model::Save(const std::string& path) const {
  if (state_ == nullptr) return Error(StatusCode::kFailedPrecondition, "the model is not built");
  if (state_->original != nullptr) return host::WriteModelFile(*state_->original, path);
  DEPUTY_ASSIGN_OR_RETURN(const host::ReadGraph original,
                          host::ReadAnyModel(SourceOf(*state_, *state_->plans()->engine), ModelType::kAuto,
                                             state_->name, state_->input_shapes));
  return host::WriteModelFile(original.graph, path);
}

}  // namespace deputy
