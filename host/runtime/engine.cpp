// OpenEngine: from a configuration to opened delegates in their order.
#include "runtime/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>

#include "base/digest.hpp"
#include "base/log.hpp"
#include "config/schema.hpp"
#include "cpu/delegate.hpp"
#include "partition/cost_policy.hpp"
#include "partition/helpers.hpp"
#include "plugin/discovery/device_names.hpp"
#include "plugin/discovery/plugin_parts.hpp"
#include "plugin/discovery/registry.hpp"
#include "runtime/config_layers.hpp"
#include "runtime/context_state.hpp"
#include "runtime/dump.hpp"
#include "runtime/entry.hpp"
#include "runtime/fallback.hpp"
#include "runtime/identity.hpp"
#include "runtime/isolated_delegate.hpp"
#include "runtime/kept_costs.hpp"
#include "runtime/node_globs.hpp"
#include "runtime/paths.hpp"
#include "runtime/scan.hpp"

namespace deputy::host {
namespace {

// For RemotePluginOptions::opened, the same in other processes; never 0.
uint64_t NumberOf(std::span<const std::pair<std::string, std::string>> options) {
  Digester digester;
  for (const auto& [name, value] : options) digester.AddText(name).AddText(value);
  uint64_t number = 0;
  std::memcpy(&number, digester.Finish().data(), sizeof number);
  return number | 1;
}

// Operators of ONNX itself have no domain in a graph; a rule calls it by its name.
NodeRule FromConfig(const PlacementRule& rule) {
  NodeRule made{Texts(rule.nodes), Texts(rule.ops), Texts(rule.domains), *rule.to, Texts(rule.avoid), RulePlace(rule)};
  for (std::string& domain : made.domains)
    if (domain == "ai.onnx") domain.clear();
  return made;
}

bool IsChecking(const Config& config) { return *config.debug.check || ChecksByEnvironment(); }

class EngineBuilder {
 public:
  EngineBuilder(const Context::State& state, std::shared_ptr<SharedArenas> arenas)
      : state_(state), arenas_(std::move(arenas)), engine_(std::make_shared<Engine>()) {}

