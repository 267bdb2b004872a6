#include "config/loader.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <map>
#include <new>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/file.hpp"
#include "config/reader.hpp"
#include "config/setting_path.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

std::string_view DefaultConfigText() {
  return R"(version: 1
plugins:
  paths: [$deputy/plugins]
  trust: probe
  auto: off
  sandbox: true
  environment: []
  probe_timeout: 2s
delegates: []
cpu: {threads: auto}
fallback: cpu
placement: {policy: priority, budget: 1s, margin: 3%}
models: {map_files: true, plans: 16}
passes: {fold_budget: 16MB}
limits: {loop_steps: 100000000, timeout: 0ms, memory: 0B}
cache: {dir: auto, max: 512MB}
log: {level: info, format: auto}
debug: {check: false, abort_on_hang: false, dump: [], dump_dir: auto}
)";
}

// Only allocation failures throw here. A loader that has caught one reports nothing else.
template <class Work>
void ConfigLoader::Guarded(Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    out_of_memory_ = true;
  }
}

void ConfigLoader::AddFile(const fs::path& path, Judgement judgement) {
  Guarded([&] {
    const std::string source = path.string();
    files_.push_back(path);
    const Result<std::string> text = ReadTrustedFile(path, kMostConfigBytes, judgement);
    if (!text.ok()) return AddUnreadable(source, text.status().message());
    std::error_code ignored;
    AddYaml(source, *text, fs::absolute(path, ignored).parent_path());
  });
}

void ConfigLoader::AddFileWithDropIns(const fs::path& path, Judgement judgement, const DropInFolder& packages) {
  Guarded([&] { places_.push_back(path); });
  AddFile(path, judgement);
  Guarded([&] { AddDropIns({packages, {path.parent_path() / "conf.d", {}}}); });
}

void ConfigLoader::AddInstalled(const fs::path& path, const DropInFolder& packages) {
  std::error_code ignored;
  Guarded([&] { places_.push_back(path); });
  if (fs::exists(fs::symlink_status(path, ignored))) AddFile(path);
  Guarded([&] { AddDropIns({packages, {path.parent_path() / "conf.d", {}}}); });
}

void ConfigLoader::AddDropIns(const std::vector<DropInFolder>& folders) {
  std::map<std::string, std::pair<fs::path, Judgement>> found;  // by name: that of a later folder replaces another
  for (const DropInFolder& folder : folders)
    for (const fs::path& path : DropInsOf(folder)) found[path.filename().string()] = {path, folder.judgement};
  for (const auto& [name, drop_in] : found) {
    AddFile(drop_in.first, drop_in.second);
    if (!layers_.empty()) layers_.back().is_drop_in = true;
  }
}

std::vector<fs::path> ConfigLoader::DropInsOf(const DropInFolder& place) {
  const fs::path& folder = place.path;
  std::vector<fs::path> found;
  if (!folder.empty()) places_.push_back(folder);
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (folder.empty() || status.type() == fs::file_type::not_found) return found;
  const auto refuse = [&](std::string why) {
    AddUnreadable(folder.string(), std::move(why));
    return std::vector<fs::path>();
  };
  std::error_code unresolved;
  fs::path resolved = fs::weakly_canonical(folder, unresolved);
  if (unresolved) resolved = folder;
  if (std::find(drop_in_folders_.begin(), drop_in_folders_.end(), resolved) != drop_in_folders_.end()) return found;
  drop_in_folders_.push_back(std::move(resolved));
  if (status.type() != fs::file_type::directory)
    return refuse(error ? "cannot open: " + error.message() : "is not a folder");
  // Others could remove files from it, even if it has none that they could change.
  const Result<JudgedFile> judged = OpenJudged(folder, place.judgement.also);
  if (judged.ok() && !judged->above.empty() && !place.judgement.all) return refuse("is not trusted: " + judged->above);
  for (const fs::path& path : PathsIn(folder, error)) {
    const std::string name = path.filename().string();
    if (name[0] == '.') continue;
    if (EndsWith(name, ".yaml")) found.push_back(path);
    if (EndsWith(name, ".yml"))
      early_warnings_.push_back(
          {{path.string(), 0, 0}, "is not read: its name does not end in .yaml", ProblemCode::kFile});
  }
  if (error) return refuse("cannot list: " + error.message());
  return found;
}

void ConfigLoader::AddText(std::string name, std::string_view text, const fs::path& base) {
  Guarded([&] {
    std::error_code ignored;
    AddYaml(std::move(name), text, base.empty() ? fs::current_path(ignored) : fs::absolute(base, ignored));
  });
}

void ConfigLoader::AddSetting(std::string_view setting) {
  Guarded([&] {
    // In a program with more rights than its caller the command line is the caller's.
    if (getauxval(AT_SECURE) != 0)
      return AddUnreadable(fmt::format("--set {}", setting.substr(0, setting.find('='))),
                           "is refused in a program with more rights than its caller; set it in a configuration file "
                           "that the caller cannot change");
    const size_t equals = setting.find('=');
    if (equals == std::string_view::npos)
      return AddUnreadable(fmt::format("--set {}", setting), "write it as KEY=VALUE, such as cpu.threads=2");
    const std::string path(setting.substr(0, equals));
    settings_.push_back({"--set " + path, path, std::string(setting.substr(equals + 1))});
  });
}

