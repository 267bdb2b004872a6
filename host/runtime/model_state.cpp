#include "runtime/model_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/process_fork.hpp"
#include "graph/inference.hpp"
#include "graph/passes/passes.hpp"
#include "measure/search.hpp"
#include "plan/make_plan.hpp"
#include "runtime/kept_costs.hpp"
#include "runtime/node_globs.hpp"

namespace deputy {

using host::Error;
using host::IsSymbol;

namespace {

constexpr size_t kSummariesKept = 64;
constexpr size_t kShapesShown = 4;
// Times the budget of a search, the most that compiling its first candidates may take beside it.
constexpr uint64_t kFirstCompilations = 3;
// Between two looks at the load of the machine, for a decision that is not sure.
constexpr uint64_t kBetweenLooksNs = 5'000'000'000;
// Decisions are smaller, and the store has them as well.
constexpr size_t kDecisionsKept = 1024;

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

Status Model::State::Prepare(host::Graph imported) {
  fallback = std::make_unique<host::ModelFallback>(log_name(), engine);
  if (!engine->node_globs.empty()) {
    const host::MutexLock lock(fallback->mutex);
    imported_names_ = host::NamesOfNodes(imported, false);
  }
  const bool is_static = HasStaticInputs(imported);
  host::Graph passed = is_static ? std::move(imported) : imported;
  engine->Report({ProgressStage::kPasses, {}, name, 0, 0, passed.nodes.size()});
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

Result<Model::State::ShapedPlan> Model::State::MakePlanFor(std::span<const Shape> shapes) {
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
    engine->Report({ProgressStage::kPasses, {}, name, 0, 0, special->nodes.size()});
    Status status = RunPasses(*special, engine->passes);
    if (!status.ok()) return std::move(status).At(name);
    shaped = std::move(special);
  }
  host::PlanSources sources = fallback->Sources();
  if (!plans_.empty()) sources.sibling = plans_.front().plan.get();
  CheckNodeGlobs(*shaped);
  host::PlacementOptions options = engine->placement;
  if (fallback->Restrict(*shaped, options)) sources.sibling = nullptr;
  ShapedPlan made{{shapes.begin(), shapes.end()}, nullptr, nullptr, nullptr};
  std::string decided;
  if (engine->measure) {
    if (const std::optional<host::PlacementDecision> decision = FindDecision(*shaped, shapes)) {
      if (!decision->slower.empty()) sources.sibling = nullptr;
      Apply(*decision, *shaped, options);
      decided = fmt::format("; measured: {}{}", decision->summary, ForShapes(shapes));
      if (decision->is_provisional()) {
        made.measurement = std::make_shared<host::PlacementMeasurement>();
        made.measurement->provisional = true;
      }
    } else {
      made.measurement = std::make_shared<host::PlacementMeasurement>();
    }
  }
  engine->Report({ProgressStage::kPlacement, {}, name, 0, 0, shaped->nodes.size()});
  Result<std::shared_ptr<const host::Plan>> plan =
      MakePlan(std::move(shaped), engine->delegates, std::move(options), sources);
  if (!plan.ok()) return std::move(plan).status().At(name);
  made.plan = std::move(plan).value();
  if (engine->dump) {
    DEPUTY_ASSIGN_OR_RETURN(made.dump,
                            host::PlanDump::Write(*engine->dump, name, ++engine->plans_dumped, *made.plan, *engine));
  }
  // Once for all shapes that are placed alike: a model whose shapes change in every run would log in every run.
  std::string summary = SummarizePlacement(*made.plan, engine->delegates) + decided;
  const bool is_known = std::find(summaries_.begin(), summaries_.end(), summary) != summaries_.end();
  host::Log(is_known ? host::LogLevel::kDebug : host::LogLevel::kInfo, "{}: {}", log_name(), summary);
  if (!is_known && summaries_.size() < kSummariesKept) summaries_.push_back(std::move(summary));
  return made;
}

void Model::State::CheckNodeGlobs(const host::Graph& shaped) {
  if (std::exchange(globs_checked_, true) || engine->node_globs.empty()) return;
  const std::vector<std::string> imported = std::exchange(imported_names_, {});
  for (const host::Problem& problem :
       host::UnmatchedGlobs(engine->node_globs, log_name(), host::NamesOfNodes(shaped, true), imported))
    host::Log(host::LogLevel::kWarning, "{}", problem.ToString());
}

Model::State::ShapedPlan* Model::State::FindPlan(std::span<const Shape> shapes) {
  for (auto it = plans_.begin(); it != plans_.end(); ++it)
    if (std::equal(shapes.begin(), shapes.end(), it->shapes.begin(), it->shapes.end())) {
      plans_.splice(plans_.begin(), plans_, it);
      return &plans_.front();
    }
  return nullptr;
}

Result<Model::State::ShapedPlan> Model::State::PlanFor(std::span<const Shape> shapes) {
  const host::ModelScope working(identity);
  DEPUTY_RETURN_IF_ERROR(host::CheckNotForked());
  const host::MutexLock lock(fallback->mutex);
  if (const ShapedPlan* known = FindPlan(shapes)) return *known;
  DEPUTY_ASSIGN_OR_RETURN(ShapedPlan made, MakePlanFor(shapes));
  plans_.push_front(std::move(made));
  // Plans hold converted weights; a model that is run with ever new shapes must not collect them without limit.
  if (plans_.size() > engine->plans_kept) plans_.pop_back();
  return plans_.front();
}

std::optional<host::Digest> Model::State::DecisionKey(std::span<const Shape> shapes) const {
  const std::optional<host::Digest>& digest = fallback->digest();
  if (!engine->placement_digest || !digest) return std::nullopt;
  host::Digester digester;
  digester.Add(*engine->placement_digest).Add(*digest).AddNumber(shapes.size());
  for (const Shape& shape : shapes) {
    digester.AddNumber(shape.size());
    for (const int64_t extent : shape) digester.AddNumber(static_cast<uint64_t>(extent));
  }
  return digester.Finish();
}

std::optional<host::PlacementDecision> Model::State::FindDecision(const host::Graph& shaped,
                                                                  std::span<const Shape> shapes) {
  const std::vector<Shape> key(shapes.begin(), shapes.end());
  const uint32_t nodes = host::ForEachNode(shaped, [](const host::Graph&, host::NodeId, uint32_t) {});
  if (const auto known = decisions_.find(key); known != decisions_.end()) {
    const std::vector<host::SlowerNodes>& slower = known->second.slower;
    const auto beyond = std::find_if(slower.begin(), slower.end(),
                                     [&](const host::SlowerNodes& it) { return it.nodes.back() >= nodes; });
    if (beyond == slower.end()) return known->second;
    host::Log(host::LogLevel::kWarning,
              "{}: 'nodes' has the number {}, but the model has {} nodes, from 0 on; this placement is not used",
              beyond->place.empty() ? log_name() : beyond->place, beyond->nodes.back(), nodes);
  }
  const std::optional<host::Digest> stored = DecisionKey(shapes);
  if (!stored || engine->store == nullptr) return std::nullopt;
  const std::optional<host::StoredEntry> entry = engine->store->Find(host::EntryKind::kPlacement, *stored);
  if (!entry) return std::nullopt;
  std::optional<host::PlacementDecision> decision = host::ParseDecision(entry->bytes, engine->delegates.size(), nodes);
  if (decision) KeepDecision(key, *decision);
  return decision;
}

void Model::State::Measure(host::PlacementMeasurement& measurement, std::span<const Shape> shapes,
                           const host::Execution& sample, const host::CancellationToken& token) {
  if (measurement.provisional && !LooksQuiet(measurement)) return;
  host::SearchSettings settings{engine->measure->budget_ns, kFirstCompilations * engine->measure->budget_ns,
                                engine->measure->margin};
  if (token.deadline_ns != 0) {
    // A run that has no time left for a search leaves it to a later one.
    const uint64_t now = host::NowNs(), left = token.deadline_ns > now ? (token.deadline_ns - now) / 2 : 0;
    if (left < settings.budget_ns / 4) return;
    settings.budget_ns = std::min(settings.budget_ns, left);
    settings.first_compile_ns = std::min(settings.first_compile_ns, left - settings.budget_ns);
  }
  if (measurement.begun.exchange(true)) return;
  const std::vector<host::SlowerNodes> before = [&] {
    const host::MutexLock lock(fallback->mutex);
    return DecisionFor(shapes).value_or(host::PlacementDecision()).slower;
  }();
  const Result<host::SearchResult> found = Search(shapes, sample, settings, EarlierDecision::kMayBeMoreCertain, token);
  if (!found.ok()) {
    measurement.begun = false;  // it was cancelled
    return;
  }
  measurement.changed = found->decision.slower != before;
  if (!measurement.changed)
    host::Log(host::LogLevel::kInfo, "{}: measured: {}{}", log_name(), found->decision.summary, ForShapes(shapes));
  if (measurement.changed || !found->decision.is_provisional()) return;
  measurement.look_at_ns = host::NowNs() + kBetweenLooksNs;
  measurement.provisional = true;
  measurement.begun = false;
}

// Whether other processes have left the processors alone since the last look, or since this context was made.
bool Model::State::LooksQuiet(host::PlacementMeasurement& measurement) const {
  constexpr uint64_t kLooking = UINT64_MAX;  // no other session looks meanwhile
  uint64_t look_at = measurement.look_at_ns;
  if (host::NowNs() < look_at || !measurement.look_at_ns.compare_exchange_strong(look_at, kLooking)) return false;
  const std::optional<double> share =
      (measurement.since_look ? *measurement.since_look : engine->measure->load).ShareOfOthers();
  measurement.since_look.emplace();
  measurement.look_at_ns = host::NowNs() + kBetweenLooksNs;
  return !share || *share <= host::kMostDisturbance;
}

std::optional<host::PlacementDecision> Model::State::DecisionFor(std::span<const Shape> shapes) const {
  const auto known = decisions_.find({shapes.begin(), shapes.end()});
  return known == decisions_.end() ? std::nullopt : std::optional(known->second);
}

Result<host::SearchResult> Model::State::Search(std::span<const Shape> shapes, const host::Execution& sample,
                                                const host::SearchSettings& settings, EarlierDecision earlier,
                                                const host::CancellationToken& token) {
  const host::ModelScope working(identity);
  host::SearchSubject subject;
  subject.graph = sample.plan().graph;
  subject.delegates = engine->delegates;
  subject.options = engine->placement;
  subject.sources = fallback->Sources();
  subject.fallback = fallback.get();
  subject.arenas = engine->arenas.get();
  {
    const host::MutexLock lock(fallback->mutex);
    (void)fallback->Restrict(*subject.graph, subject.options);
  }
  // Candidates are compiled by the hundred: they alone are stages.
  subject.sources.progress = {};
  size_t number = 0;
  host::SearchSettings reported = settings;
  if (engine->progress)
    reported.progress = [&](const std::string& candidate, double used) {
      engine->Report({ProgressStage::kMeasurement, {}, candidate, ++number});
      if (settings.progress) settings.progress(candidate, used);
    };
  Result<host::SearchResult> searched = host::SearchPlacement(subject, sample, reported, token);
  graph->DropPages();  // of weights that delegates have packed and the CPU has read for candidates
  DEPUTY_ASSIGN_OR_RETURN(host::SearchResult found, std::move(searched));
  const host::MutexLock lock(fallback->mutex);
  const std::optional<host::PlacementDecision> before = DecisionFor(shapes);
  if (earlier == EarlierDecision::kMayBeMoreCertain)
    found.decision = host::MoreCertain(before, std::move(found.decision));
  KeepDecision({shapes.begin(), shapes.end()}, found.decision);
  if (const std::optional<host::Digest> key = DecisionKey(shapes); key && engine->store != nullptr)
    engine->store->Save(host::EntryKind::kPlacement, *key, found.decision.summary, BytesOf(found.decision));
  host::KeepCosts(found.costs, *engine);
  ShapedPlan* const known = FindPlan(shapes);
  if (known == nullptr) return found;
  if (known->measurement != nullptr && found.decision.slower == before.value_or(host::PlacementDecision()).slower) {
    if (!found.decision.is_provisional()) known->measurement = nullptr;  // the plan follows the decision already
    return found;
  }
  DEPUTY_ASSIGN_OR_RETURN(*known, MakePlanFor(shapes));
  if (known->measurement != nullptr) known->measurement->look_at_ns = host::NowNs() + kBetweenLooksNs;
  return found;
}

void Model::State::KeepDecision(const std::vector<Shape>& shapes, const host::PlacementDecision& decision) {
  if (decisions_.insert_or_assign(shapes, decision).second) decided_.push_back(shapes);
  if (decided_.size() <= kDecisionsKept) return;
  decisions_.erase(decided_.front());
  decided_.pop_front();
}

void Model::State::ReadPlacements() {
  const std::optional<host::Digest>& digest = fallback->digest();
  if (!digest || path.empty()) return;
  Result<host::Placements> read =
      host::ReadPlacementFile(host::PlacementFileOf(path), *digest, host::NamesOf(engine->delegates));
  if (read.ok()) {
    const host::MutexLock lock(fallback->mutex);
    decisions_ = std::move(read).value();
  } else if (read.status().code() != StatusCode::kNotFound) {
    host::Log(host::LogLevel::kWarning, "{}; the placement file is not used", read.status().ToString());
  }
}

void Model::State::ReportUnreadPlacements() const {
  std::error_code ignored;
  const std::filesystem::path beside = path.empty() ? path : host::PlacementFileOf(path);
  if (!beside.empty() && std::filesystem::exists(beside, ignored))
    host::Log(host::LogLevel::kInfo, "{} is not used, because only 'placement: {{policy: measured}}' reads it",
              beside.filename().string());
}

Result<std::string> Model::State::PlacementsText() const {
  const host::MutexLock lock(fallback->mutex);
  const std::optional<host::Digest>& digest = fallback->digest();
  if (decisions_.empty() || !digest)
    return Error(StatusCode::kFailedPrecondition, "no placement was measured").At(name);
  return host::PlacementFileText(decisions_, *digest, host::NamesOf(engine->delegates));
}

}  // namespace deputy