  Result<std::shared_ptr<Engine>> Run() {
    const Config& config = state_.config;
    ApplyLogLevels(config.log);
    if (!state_.config_note.empty()) Log(LogLevel::kInfo, "{}", state_.config_note);
    engine_->progress = state_.progress;
    for (const std::string& warning : state_.config_warnings) Log(LogLevel::kWarning, "{}", warning);
    const bool automatic = !state_.replaced && *config.plugins.auto_use == AutoUse::kLast;
    std::vector<Status> errors;
    if (!automatic) errors.push_back(CheckReferences(state_, {}));
    engine_->store = OpenStore(config);
    engine_->pool = std::make_shared<ThreadPool>(static_cast<uint32_t>(*config.cpu.threads));
    for (const Context::State::InProcess& added : state_.added)
      DEPUTY_RETURN_IF_ERROR(registry_.AddInProcess(added.delegate.plugin, added.delegate.keep));
    std::vector<Entry> entries = Entries();
    // The plugin folders are scanned only if an entry could be served by a file.
    if (automatic || std::any_of(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return registry_.ProviderOf(entry.delegate) == nullptr; })) {
      ScanOptions options = MakeScanOptions(state_);
      options.records = std::make_shared<PluginRecords>(engine_->store, options.sandbox, options.environment,
                                                        /*reuse=*/true, options.probe_timeout);
      if (!automatic) options.named = DelegatesOf(entries);
      // A plugin that is to be isolated is not loaded here to be described.
      options.probe |= std::any_of(entries.begin(), entries.end(), [](const Entry& entry) {
        return entry.isolation == Isolation::kProcess || HasLimit(entry);
      });
      registry_.Scan(options);
      ReportScan();
      if (!state_.replaced)
        for (const Problem& problem : DisabledNames(config, registry_, /*misspelled=*/true))
          Log(LogLevel::kWarning, "{}", problem.ToString());
    }
    if (automatic) {
      errors.push_back(CheckReferences(state_, registry_.delegate_ids()));
      AddUnlisted(entries);
    }
    std::vector<EntryCheck> checks = CheckEntries(entries, errors);
    DEPUTY_RETURN_IF_ERROR(Joined(errors));
    for (size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      Status status = OpenEntry(entry, checks[i]);
      if (status.ok()) continue;
      if (entry.required) return WithRequired(std::move(status), entry);
      const bool is_absent =
          registry_.ProviderOf(entry.delegate) == nullptr && registry_.RefusalOf(entry.delegate).empty();
      Log(is_absent && IsOfTheDefault(entry) ? LogLevel::kInfo : LogLevel::kWarning, "{}; continuing without it",
          status.ToString());
      const bool has_failed = failed_.count(entry.name) != 0 || registry_.HasFailed(entry.delegate);
      engine_->absent.push_back({entry.name, status.ToString(), has_failed});
    }
    for (const std::string& device : unknown_devices_) Log(LogLevel::kWarning, "{}", device);
    if (!state_.replaced) ReportUnlisted(entries);
    AddOwnKernels();
    engine_->delegates.push_back(MakeCpuDelegate(engine_->pool));
    engine_->incidents = std::make_shared<IncidentLog>(engine_->delegates.size());
    engine_->passes = PassOptionsOf(config.passes);
    engine_->passes.foreign = [engine = engine_.get()](InferenceContext& context) {
      for (const HostedDelegate& delegate : engine->delegates) {
        const OwnOperators* const own = delegate->own_operators();
        if (own == nullptr) continue;
        Status status = own->InferOwn(context);
        if (status.code() != StatusCode::kNotSupported) return status;
      }
      return Status(StatusCode::kNotSupported, "no delegate infers the types of the operator");
    };
    engine_->limits = {static_cast<uint64_t>(*config.limits.loop_steps),
                       static_cast<uint64_t>(config.limits.timeout->count()) * 1000,
                       static_cast<size_t>(config.limits.memory->count)};
    engine_->plans_kept = static_cast<size_t>(std::max<int64_t>(1, *config.models.plans));
    engine_->file_access = *config.models.map_files ? FileAccess::kMapped : FileAccess::kCopied;
    engine_->placement.cpu_fallback = *config.fallback == Fallback::kCpu;
    AddRules(config.placement.rules);
    if (!state_.replaced) engine_->node_globs = NodeGlobs(config);
    engine_->dump = DumpSettingsOf(config);
    PrepareDecisions();
    return engine_;
  }

 private:
  std::vector<Entry> Entries() const {
    std::vector<Entry> entries;
    if (!state_.replaced) {
      for (const DelegateConfig& delegate : state_.config.delegates)
        if (*delegate.enabled) entries.push_back(EntryFromConfig(delegate));
      for (const DeviceInfo& info : state_.device_infos) entries.push_back(EntryFromDeviceInfo(info));
    }
    for (const Context::State::InProcess& added : state_.added) {
      Entry entry;
      entry.name = entry.delegate = added.delegate.id;
      entry.origin = entry.delegate_origin = {"api", 0, 0};
      entry.required = entry.limits.required = true;
      const auto before =
          std::find_if(entries.begin(), entries.end(), [&](const Entry& other) { return other.name == added.before; });
      entries.insert(before, std::move(entry));
    }
    return entries;
  }

  void PrepareDecisions() {
    const Config& config = state_.config;
    if (*config.placement.policy == Policy::kMeasured)
      engine_->measure = {static_cast<uint64_t>(config.placement.budget->count()) * 1000,
                          config.placement.margin->share()};
    const bool verifies = std::any_of(
        engine_->delegates.begin(), engine_->delegates.end(),
        [](const HostedDelegate& one) { return one.health != nullptr && one.health->handling().verifies(); });
    const bool predicts = *config.placement.policy == Policy::kCost;
    if (!verifies && !engine_->measure && !predicts) return;
    for (HostedDelegate& hosted : engine_->delegates) {
      const bool is_cpu = &hosted == &engine_->delegates[CpuOf(engine_->delegates)];
      hosted.identity = is_cpu ? CpuIdentity() : IdentityDigest(*hosted);
      if (hosted.identity && !is_cpu) hosted.verdict_scope = VerdictScope(*hosted.identity, hosted.tolerances);
    }
    if (predicts) engine_->placement.policy = std::make_shared<CostPolicy>(RestoreCosts(*engine_));
    if (verifies) engine_->verdicts = std::make_unique<Verdicts>(engine_->store.get());
    engine_->placement_digest = PlacementDigest();
  }

