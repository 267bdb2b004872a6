// CheckConfig: everything that can be known about a configuration before a model is built with it.
#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/nearest.hpp"
#include "config/loader.hpp"
#include "deputy/config.hpp"
#include "deputy/context.hpp"
#include "deputy/inspect.hpp"
#include "deputy/model.hpp"
#include "graph/operator.hpp"
#include "graph/passes/passes.hpp"
#include "runtime/config_layers.hpp"
#include "runtime/engine.hpp"
#include "runtime/entry.hpp"
#include "runtime/node_globs.hpp"
#include "runtime/read_model.hpp"
#include "runtime/scan.hpp"
#include "tensor/shape.hpp"

namespace deputy {
namespace host {
namespace {

// 1 for leading dimensions that the file leaves open, as commands assume it.
void AssumeBatchOfOne(Graph& graph) {
  std::vector<ValueType*> types;
  for (const ValueId id : graph.inputs) types.push_back(&graph.values[id].type);
  for (const ValueType* type : types) {
    if (type->dims.empty() || type->dims.front() >= 0) continue;
    const int64_t open = type->dims.front();
    for (ValueType* other : types)
      for (int64_t& dim : other->dims)
        if (dim == open && (IsSymbol(open) || (other == type && &dim == other->dims.data()))) dim = 1;
  }
}

constexpr std::string_view kOnnxDomain = "ai.onnx";  // the name of "" in rules
constexpr size_t kMostRefused = 20;                  // files of plugin folders that are reported one by one

class ConfigChecker {
 public:
  ConfigChecker(const Config& config, ConfigCheck& check) : config_(config), check_(check) {
    for (const OperatorInfo& info : AllOperators()) {
      operators_.emplace(info.name);
      AddDomain(info.domain);
    }
  }

  void Add(const Problem& problem, bool error) {
    // A wrong value may be reported by its file and by the merged configuration.
    const auto same = [&](const ConfigProblem& other) {
      return other.message == problem.message && other.place == problem.at.ToString();
    };
    if (std::any_of(check_.problems.begin(), check_.problems.end(), same)) return;
    check_.problems.push_back({error, problem.at.source, problem.at.line, problem.at.column, problem.message,
                               problem.at.ToString(), std::string(NameOf(problem.code))});
  }

  // Rules and log levels that name no delegate. Without plugins, `plugins: {auto: last}` may find any name.
  void References(bool with_plugins) {
    if (IsAutomatic() && !with_plugins) return;
    const std::vector<std::string> found = IsAutomatic() ? registry_.delegate_ids() : std::vector<std::string>();
    for (const Problem& problem : UnknownReferences(config_, found)) Add(problem, true);
  }

  void Plugins() {
    std::vector<Entry> entries;
    for (const DelegateConfig& delegate : config_.delegates)
      if (*delegate.enabled && !delegate.name->empty()) entries.push_back(EntryFromConfig(delegate));
    ScanOptions options = MakeScanOptions(config_);
    options.records = RecordsOf(config_, /*reuse=*/false);
    options.probe = true;  // never in this process, regardless of the trust in the configuration
    if (!IsAutomatic()) {
      options.named.emplace();
      for (const Entry& entry : entries) options.named->push_back(entry.delegate);
    }
    registry_.Scan(options);
    const std::vector<const PluginEntry*> all = RefusedFiles(registry_);
    for (const PluginEntry* refused : all)
      if (all.size() <= kMostRefused || IsAnyOf(options.paths, refused->path)) AddRefused(*refused, options.paths);
    if (all.size() > kMostRefused)
      Add({PlaceOf(config_.plugins.paths.origin, *all.front()), RefusalSummary(all), ProblemCode::kPlugin}, false);
    for (const Entry& entry : entries) {
      const EntryCheck found = CheckEntry(registry_, entry, NamesOf(config_));
      for (const Problem& mistake : found.mistakes) Add(mistake, true);
      // Its text begins with the place of the entry.
      if (!found.unusable.ok()) {
        const bool of_id = found.unusable.where() == entry.delegate_origin.ToString();
        const Origin& at = of_id ? entry.delegate_origin : entry.origin;
        Add({at, Without(WithRequired(found.unusable, entry), at), ProblemCode::kAbsent}, entry.required);
      }
      for (const CapabilityRow& row : found.description.capabilities) {
        operators_.insert(row.op_type);
        AddDomain(row.domain);
      }
    }
    for (const Problem& problem : DisabledNames(config_, registry_, /*misspelled=*/false)) Add(problem, false);
  }

