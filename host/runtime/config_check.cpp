// CheckConfig: everything that can be known about a configuration before a model is built with it.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/loader.hpp"
#include "deputy/config.hpp"
#include "deputy/inspect.hpp"
#include "graph/operator.hpp"
#include "partition/eligibility.hpp"
#include "runtime/config_layers.hpp"
#include "runtime/entry.hpp"
#include "runtime/paths.hpp"
#include "runtime/scan.hpp"

namespace deputy {
namespace host {
namespace {

class ConfigChecker {
 public:
  ConfigChecker(const Config& config, ConfigCheck& check) : config_(config), check_(check) {}

  void References() {
    if (*config_.plugins.auto_use == AutoUse::kLast) return;  // names of plugins that the scan finds are valid too
    for (const Problem& problem : UnknownReferences(config_, {})) Add(problem, true);
  }

  void Folders() {
    const std::vector<std::filesystem::path> folders = MakeScanOptions(config_).paths;
    for (size_t i = 0; i < folders.size(); ++i) {
      std::error_code ignored;
      if (std::filesystem::is_directory(folders[i], ignored)) continue;
      Add({config_.plugins.paths[i].origin, fmt::format("'{}' is not a folder", folders[i].string())}, false);
    }
  }

  void Plugins() {
    std::vector<Entry> entries;
    for (const DelegateConfig& delegate : config_.delegates)
      if (*delegate.enabled && !delegate.name->empty()) entries.push_back(EntryFromConfig(delegate));
    ScanOptions options = MakeScanOptions(config_);
    options.named.emplace();
    for (const Entry& entry : entries) options.named->push_back(entry.delegate);
    registry_.Scan(options);
    for (const PluginEntry* refused : RefusedFiles(registry_))
      Add({{refused->path.string(), 0, 0}, fmt::format("not used ({}): {}", NameOf(refused->reason), refused->text)},
          false);
    for (const Entry& entry : entries) {
      const EntryCheck found = CheckEntry(registry_, entry);
      for (const Problem& mistake : found.mistakes) Add(mistake, true);
      // Its text begins with the place of the entry.
      if (!found.unusable.ok()) Add({entry.origin, Without(found.unusable, entry.origin)}, entry.required);
      for (const CapabilityRow& row : found.description.capabilities) operators_.insert(row.op_type);
    }
  }

  Status Model(const std::string& model) {
    DEPUTY_ASSIGN_OR_RETURN(const ModelContents contents, InspectModel(model));
    std::set<std::string> ops, domains;
    for (const InspectedNode& node : contents.nodes) {
      ops.insert(node.op_type);
      domains.insert(node.domain);
    }
    const std::string file = std::filesystem::path(model).filename().string();
    const auto globs = [&](const List<Setting<std::string>>& patterns) {
      for (const Setting<std::string>& glob : patterns)
        if (std::none_of(contents.nodes.begin(), contents.nodes.end(),
                         [&](const InspectedNode& node) { return MatchesGlob(*glob, node.name); }))
          Add({glob.origin, fmt::format("{} matches no node of {}", Quoted(*glob), file)}, false);
    };
    const auto listed = [&](const List<Setting<std::string>>& words, const std::set<std::string>& known,
                            std::string_view kind) {
      for (const Setting<std::string>& word : words)
        if (!known.contains(*word) && !known.contains(*word == "ai.onnx" ? "" : *word) && IsKnown(*word, kind))
          Add({word.origin, fmt::format("no node of {} has the {} {}", file, kind, Quoted(*word))}, false);
    };
    for (const DelegateConfig& delegate : config_.delegates) {
      globs(delegate.rules.nodes);
      globs(delegate.rules.deny_nodes);
      listed(delegate.rules.allow_ops, ops, kOperator);
      listed(delegate.rules.deny_ops, ops, kOperator);
    }
    for (const PlacementRule& rule : config_.placement.rules) {
      globs(rule.nodes);
      listed(rule.ops, ops, kOperator);
      listed(rule.domains, domains, "domain");
    }
    return {};
  }

  // After Plugins: their operators are known too.
  void Operators() {
    for (const OperatorInfo& info : AllOperators()) operators_.emplace(info.name);
    const auto check = [&](const List<Setting<std::string>>& ops) {
      for (const Setting<std::string>& op : ops) {
        if (operators_.contains(*op)) continue;
        const std::string_view nearest = NearestOperator(*op);
        Add({op.origin, fmt::format("no operator is called {}{}", Quoted(*op),
                                    nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest))},
            false);
      }
    };
    for (const DelegateConfig& delegate : config_.delegates) {
      check(delegate.rules.allow_ops);
      check(delegate.rules.deny_ops);
    }
    for (const PlacementRule& rule : config_.placement.rules) check(rule.ops);
  }

  void Add(const Problem& problem, bool error) {
    // A value of a lower layer may be reported once by its file and once in the merged configuration.
    const auto same = [&](const ConfigProblem& other) {
      return other.message == problem.message && other.place == problem.at.ToString();
    };
    if (std::any_of(check_.problems.begin(), check_.problems.end(), same)) return;
    check_.problems.push_back(
        {error, problem.at.source, problem.at.line, problem.at.column, problem.message, problem.at.ToString()});
  }

 private:
  static constexpr std::string_view kOperator = "operator";

  // A name that does not exist at all is reported as that.
  bool IsKnown(const std::string& word, std::string_view kind) const {
    return kind != kOperator || operators_.contains(word);
  }

  static std::string Without(const Status& status, const Origin& origin) {
    const std::string text = status.ToString(), place = origin.ToString() + ": ";
    return text.compare(0, place.size(), place) == 0 ? text.substr(place.size()) : text;
  }

  const Config& config_;
  ConfigCheck& check_;
  PluginRegistry registry_;
  std::set<std::string> operators_;
};

}  // namespace
}  // namespace host

Result<ConfigCheck> CheckConfig(const ConfigSources& sources, const ConfigCheckOptions& options) {
  host::ConfigLoader loader;
  host::AddLayers(sources, loader);
  const Result<host::Config> read = loader.Finish();
  if (!read.ok() && read.status().code() == StatusCode::kResourceExhausted) return read.status();
  ConfigCheck check;
  for (const std::filesystem::path& file : loader.files()) check.files.push_back(file.string());
  host::ConfigChecker checker(read.ok() ? *read : loader.readable(), check);
  for (const host::Problem& problem : loader.problems()) checker.Add(problem, true);
  for (const host::Problem& warning : loader.warnings()) checker.Add(warning, false);
  checker.References();
  if (!options.offline) {
    checker.Folders();
    checker.Plugins();
  }
  checker.Operators();
  if (!options.model.empty()) DEPUTY_RETURN_IF_ERROR(checker.Model(options.model));
  std::stable_sort(check.problems.begin(), check.problems.end(), [&](const ConfigProblem& a, const ConfigProblem& b) {
    const auto place = [&](const ConfigProblem& problem) {
      const auto layer = std::find(check.files.begin(), check.files.end(), problem.file) - check.files.begin();
      return std::tuple(layer, problem.line, problem.column);
    };
    return place(a) < place(b);
  });
  return check;
}

}  // namespace deputy