  std::optional<Digest> PlacementDigest() const {
    Digester digester;
    digester.AddText("deputy placement").AddNumber(engine_->pool->thread_count());
    const auto add = [&](const std::vector<std::string>& texts) {
      digester.AddNumber(texts.size());
      for (const std::string& text : texts) digester.AddText(text);
    };
    for (size_t d = 0; d < CpuOf(engine_->delegates); ++d) {
      const HostedDelegate& hosted = engine_->delegates[d];
      if (hosted->traits().runs_custom_operators_only) continue;  // part of another delegate's plugin
      if (!hosted.identity) return std::nullopt;
      const DelegateLimits& limits = hosted.limits;
      digester.AddText(hosted->name()).Add(*hosted.identity);
      for (const auto* texts : {&limits.only_ops, &limits.deny_ops, &limits.only_nodes, &limits.deny_nodes})
        add(*texts);
      digester.AddNumber(limits.min_nodes).AddNumber(limits.min_multiply_adds).AddNumber(limits.required ? 1 : 0);
    }
    for (const NodeRule& rule : engine_->placement.rules) {
      for (const auto* texts : {&rule.nodes, &rule.ops, &rule.domains, &rule.avoid}) add(*texts);
      digester.AddText(rule.to);
    }
    const PassesConfig& passes = state_.config.passes;
#define DEPUTY_PASS(name, key, text) digester.AddNumber(*passes.key ? 1 : 0);
#include "graph/passes/passes.inc"
    digester.AddNumber(static_cast<uint64_t>(passes.fold_budget->count));
    return digester.Finish();
  }

  // Nodes that a rule sends to a disabled, absent or replaced delegate are placed as without the rule.
  void AddRules(const List<PlacementRule>& rules) {
    for (const PlacementRule& rule : rules) {
      const bool is_open = std::any_of(engine_->delegates.begin(), engine_->delegates.end(),
                                       [&](const auto& delegate) { return delegate->name() == *rule.to; });
      if (rule.to->empty() || is_open) {
        engine_->placement.rules.push_back(FromConfig(rule));
      } else {
        Log(LogLevel::kInfo, "{}: the rule has no effect, because '{}' is not in use", rule.to.origin.ToString(),
            *rule.to);
      }
    }
  }

