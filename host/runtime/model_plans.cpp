#include "runtime/model_plans.hpp"

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
#include "runtime/model_state.hpp"
#include "runtime/node_globs.hpp"

namespace deputy::host {
namespace {

constexpr size_t kSummariesKept = 64;
// Times the budget of a search, the most that compiling its first candidates may take beside it.
constexpr uint64_t kFirstCompilations = 3;
// Between two looks at the load of the machine, for a decision that is not sure.
constexpr uint64_t kBetweenLooksNs = 5'000'000'000;
// Decisions are smaller, and the store has them as well.
constexpr size_t kDecisionsKept = 1024;

}  // namespace

ModelPlans::ModelPlans(const Model::State& of, std::shared_ptr<Engine> with, std::vector<std::string> imported_names)
    : model(of),
      engine(std::move(with)),
      fallback(std::make_unique<ModelFallback>(model.log_name(), engine)),
      imported_names_(std::move(imported_names)) {
  if (model.digest && (engine->verdicts != nullptr || engine->measure)) fallback->set_digest(model.digest(*engine));
  // Nodes have other numbers with other outputs and inputs; a placement file is made without.
  if (engine->measure && model.extra_outputs.empty() && model.given_inputs.empty()) ReadPlacements();
  if (!engine->measure) ReportUnreadPlacements();
}

Result<std::shared_ptr<ModelPlans>> ModelPlans::Make(const Model::State& model, std::shared_ptr<Engine> engine,
                                                     const std::vector<std::vector<Shape>>& shapes) {
  auto made = std::make_shared<ModelPlans>(model, std::move(engine));
  // No more than are kept.
  for (size_t i = shapes.size() - std::min(shapes.size(), made->engine->plans_kept); i < shapes.size(); ++i)
    DEPUTY_RETURN_IF_ERROR(made->PlanFor(shapes[i]).status());
  if (model.has_static_inputs()) DEPUTY_RETURN_IF_ERROR(made->PlanFor(model.static_shapes()).status());
  model.graph->DropPages();  // of weights that delegates have packed
  return made;
}

std::vector<std::vector<Shape>> ModelPlans::ShapesInUse() const {
  const MutexLock lock(fallback->mutex);
  std::vector<std::vector<Shape>> all;
  for (auto planned = plans_.rbegin(); planned != plans_.rend(); ++planned) all.push_back(planned->shapes);
  return all;
}

Result<ModelPlans::ShapedPlan> ModelPlans::MakePlanFor(std::span<const Shape> shapes) {
  DEPUTY_RETURN_IF_ERROR(model.CheckShapes(shapes));
  std::shared_ptr<const Graph> shaped = model.graph;
  if (!model.has_static_inputs()) {
    auto special = std::make_shared<Graph>(*model.graph);
    for (size_t i = 0; i < shapes.size(); ++i) {
      ValueType& type = special->values[special->inputs[i]].type;
      if (!type.is_tensor()) continue;
      type.ranked = true;
      type.dims = shapes[i];
    }
    engine->Report({ProgressStage::kPasses, {}, model.name, 0, 0, special->nodes.size()});
    Status status = RunPasses(*special, engine->passes);
    if (!status.ok()) return std::move(status).At(model.name);
    shaped = std::move(special);
  }
  PlanSources sources = fallback->Sources();
  if (!plans_.empty()) sources.sibling = plans_.front().plan.get();
  CheckNodeGlobs(*shaped);
  PlacementOptions options = engine->placement;
  if (fallback->Restrict(*shaped, options)) sources.sibling = nullptr;
  ShapedPlan made{{shapes.begin(), shapes.end()}, nullptr, nullptr, nullptr};
  std::string decided;
  if (engine->measure) {
    if (const std::optional<PlacementDecision> decision = FindDecision(*shaped, shapes)) {
      if (!decision->slower.empty()) sources.sibling = nullptr;
      Apply(*decision, *shaped, options);
      decided = fmt::format("; measured: {}{}", decision->summary, model.ForShapes(shapes));
      if (decision->is_provisional()) {
        made.measurement = std::make_shared<PlacementMeasurement>();
        made.measurement->provisional = true;
      }
    } else {
      made.measurement = std::make_shared<PlacementMeasurement>();
    }
  }
  engine->Report({ProgressStage::kPlacement, {}, model.name, 0, 0, shaped->nodes.size()});
  Result<std::shared_ptr<const Plan>> plan =
      MakePlan(std::move(shaped), engine->delegates, std::move(options), sources);
  if (!plan.ok()) return std::move(plan).status().At(model.name);
  made.plan = std::move(plan).value();
  if (engine->dump) {
    DEPUTY_ASSIGN_OR_RETURN(made.dump,
                            PlanDump::Write(*engine->dump, model.name, ++engine->plans_dumped, *made.plan, *engine));
  }
  // Once for all shapes that are placed alike: a model whose shapes change in every run would log in every run.
  std::string summary = SummarizePlacement(*made.plan, engine->delegates) + decided;
  const bool is_known = std::find(summaries_.begin(), summaries_.end(), summary) != summaries_.end();
  Log(is_known ? LogLevel::kDebug : LogLevel::kInfo, "{}: {}", model.log_name(), summary);
  if (!is_known && summaries_.size() < kSummariesKept) summaries_.push_back(std::move(summary));
  return made;
}

void ModelPlans::CheckNodeGlobs(const Graph& shaped) {
  if (std::exchange(globs_checked_, true) || engine->node_globs.empty()) return;
  const std::vector<std::string> imported = std::exchange(imported_names_, {});
  for (const Problem& problem :
       UnmatchedGlobs(engine->node_globs, model.log_name(), NamesOfNodes(shaped, true), imported))
    Log(LogLevel::kWarning, "{}", problem.ToString());
}

ModelPlans::ShapedPlan* ModelPlans::FindPlan(std::span<const Shape> shapes) {
  for (auto it = plans_.begin(); it != plans_.end(); ++it)
    if (std::equal(shapes.begin(), shapes.end(), it->shapes.begin(), it->shapes.end())) {
      plans_.splice(plans_.begin(), plans_, it);
      return &plans_.front();
    }
  return nullptr;
}

Result<ModelPlans::ShapedPlan> ModelPlans::PlanFor(std::span<const Shape> shapes) {
  const ModelScope working(model.identity);
  DEPUTY_RETURN_IF_ERROR(CheckNotForked());
  const MutexLock lock(fallback->mutex);
  if (const ShapedPlan* known = FindPlan(shapes)) return *known;
  DEPUTY_ASSIGN_OR_RETURN(ShapedPlan made, MakePlanFor(shapes));
  plans_.push_front(std::move(made));
  // Plans hold converted weights; a model that is run with ever new shapes must not collect them without limit.
  if (plans_.size() > engine->plans_kept) plans_.pop_back();
  return plans_.front();
}

std::optional<Digest> ModelPlans::DecisionKey(std::span<const Shape> shapes) const {
  const std::optional<Digest>& digest = fallback->digest();
  if (!engine->placement_digest || !digest) return std::nullopt;
  Digester digester;
  digester.Add(*engine->placement_digest).Add(*digest).AddNumber(shapes.size());
  for (const Shape& shape : shapes) {
    digester.AddNumber(shape.size());
    for (const int64_t extent : shape) digester.AddNumber(static_cast<uint64_t>(extent));
  }
  return digester.Finish();
}

std::optional<PlacementDecision> ModelPlans::FindDecision(const Graph& shaped, std::span<const Shape> shapes) {
  const std::vector<Shape> key(shapes.begin(), shapes.end());
  const uint32_t nodes = ForEachNode(shaped, [](const Graph&, NodeId, uint32_t) {});
  if (const auto known = decisions_.find(key); known != decisions_.end()) {
    const std::vector<SlowerNodes>& slower = known->second.slower;
    const auto beyond =
        std::find_if(slower.begin(), slower.end(), [&](const SlowerNodes& it) { return it.nodes.back() >= nodes; });
    if (beyond == slower.end()) return known->second;
    Log(LogLevel::kWarning,
        "{}: 'nodes' has the number {}, but the model has {} nodes, from 0 on; this placement is not used",
        beyond->place.empty() ? model.log_name() : beyond->place, beyond->nodes.back(), nodes);
  }
  const std::optional<Digest> stored = DecisionKey(shapes);
  if (!stored || engine->store == nullptr) return std::nullopt;
  const std::optional<StoredEntry> entry = engine->store->Find(EntryKind::kPlacement, *stored);
  if (!entry) return std::nullopt;
  std::optional<PlacementDecision> decision = ParseDecision(entry->bytes, engine->delegates.size(), nodes);
  if (decision) KeepDecision(key, *decision);
  return decision;
}

void ModelPlans::Measure(PlacementMeasurement& measurement, std::span<const Shape> shapes, const Execution& sample,
                         const CancellationToken& token) {
  if (measurement.provisional && !LooksQuiet(measurement)) return;
  SearchSettings settings{engine->measure->budget_ns, kFirstCompilations * engine->measure->budget_ns,
                          engine->measure->margin};
  if (token.deadline_ns != 0) {
    // A run that has no time left for a search leaves it to a later one.
    const uint64_t now = NowNs(), left = token.deadline_ns > now ? (token.deadline_ns - now) / 2 : 0;
    if (left < settings.budget_ns / 4) return;
    settings.budget_ns = std::min(settings.budget_ns, left);
    settings.first_compile_ns = std::min(settings.first_compile_ns, left - settings.budget_ns);
  }
  if (measurement.begun.exchange(true)) return;
  const std::vector<SlowerNodes> before = [&] {
    const MutexLock lock(fallback->mutex);
    return DecisionFor(shapes).value_or(PlacementDecision()).slower;
  }();
  const Result<SearchResult> found = Search(shapes, sample, settings, EarlierDecision::kMayBeMoreCertain, token);
  if (!found.ok()) {
    measurement.begun = false;  // it was cancelled
    return;
  }
  measurement.changed = found->decision.slower != before;
  if (!measurement.changed)
    Log(LogLevel::kInfo, "{}: measured: {}{}", model.log_name(), found->decision.summary, model.ForShapes(shapes));
  if (measurement.changed || !found->decision.is_provisional()) return;
  measurement.look_at_ns = NowNs() + kBetweenLooksNs;
  measurement.provisional = true;
  measurement.begun = false;
}

// Whether other processes have left the processors alone since the last look, or since this context was made.
bool ModelPlans::LooksQuiet(PlacementMeasurement& measurement) const {
  constexpr uint64_t kLooking = UINT64_MAX;  // no other session looks meanwhile
  uint64_t look_at = measurement.look_at_ns;
  if (NowNs() < look_at || !measurement.look_at_ns.compare_exchange_strong(look_at, kLooking)) return false;
  const std::optional<double> share =
      (measurement.since_look ? *measurement.since_look : engine->measure->load).ShareOfOthers();
  measurement.since_look.emplace();
  measurement.look_at_ns = NowNs() + kBetweenLooksNs;
  return !share || *share <= kMostDisturbance;
}

std::optional<PlacementDecision> ModelPlans::DecisionFor(std::span<const Shape> shapes) const {
  const auto known = decisions_.find({shapes.begin(), shapes.end()});
  return known == decisions_.end() ? std::nullopt : std::optional(known->second);
}

Result<SearchResult> ModelPlans::Search(std::span<const Shape> shapes, const Execution& sample,
                                        const SearchSettings& settings, EarlierDecision earlier,
                                        const CancellationToken& token) {
  const ModelScope working(model.identity);
  SearchSubject subject;
  subject.graph = sample.plan().graph;
  subject.delegates = engine->delegates;
  subject.options = engine->placement;
  subject.sources = fallback->Sources();
  subject.fallback = fallback.get();
  subject.arenas = engine->arenas.get();
  {
    const MutexLock lock(fallback->mutex);
    (void)fallback->Restrict(*subject.graph, subject.options);
  }
  // Candidates are compiled by the hundred: they alone are stages.
  subject.sources.progress = {};
  size_t number = 0;
  SearchSettings reported = settings;
  if (engine->progress)
    reported.progress = [&](const std::string& candidate, double used) {
      engine->Report({ProgressStage::kMeasurement, {}, candidate, ++number});
      if (settings.progress) settings.progress(candidate, used);
    };
  Result<SearchResult> searched = SearchPlacement(subject, sample, reported, token);
  model.graph->DropPages();  // of weights that delegates have packed and the CPU has read for candidates
  DEPUTY_ASSIGN_OR_RETURN(SearchResult found, std::move(searched));
  const MutexLock lock(fallback->mutex);
  const std::optional<PlacementDecision> before = DecisionFor(shapes);
  if (earlier == EarlierDecision::kMayBeMoreCertain) found.decision = MoreCertain(before, std::move(found.decision));
  KeepDecision({shapes.begin(), shapes.end()}, found.decision);
  if (const std::optional<Digest> key = DecisionKey(shapes); key && engine->store != nullptr)
    engine->store->Save(EntryKind::kPlacement, *key, found.decision.summary, BytesOf(found.decision));
  KeepCosts(found.costs, *engine);
  ShapedPlan* const known = FindPlan(shapes);
  if (known == nullptr) return found;
  if (known->measurement != nullptr && found.decision.slower == before.value_or(PlacementDecision()).slower) {
    if (!found.decision.is_provisional()) known->measurement = nullptr;  // the plan follows the decision already
    return found;
  }
  DEPUTY_ASSIGN_OR_RETURN(*known, MakePlanFor(shapes));
  if (known->measurement != nullptr) known->measurement->look_at_ns = NowNs() + kBetweenLooksNs;
  return found;
}

void ModelPlans::KeepDecision(const std::vector<Shape>& shapes, const PlacementDecision& decision) {
  if (decisions_.insert_or_assign(shapes, decision).second) decided_.push_back(shapes);
  if (decided_.size() <= kDecisionsKept) return;
  decisions_.erase(decided_.front());
  decided_.pop_front();
}

void ModelPlans::ReadPlacements() {
  const std::optional<Digest>& digest = fallback->digest();
  if (!digest || model.path.empty()) return;
  Result<Placements> read = ReadPlacementFile(PlacementFileOf(model.path), *digest, NamesOf(engine->delegates));
  if (read.ok()) {
    const MutexLock lock(fallback->mutex);
    decisions_ = std::move(read).value();
  } else if (read.status().code() != StatusCode::kNotFound) {
    Log(LogLevel::kWarning, "{}; the placement file is not used", read.status().ToString());
  }
}

void ModelPlans::ReportUnreadPlacements() const {
  std::error_code ignored;
  const std::filesystem::path beside = model.path.empty() ? model.path : PlacementFileOf(model.path);
  if (!beside.empty() && std::filesystem::exists(beside, ignored))
    Log(LogLevel::kInfo, "{} is not used, because only 'placement: {{policy: measured}}' reads it",
        beside.filename().string());
}

Result<std::string> ModelPlans::PlacementsText() const {
  const MutexLock lock(fallback->mutex);
  const std::optional<Digest>& digest = fallback->digest();
  if (decisions_.empty() || !digest)
    return Error(StatusCode::kFailedPrecondition, "no placement was measured").At(model.name);
  return PlacementFileText(decisions_, *digest, NamesOf(engine->delegates));
}

}  // namespace deputy::host