void ConfigLoader::AddApiSetting(std::string_view path, std::string_view value) {
  Guarded([&] { api_settings_.push_back({fmt::format("api {}", path), std::string(path), std::string(value)}); });
}

void ConfigLoader::AddYaml(std::string source, std::string_view text, const fs::path& base) {
  bases_[source] = base;
  Layer layer;
  layer.root = ReadYaml(text, source, /*lines=*/true, layer.problems);
  if (layer.root) FlattenOptions(*layer.root, layer.problems);
  layer.source = std::move(source);
  layers_.push_back(std::move(layer));
}

void ConfigLoader::AddUnreadable(std::string source, std::string message) {
  Layer layer;
  layer.problems.Add({source, 0, 0}, std::move(message), ProblemCode::kFile);
  layer.source = std::move(source);
  layers_.push_back(std::move(layer));
}

Result<Config> ConfigLoader::Finish() {
  try {
    if (!out_of_memory_) return Merge();
  } catch (const std::bad_alloc&) {
    out_of_memory_ = true;
  }
  // Short enough to need no memory.
  return Status(StatusCode::kResourceExhausted, "out of memory");
}

Result<Config> ConfigLoader::Merge() {
  problems_.clear();
  notes_.clear();
  warnings_ = early_warnings_;
  unshown_ = 0;

  YamlNode merged;
  Problems found;
  if (auto root = ReadYaml(DefaultConfigText(), Origin().source, /*lines=*/false, found))
    MergeLayer(merged, std::move(*root), NewDelegates::kWelcome, found);
  Keep(found);
  MergeFiles(merged);
  MergeSettings(merged, settings_);
  MergeSettings(merged, api_settings_);

  Problems last;
  Config config = ReadConfig(merged, LayerKind::kMerged, bases_, last);
  if (problems_.empty()) Keep(last);
  if (problems_.empty()) return config;
  readable_ = std::move(config);
  return Report();
}

void ConfigLoader::MergeFiles(YamlNode& merged) {
  all_readable_ = true;
  for (const Layer& layer : layers_) {
    Problems found = layer.problems;
    const bool readable = layer.root && IsOurVersion(*layer.root, found);
    if (readable) {
      // Only to report problems: a later layer may hide a wrong value.
      (void)ReadConfig(*layer.root, LayerKind::kFile, bases_, found);
      YamlNode root = *layer.root;
      AddLowerPaths(merged, root);
      const std::vector<std::string> before = DelegateNames(merged);
      MergeLayer(merged, std::move(root), NewDelegates::kWelcome, found, elsewhere_);
      if (layer.is_drop_in) NotePlaces(*layer.root, before, DelegateNames(merged));
    }
    all_readable_ = all_readable_ && readable;
    Keep(found);
  }
}

void ConfigLoader::NotePlaces(const YamlNode& layer, const std::vector<std::string>& before,
                              const std::vector<std::string>& after) {
  const YamlEntry* delegates = layer.Find("delegates");
  if (delegates == nullptr || before.empty()) return;
  for (const YamlNode& delegate : delegates->value.items) {
    const YamlEntry* name = delegate.Find("name");
    if (name == nullptr || delegate.Find("before") != nullptr) continue;
    // One that comes switched off has no place yet.
    if (const YamlEntry* enabled = delegate.Find("enabled"); enabled != nullptr && enabled->value.text == "false")
      continue;
    if (std::find(before.begin(), before.end(), name->value.text) != before.end()) continue;
    const auto place = std::find(after.begin(), after.end(), name->value.text);
    if (place == after.end() || place == after.begin()) continue;
    notes_.push_back({name->value.at,
                      fmt::format("{} has no 'before', and so is number {} of {} delegates, after {}: "
                                  "'before: {}' places it first",
                                  Quoted(name->value.text), place - after.begin() + 1, after.size(),
                                  Quoted(*(place - 1)), after.front()),
                      ProblemCode::kOrder});
  }
}

void ConfigLoader::MergeSettings(YamlNode& merged, const std::vector<PendingSetting>& settings) {
  for (const PendingSetting& setting : settings) {
    Problems found;
    std::optional<YamlNode> root =
        MakeSetting(setting.path, setting.value, setting.source, DelegateNames(merged), found);
    if (root) {
      FlattenOptions(*root, found);
      (void)ReadConfig(*root, LayerKind::kSetting, bases_, found);
      // The contents of an unreadable file are unknown, so that names cannot be checked either.
      const auto unknown_names = all_readable_ ? NewDelegates::kWithPluginOnly : NewDelegates::kWelcome;
      MergeLayer(merged, std::move(*root), unknown_names, found, elsewhere_);
    }
    Keep(found);
  }
}

void ConfigLoader::Keep(const Problems& found) {
  std::vector<Problem> sorted = found.list();
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
  for (Problem& problem : sorted) {
    if (problems_.size() < Problems::kMost) {
      problems_.push_back(std::move(problem));
    } else {
      ++unshown_;
    }
  }
  unshown_ += found.dropped();
}

Status ConfigLoader::Report() const {
  if (problems_.size() == 1) return Status(StatusCode::kConfig, problems_[0].message).At(problems_[0].at.ToString());
  std::string all;
  for (const Problem& problem : problems_) all += (all.empty() ? "" : "\n") + problem.ToString();
  if (unshown_ > 0) all += fmt::format("\nand {} more", unshown_);
  return Status(StatusCode::kConfig, std::move(all));
}

}  // namespace deputy::host