  void AddUnlisted(std::vector<Entry>& entries) const {
    for (const std::string& id : registry_.delegate_ids()) {
      if (std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.delegate == id; }))
        continue;
      Entry entry;
      entry.name = entry.delegate = id;
      entry.origin = entry.delegate_origin = state_.config.plugins.auto_use.origin;
      entries.push_back(std::move(entry));
    }
  }

  static std::vector<std::string> DelegatesOf(const std::vector<Entry>& entries) {
    std::vector<std::string> delegates;
    for (const Entry& entry : entries) delegates.push_back(entry.delegate);
    return delegates;
  }

  // Files that claim to be plugins and cannot be used; `deputy plugins --why` shows the rest.
  void ReportScan() const {
    constexpr size_t kMostLines = 3;
    const std::vector<const PluginEntry*> refused = RefusedFiles(registry_);
    if (refused.size() > kMostLines) return Log(LogLevel::kWarning, "{}", RefusalSummary(refused));
    for (const PluginEntry* entry : refused)
      Log(LogLevel::kWarning, "{}: not used ({}): {}", entry->path.string(), NameOf(entry->reason), entry->text);
  }

  void ReportUnlisted(const std::vector<Entry>& entries) const {
    constexpr size_t kMostListed = 20;
    std::string list;
    size_t count = 0;
    for (const std::string& id : registry_.delegate_ids()) {
      const std::vector<DelegateConfig>& configured = state_.config.delegates.items;  // also those that are disabled
      if (std::any_of(configured.begin(), configured.end(), [&](const auto& entry) { return entry.id() == id; }) ||
          std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.delegate == id; }))
        continue;
      if (++count <= kMostListed) list += (list.empty() ? "" : ", ") + id;
    }
    if (count > kMostListed) list += fmt::format(" and {} more", count - kMostListed);
    if (count != 0) Log(LogLevel::kInfo, "found, but not used, because no entry of 'delegates' names them: {}", list);
  }

  // Adds all errors that are known before a delegate is opened.
  std::vector<EntryCheck> CheckEntries(const std::vector<Entry>& entries, std::vector<Status>& errors) {
    std::vector<EntryCheck> checks;
    std::set<std::string> names;  // of those that can be used
    for (const Entry& entry : entries) {
      if (names.count(entry.name) != 0)
        errors.push_back(Error(StatusCode::kConfig, "the delegate name '{}' is already in use", entry.name)
                             .At(entry.origin.ToString()));
      EntryCheck check = CheckEntry(registry_, entry, NamesOf(state_.config));
      if (check.unusable.ok()) names.insert(entry.name);
      if (!check.mistakes.empty()) {
        errors.push_back(Mistakes(check.mistakes));
      } else if (entry.required) {
        errors.push_back(WithRequired(check.unusable, entry));
      }
      checks.push_back(std::move(check));
    }
    return checks;
  }

  Status OpenEntry(const Entry& entry, EntryCheck& check) {
    if (check.provider != nullptr && !check.provider->distrust.empty())
      Log(LogLevel::kWarning, "{}: {}; it is used because of 'trust: any'", check.provider->path.string(),
          check.provider->distrust);
    DEPUTY_RETURN_IF_ERROR(check.unusable);
    OpenRequest request;
    request.delegate = entry.delegate;
    request.name = entry.name;
    request.device = check.device;
    request.driver = std::move(check.driver);
    request.is_accelerator = check.is_accelerator;
    if (check.provider->manifest) NoteUnknownDevices(*check.provider);
    request.helpers = &DefaultPartitionHelpers();
    request.options = std::move(check.options);
    request.pool = engine_->pool.get();
    request.check = IsChecking(state_.config);
    request.priority = entry.priority;
    request.precision = entry.precision;
    if (engine_->progress)
      request.progress = [engine = engine_.get(), name = entry.name](uint32_t permille, const std::string& step) {
        const Engine::Compiling now = engine->compiling();
        engine->Report({ProgressStage::kCompile, name, now.model, now.number, now.count, now.nodes, permille, step});
      };
    engine_->Report({ProgressStage::kOpen, entry.name, entry.delegate});
    Result<std::unique_ptr<Delegate>> opened = Open(entry, *check.provider, request);
    if (!opened.ok() && opened.status().code() == StatusCode::kDeviceLost) failed_.insert(entry.name);
    if (!opened.ok()) return AsPluginError(std::move(opened).status(), entry);
    HostedDelegate& hosted = engine_->delegates.emplace_back(std::shared_ptr<Delegate>(std::move(opened).value()));
    hosted.plugin_file = check.provider->path.string();
    KeepPlaces(entry, check.provider->path);
    hosted.limits = entry.limits;
    RunHandling handling = entry.handling;
    if (entry.verifies_unlisted && !check.provider->path.empty() && !check.provider->is_covered())
      handling.first_run = true;
    if (request.check) handling.falls_back = handling.replaces_wrong = false;
    hosted.health = std::make_shared<DelegateHealth>(handling);
    hosted.tolerances = entry.tolerance;
    // A precision that the entry asks for is that of the results; else the plugin's manifest may name one.
    hosted.tolerances.computes_in = entry.precision != DType::kUndefined ? entry.precision
                                    : check.provider->manifest           ? check.provider->manifest->computes
                                                                         : DType::kUndefined;
    return {};
  }

  // The plugin's file, and the libraries that it was seen to map.
  void KeepPlaces(const Entry& entry, const std::filesystem::path& path) {
    EntryOrigin& places = engine_->plugins[entry.name];
    places.file = path.string();
    const Result<LoadedPlugin::Expected> file = registry_.FileOf(entry.delegate);
    if (path.empty() || !file.ok()) return;
    for (size_t i = file->manifest.files.size(); i < file->parts.size(); ++i)
      places.libraries.push_back(file->parts[i].path.native());
  }

  // A sandbox opens devices of drivers that it knows, and a plugin that needs another one fails without a word of it.
  void NoteUnknownDevices(const PluginEntry& provider) {
    for (const std::string& device : provider.manifest->devices)
      if (!IsAccelerator(device))
        unknown_devices_.push_back(fmt::format(
            "{}: its manifest lists the device '{}', of no driver of accelerators that is known here: in a sandbox it "
            "cannot be opened ('plugins: {{sandbox: false}}' lifts that for all plugins)",
            provider.path.string(), device));
  }

  Result<std::unique_ptr<Delegate>> Open(const Entry& entry, const PluginEntry& provider, const OpenRequest& request) {
    if (state_.factory != nullptr) return state_.factory->Open(request);
    // What the checks look for happens in the process of the plugin.
    const bool trusts_all = *state_.config.plugins.trust == Trust::kAny || request.check;
    bool is_isolated = IsIsolated(entry, provider, trusts_all);
    // Refused where it must run in this process; else a process of its own gives it its own libraries.
    if (!is_isolated && entry.isolation == Isolation::kAuto)
      if (const std::string clash = registry_.ClashOf(entry.delegate); !clash.empty()) {
        is_isolated = true;
        Log(LogLevel::kWarning, "{}: runs in a worker process, because {}", provider.path.string(), clash);
      }
    if (!is_isolated) {
      if (IsIsolated(entry, provider, false))
        Log(LogLevel::kWarning, "{}: runs in this process, although no lock lists it, because {}",
            provider.path.string(),
            request.check ? "its calls are checked (debug.check, DEPUTY_CHECK)" : "of 'trust: any'");
      OpenRequest watched = request;
      watched.call_timeout = entry.call_timeout;
      watched.abort_on_hang = *state_.config.debug.abort_on_hang;
      return registry_.Open(watched);
    }
    // A plugin without any lock is isolated by the way; with one, something is not as it was meant to be.
    if (entry.isolation == Isolation::kAuto && !provider.listed && !trusts_all &&
        !(provider.lock.empty() && provider.replaceable.empty()))
      Log(LogLevel::kWarning, "{}: runs in a worker process, because no lock lists it: {}", provider.path.string(),
          provider.not_listed);
    DEPUTY_ASSIGN_OR_RETURN(const LoadedPlugin::Expected file, registry_.FileOf(entry.delegate));
    RemotePluginOptions options{WorkerProgram(), file.path};
    options.sandbox = *state_.config.plugins.sandbox;
    options.environment = EnvironmentOf(state_.config);
    for (const auto& [name, value] : file.manifest.environment) options.environment.push_back(name);
    options.memory_limit = entry.memory_limit;
    if (!file.manifest.opens.empty()) options.opened = NumberOf(request.options);
    options.call_timeout = entry.call_timeout;
    options.call_timeout_total = entry.call_timeout_total;
    options.run_timeout = entry.run_timeout;
    options.spin = entry.spin;
    if (engine_->arenas == nullptr) engine_->arenas = arenas_ != nullptr ? arenas_ : SharedArenas::Make();
    options.arenas = engine_->arenas;
    // The bytes that were opened, in the records as they are now; nothing where others are there now.
    const auto with_records = [store = engine_->store, sandbox = options.sandbox,
                               environment = EnvironmentOf(state_.config), file](auto use) {
      const auto bytes = PluginFile::Open(file.path);
      if (RejectionOf(bytes) != nullptr || std::get<0>(bytes)->identity() != file.identity) return;
      if (ChangedPart(file.parts) != nullptr) return;
      const size_t of_note = file.manifest.files.size();
      std::get<0>(bytes)->set_parts({file.parts.begin(), file.parts.begin() + static_cast<ptrdiff_t>(of_note)});
      std::get<0>(bytes)->set_mapped({file.parts.begin() + static_cast<ptrdiff_t>(of_note), file.parts.end()});
      PluginRecords records(store, sandbox, environment, /*reuse=*/true);
      use(records, *std::get<0>(bytes));
    };
    const FaultLimits limits = LimitsOf(options);
    FaultHandling faults;
    std::optional<Rejection> quarantined;  // the scan has refused what is quarantined under any limits
    with_records([&](PluginRecords& records, const PluginFile& bytes) {
      quarantined = records.FindInUse(bytes, limits);
      if (!quarantined) faults.known = records.Faults(bytes, limits);
    });
    if (quarantined) {
      failed_.insert(entry.name);
      return Error(StatusCode::kPlugin, "refused by the rule {}: {}", NameOf(quarantined->reason), quarantined->text)
          .At(file.path.string());
    }
    faults.give_up = [with_records, file](const std::string& text, const FaultLimits& of_faults) {
      with_records([&](PluginRecords& records, const PluginFile& bytes) {
        records.QuarantineInUse(bytes, file.path, file.manifest.id, text, of_faults);
      });
    };
    faults.keep = [with_records, file, limits](const FaultRecord& fault) {
      std::optional<std::vector<FaultRecord>> all;
      with_records([&](PluginRecords& records, const PluginFile& bytes) {
        all = records.AddFault(bytes, file.path, file.manifest.id, fault, limits);
      });
      return all;
    };
    return IsolatedDelegate::Open(file, request, options, std::move(faults));
  }

  // Custom-operator kernels: for nodes that no delegate supports and the CPU does not know.
  void AddOwnKernels() {
    const size_t count = engine_->delegates.size();
    for (size_t d = 0; d < count; ++d) {
      const OwnOperators* const own = engine_->delegates[d]->own_operators();
      std::shared_ptr<Delegate> kernels = own == nullptr ? nullptr : own->custom_kernels();
      if (kernels == nullptr) continue;
      HostedDelegate hosted(std::move(kernels));
      hosted.plugin_file = engine_->delegates[d].plugin_file;
      RunHandling handling;
      handling.falls_back = engine_->delegates[d].health->handling().falls_back;
      hosted.health = std::make_shared<DelegateHealth>(handling);
      engine_->delegates.push_back(std::move(hosted));
    }
  }

  static Status Mistakes(const std::vector<Problem>& mistakes) {
    std::string text;
    for (const Problem& mistake : mistakes) text += (text.empty() ? "" : "\n") + mistake.ToString();
    return Status(StatusCode::kConfig, text);
  }

  const Context::State& state_;
  const std::shared_ptr<SharedArenas> arenas_;
  std::shared_ptr<Engine> engine_;
  PluginRegistry registry_;
  std::set<std::string> failed_;              // entries whose plugin failed when it was opened, or in use before
  std::vector<std::string> unknown_devices_;  // behind the failures that they may explain
};

}  // namespace