  // Globs that match none of the nodes. Its operators and domains are known from then on.
  Status CheckModel(const std::string& model) {
    DEPUTY_ASSIGN_OR_RETURN(const ModelContents contents, InspectModel(model));
    for (const InspectedNode& node : contents.nodes) {
      operators_.insert(node.op_type);
      AddDomain(node.domain);
    }
    DEPUTY_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(model));
    DEPUTY_ASSIGN_OR_RETURN(ReadGraph read, ReadAnyModel({file->bytes(), file, model}, ModelType::kAuto, model));
    const std::vector<std::string> imported = NamesOfNodes(read.graph, false);
    AssumeBatchOfOne(read.graph);
    Graph placed = read.graph;
    // Types of operators that only plugins know are not inferred here: then the names are those of the file.
    const std::vector<std::string> names = RunPasses(placed, PassOptionsOf(config_.passes)).ok()
                                               ? NamesOfNodes(placed, true)
                                               : NamesOfNodes(read.graph, true);
    const std::string name = std::filesystem::path(model).filename().string();
    for (const Problem& problem : UnmatchedGlobs(NodeGlobs(config_), name, names, imported)) Add(problem, false);
    return {};
  }

  // What a load of the model ends with, where nothing else is wrong: a node that no delegate may take, a required one
  // that does not compile its nodes. Open extents are those that commands assume.
  Status Build(const ConfigSources& sources, const std::string& model) {
    if (std::any_of(check_.problems.begin(), check_.problems.end(), [](const auto& problem) { return problem.error; }))
      return {};
    ConfigSources quiet = sources;
    // What it would say is among the problems. A program with more rights than its caller takes no settings.
    if (getauxval(AT_SECURE) == 0) quiet.settings.emplace_back("log.level=off");
    Status status = [&]() -> Status {
      DEPUTY_ASSIGN_OR_RETURN(const Context context, Context::FromLayers(quiet));
      deputy::Model built;
      DEPUTY_RETURN_IF_ERROR(built.Build(model, context));
      std::vector<Shape> shapes;
      for (const TensorInfo& input : built.inputs()) {
        shapes.push_back(input.kind == ValueKind::kTensor ? input.shape : Shape());
        if (input.kind != ValueKind::kTensor) continue;
        Shape& shape = shapes.back();
        if (!shape.empty() && shape[0] < 0) shape[0] = 1;
        if (!input.ranked || !host::IsStatic(shape)) return {};  // a run needs --shape
      }
      return built.Placement(shapes).status();
    }();
    ApplyLogLevels(config_.log);
    if (status.ok()) return {};
    const std::string text = status.ToString();
    Origin place =
        *config_.fallback == Fallback::kDisabled && status.advice().find("fallback is 'none'") != std::string::npos
            ? config_.fallback.origin
            : Origin();
    for (const DelegateConfig& delegate : config_.delegates)
      if (place.source == Origin().source && *delegate.required && text.find(*delegate.name) != std::string::npos)
        place = delegate.required.origin;
    for (const PlacementRule& rule : config_.placement.rules)
      if (place.source == Origin().source && text.find("denied by rule") != std::string::npos &&
          text.find(RulePlace(rule)) != std::string::npos)
        place = rule.to.origin;
    if (place.source == Origin().source)
      place = {check_.files.empty() ? std::string("the configuration") : check_.files.back(), 0, 0};
    Add({place, text, ProblemCode::kLoad}, true);
    return {};
  }

  // After Plugins and CheckModel. Without plugins, only what looks like a misspelled word is reported: another one may
  // be an operator of a plugin.
  void Operators(bool with_plugins) {
    const auto check = [&](const List<Setting<std::string>>& words, const std::set<std::string>& known,
                           std::string_view kind) {
      const std::vector<std::string> all(known.begin(), known.end());
      for (const Setting<std::string>& word : words) {
        if (known.contains(*word)) continue;
        const std::string meant = DidYouMean(*word, all);
        if (with_plugins || !meant.empty())
          Add({word.origin, fmt::format("no {} is called {}{}", kind, Quoted(*word), meant),
               ProblemCode::kUnknownOperator},
              false);
      }
    };
    for (const DelegateConfig& delegate : config_.delegates) {
      check(delegate.rules.allow_ops, operators_, "known operator");
      check(delegate.rules.deny_ops, operators_, "known operator");
    }
    for (const PlacementRule& rule : config_.placement.rules) {
      check(rule.ops, operators_, "known operator");
      check(rule.domains, domains_, "known operator domain");
    }
  }