Status CheckReferences(const Context::State& state, const std::vector<std::string>& found) {
  std::vector<std::string> names = found;
  for (const DeviceInfo& info : state.device_infos) names.push_back(info.name);
  for (const Context::State::InProcess& added : state.added) names.push_back(added.delegate.id);
  std::string text;
  for (const Problem& problem : UnknownReferences(state.config, names))
    text += (text.empty() ? "" : "\n") + problem.ToString();
  return text.empty() ? Status() : Status(StatusCode::kConfig, text);
}

PassOptions PassOptionsOf(const PassesConfig& config) {
  PassOptions options;
  options.evaluator = MakeCpuEvaluator();
  options.fold_budget_bytes = static_cast<size_t>(config.fold_budget->count);
#define DEPUTY_PASS(name, key, text) \
  if (!*config.key) options.Off(Pass::k##name);
#include "graph/passes/passes.inc"
  return options;
}

std::unique_ptr<Store> OpenStore(const Config& config) {
  std::optional<std::filesystem::path> folder = CacheFolder(*config.cache.dir);
  if (!folder || config.cache.max->count == 0) return nullptr;  // the latter where the configuration is wrong
  return std::make_unique<Store>(StoreOptions{*std::move(folder), static_cast<uint64_t>(config.cache.max->count)});
}

Status Joined(const std::vector<Status>& errors) {
  Status all;
  for (const Status& error : errors) {
    if (error.ok()) continue;
    all = all.ok() ? error : Status(all.code(), all.ToString() + "\n" + error.ToString());
  }
  return all;
}

Result<std::shared_ptr<Engine>> OpenEngine(const Context::State& state, std::shared_ptr<SharedArenas> arenas) {
  return EngineBuilder(state, std::move(arenas)).Run();
}

}  // namespace deputy::host