 private:
  bool IsAutomatic() const { return *config_.plugins.auto_use == AutoUse::kLast; }
  void AddDomain(std::string_view domain) { domains_.emplace(domain.empty() ? kOnnxDomain : domain); }

  static bool IsAnyOf(const std::vector<std::filesystem::path>& folders, const std::filesystem::path& path) {
    return std::find(folders.begin(), folders.end(), path) != folders.end();
  }
  // The default folders are written nowhere.
  static Origin PlaceOf(const Origin& folders, const PluginEntry& first) {
    return folders.source == Origin().source ? Origin{first.path.string(), 0, 0} : folders;
  }

  // A folder is reported where it is written; the default one may be absent where no plugin is installed.
  void AddRefused(const PluginEntry& refused, const std::vector<std::filesystem::path>& folders) {
    const std::string text = fmt::format("not used ({}): {}", NameOf(refused.reason), refused.text);
    const auto folder = std::find(folders.begin(), folders.end(), refused.path);
    if (folder == folders.end()) return Add({{refused.path.string(), 0, 0}, text, ProblemCode::kPlugin}, false);
    Origin origin;
    for (const Setting<std::string>& path : config_.plugins.paths)
      if (origin.source == Origin().source && std::filesystem::path(*path) == *folder) origin = path.origin;
    if (origin.source != Origin().source)
      Add({origin, fmt::format("{}: {}", Quoted(refused.path.string()), text), ProblemCode::kPlugin}, false);
  }

  static std::string Without(const Status& status, const Origin& origin) {
    const std::string text = status.ToString(), place = origin.ToString() + ": ";
    return text.compare(0, place.size(), place) == 0 ? text.substr(place.size()) : text;
  }

  const Config& config_;
  ConfigCheck& check_;
  PluginRegistry registry_;
  std::set<std::string> operators_, domains_;
};

}  // namespace
}  // namespace host

Result<ConfigCheck> CheckConfig(const ConfigSources& sources, const ConfigCheckOptions& options) {
  host::ConfigLoader loader;
  host::AddLayers(sources, loader);
  const Result<host::Config> read = loader.Finish();
  if (!read.ok() && read.status().code() == StatusCode::kResourceExhausted) return read.status();
  ConfigCheck check;
  check.unlisted = loader.unlisted();
  for (const std::filesystem::path& file : loader.files()) check.files.push_back(file.string());
  host::ConfigChecker checker(read.ok() ? *read : loader.readable(), check);
  for (const host::Problem& problem : loader.problems()) checker.Add(problem, true);
  for (const host::Problem& warning : loader.warnings()) checker.Add(warning, false);
  for (const host::Problem& note : loader.notes()) checker.Add(note, false);
  if (const std::string none = read.ok() ? host::NamesNoDelegates(*read, loader.files()) : ""; !none.empty())
    checker.Add({{check.files.back(), 0, 0}, none, host::ProblemCode::kNoDelegates}, false);
  if (!options.offline) checker.Plugins();
  if (loader.all_readable()) checker.References(!options.offline);
  if (!options.model.empty()) DEPUTY_RETURN_IF_ERROR(checker.CheckModel(options.model));
  checker.Operators(!options.offline);
  if (!options.model.empty() && !options.offline && read.ok())
    DEPUTY_RETURN_IF_ERROR(checker.Build(sources, options.model));
  const auto place = [&](const ConfigProblem& problem) {
    const auto layer = std::find(check.files.begin(), check.files.end(), problem.file) - check.files.begin();
    return std::tuple(layer, problem.line, problem.column);
  };
  // They are few, and std::stable_sort is 13 kB of code.
  std::vector<ConfigProblem>& sorted = check.problems;
  for (size_t i = 1; i < sorted.size(); ++i)
    for (size_t j = i; j > 0 && place(sorted[j]) < place(sorted[j - 1]); --j) std::swap(sorted[j], sorted[j - 1]);
  return check;
}

}  // namespace deputy
