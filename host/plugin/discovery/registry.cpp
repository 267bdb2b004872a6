#include "plugin/discovery/registry.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/judged_file.hpp"
#include "base/nearest.hpp"
#include "base/trust.hpp"
#include "plugin/discovery/plugin_build.hpp"
#include "plugin/discovery/plugin_parts.hpp"
#include "plugin/discovery/probe.hpp"
#include "plugin/proxy/delegate_proxy.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

// The host's own fallback; reports could not distinguish a plugin of that name from it.
constexpr std::string_view kReservedDelegate = "cpu";

// The value, or the rejection as a failure at `file`.
template <class T>
Result<T> ToResult(Checked<T> checked, const std::string& file) {
  const Rejection* rejection = RejectionOf(checked);
  if (rejection == nullptr) return std::get<T>(std::move(checked));
  StatusCode code = StatusCode::kPlugin;
  if (rejection->reason == RejectReason::kAbiMismatch) code = StatusCode::kIncompatible;
  if (rejection->reason == RejectReason::kMissing) code = StatusCode::kNotFound;
  return Status(code, rejection->text).At(file);
}

const DelegateDescription* FindDescription(const PluginEntry& entry, std::string_view delegate) {
  if (!entry.description) return nullptr;
  for (const DelegateDescription& description : entry.description->delegates)
    if (description.id == delegate) return &description;
  return nullptr;
}

bool IsWanted(const Manifest& manifest, const ScanOptions& options) {
  if (!options.named) return true;
  return std::any_of(manifest.delegates.begin(), manifest.delegates.end(), [&](const std::string& delegate) {
    return std::find(options.named->begin(), options.named->end(), delegate) != options.named->end();
  });
}

}  // namespace

void PluginRegistry::Scan(const ScanOptions& options) {
  const HostTraits host = ThisHost();
  KnownFolders known;
  for (const fs::path& folder : options.paths) ScanFolder(folder, options, host, known);
}

void PluginRegistry::ScanFolder(const fs::path& folder, const ScanOptions& options, const HostTraits& host,
                                KnownFolders& known) {
  const Result<JudgedFile> judged = OpenJudged(folder);
  std::error_code error;
  std::vector<fs::path> files;
  if (judged.ok() && S_ISDIR(judged->about.st_mode)) {
    FolderTrust& trust = known[judged->resolved];
    trust = {ReasonForDistrust(judged->about, judged->resolved), judged->above};
    if (options.refuse_untrusted && !trust.own.empty())
      return Reject(folder,
                    {RejectReason::kUntrusted, fmt::format("plugin folder: {}; no file in it is used", trust.own)});
  }
  files = PathsIn(folder, error);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".so"; });
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    const bool file = error == std::errc::not_a_directory;
    Reject(folder, missing ? Rejection{RejectReason::kMissing, "plugin folder does not exist"}
                   : file  ? Rejection{RejectReason::kNotAFile, "is a file, not a plugin folder"}
                           : Rejection{RejectReason::kUnreadable, "cannot be searched: " + error.message()});
  }
  const fs::path resolved = judged.ok() ? judged->resolved : folder;
  const Searched searched{judged.ok() ? judged->file.get() : -1, resolved};
  for (const fs::path& file : files) {
    auto candidate = std::make_unique<Candidate>();
    candidate->entry.path = file;
    if (options.progress) options.progress(file);
    if (std::optional<Rejection> rejection = Examine(*candidate, searched, options, host, known)) {
      candidate->entry.reason = rejection->reason;
      candidate->entry.text = std::move(rejection->text);
    } else {
      candidate->entry.accepted = true;
      by_id_.emplace(candidate->entry.manifest->id, candidate.get());
      std::vector<Offer> offers = OffersOf(*candidate);
      offers_.insert(offers_.end(), offers.begin(), offers.end());
    }
    candidates_.push_back(std::move(candidate));
  }
}

Checked<std::unique_ptr<PluginFile>> PluginRegistry::OpenFile(Candidate& candidate, const Searched& searched) {
  const fs::path name = candidate.entry.path.filename();
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  if (Descriptor opened(openat(searched.fd, name.c_str(), kFlags)); opened.get() >= 0) {
    candidate.resolved = searched.resolved / name;
    return PluginFile::Of(std::move(opened));
  }
  Result<JudgedFile> judged = OpenJudged(candidate.entry.path);
  // A link to nothing, a socket and the like: the error of the system says it best.
  if (!judged.ok() || judged->file.get() < 0 || !S_ISREG(judged->about.st_mode))
    return PluginFile::Open(candidate.entry.path);
  candidate.resolved = std::move(judged->resolved);
  candidate.entry.replaceable = std::move(judged->above);
  return PluginFile::Of(std::move(judged->file));
}

std::optional<Rejection> PluginRegistry::JudgeTrust(Candidate& candidate, const PluginFile& file,
                                                    const ScanOptions& options, KnownFolders& known) {
  PluginEntry& entry = candidate.entry;
  std::string distrust = file.Distrust();
  const auto judge_folder = [&](const fs::path& place, const std::string& subject) {
    const auto [found, added] = known.try_emplace(place);
    if (added)  // of a file behind a symbolic link
      if (const Result<JudgedFile> judged = OpenJudged(place); judged.ok())
        found->second = {ReasonForDistrust(judged->about, place), judged->above};
    if (distrust.empty() && !found->second.own.empty())
      distrust = fmt::format("{}its folder {}: {}", subject, place.string(), found->second.own);
    if (entry.replaceable.empty()) entry.replaceable = found->second.above;
  };
  judge_folder(candidate.resolved.parent_path(), "");
  for (const std::string& name : entry.manifest->files) {
    // A missing one is reported by the dynamic linker.
    const Result<JudgedFile> judged = OpenJudged(candidate.resolved.parent_path() / name);
    if (!judged.ok()) continue;
    const std::string subject = fmt::format("its file {}: ", name);
    const std::string why = judged->file.get() < 0 ? ReasonForDistrust(judged->about, judged->resolved)
                                                   : ReasonForDistrust(judged->about, judged->file.get());
    if (distrust.empty() && !why.empty()) distrust = subject + why;
    judge_folder(judged->resolved.parent_path(), subject);
    if (entry.replaceable.empty()) entry.replaceable = judged->above;
  }
  if (options.refuse_untrusted)
    return distrust.empty() ? std::nullopt : std::optional(Rejection{RejectReason::kUntrusted, std::move(distrust)});
  entry.distrust = distrust.empty() ? std::exchange(entry.replaceable, {}) : std::move(distrust);
  entry.replaceable.clear();
  return std::nullopt;
}

void PluginRegistry::JudgeLibraries(Candidate& candidate, const PluginFile& file, const ScanOptions& options) {
  PluginEntry& entry = candidate.entry;
  std::string& reason = options.refuse_untrusted ? entry.replaceable : entry.distrust;
  if (!reason.empty()) return;
  if (!library_folders_) library_folders_ = FoldersOfThisProcess();
  reason = DistrustOfLibraries(candidate.resolved, file, *library_folders_);
}

std::optional<Rejection> PluginRegistry::Examine(Candidate& candidate, const Searched& searched,
                                                 const ScanOptions& options, const HostTraits& host,
                                                 KnownFolders& known) {
  DEPUTY_ASSIGN_OR_REJECT(const std::unique_ptr<PluginFile> file, OpenFile(candidate, searched));
  candidate.identity = file->identity();
  const auto [first, added] = by_inode_.try_emplace({candidate.identity.device, candidate.identity.inode}, &candidate);
  if (!added) return Rejection{RejectReason::kDuplicate, "is the same file as " + first->second->entry.path.string()};

  DEPUTY_ASSIGN_OR_REJECT(candidate.entry.manifest, ReadManifest(*file, host));
  if (auto rejection = JudgeTrust(candidate, *file, options, known)) return rejection;
  if (auto rejection = CheckDuplicates(candidate)) return rejection;
  candidate.unwanted = !IsWanted(*candidate.entry.manifest, options);
  if (candidate.unwanted) return std::nullopt;
  candidate.parts = PartsOfNote(candidate.resolved, *candidate.entry.manifest);
  file->set_parts(candidate.parts);
  JudgeLibraries(candidate, *file, options);
  LookUpLock(candidate, *file, options);
  if (options.require_listed && !candidate.entry.listed)
    return Rejection{RejectReason::kNotListed, candidate.entry.not_listed};
  if (!options.probe) return std::nullopt;

  bool is_new = false;
  DEPUTY_ASSIGN_OR_REJECT(PluginDescription description, DescriptionOf(candidate, *file, options, is_new));
  if (description.id != candidate.entry.manifest->id)
    return Rejection{RejectReason::kBadTable, fmt::format("calls itself '{}', but its manifest says '{}'",
                                                          description.id, candidate.entry.manifest->id)};
  const Checked<FileIdentity> now = IdentityOf(candidate.resolved);
  if (!std::holds_alternative<FileIdentity>(now) || std::get<FileIdentity>(now) != candidate.identity)
    return Rejection{RejectReason::kChanged, "changed while it was probed"};
  if (const PluginPart* part = ChangedPart(candidate.parts))
    return Rejection{RejectReason::kChanged,
                     fmt::format("its file {} changed while it was probed", part->path.native())};
  AddParts(candidate.parts, description.mapped);
  if (is_new && options.records) options.records->Save(*file, description);
  candidate.entry.description = std::move(description);
  return std::nullopt;
}

Checked<PluginDescription> PluginRegistry::DescriptionOf(Candidate& candidate, PluginFile& file,
                                                         const ScanOptions& options, bool& is_new) {
  ProbeOptions how{options.worker, options.probe_timeout, options.sandbox, options.environment};
  // The user may set what the plugin sets.
  for (const auto& [name, value] : candidate.entry.manifest->environment) how.environment.push_back(name);
  if (!options.records) return Probe(candidate.resolved, how);
  ProbeRecords::Known known = options.records->Find(file);
  candidate.content = known.content;
  if (known.quarantined) return *std::move(known.quarantined);
  if (known.description) return *std::move(known.description);
  std::vector<PluginPart> mapped;
  Checked<PluginDescription> probed = Probe(candidate.resolved, how, &mapped);
  file.set_mapped(std::move(mapped));
  is_new = true;
  if (const Rejection* fault = RejectionOf(probed); fault != nullptr && IsFault(fault->reason))
    return options.records->Quarantine(file, candidate.entry.path, candidate.entry.manifest->id, *fault);
  return probed;
}

void PluginRegistry::LookUpLock(Candidate& candidate, const PluginFile& file, const ScanOptions& options) {
  PluginEntry& entry = candidate.entry;
  const auto refuse = [&](std::string why) { entry.not_listed = std::move(why); };
  if (!options.look_up_lock) return refuse("no lock is read");
  const fs::path folder = entry.path.parent_path();
  LockAnswer answer = options.look_up_lock(folder, entry.path.filename().string(), file);
  entry.lock = std::move(answer.lock);
  if (!answer.problem.empty()) return refuse(std::move(answer.problem));
  for (const std::string& name : entry.manifest->files) {
    const auto owned = PluginFile::Open(candidate.resolved.parent_path() / name);
    const Rejection* rejection = RejectionOf(owned);
    std::string why = rejection != nullptr
                          ? rejection->text
                          : options.look_up_lock(folder, name, *std::get<std::unique_ptr<PluginFile>>(owned)).problem;
    if (!why.empty()) return refuse(fmt::format("its file {}: {}", name, why));
  }
  if (!entry.replaceable.empty()) return refuse("others could replace it: " + entry.replaceable);
  entry.listed = true;
}

std::optional<Rejection> PluginRegistry::CheckDuplicates(const Candidate& candidate) const {
  const auto other = by_id_.find(candidate.entry.manifest->id);
  if (other == by_id_.end()) return std::nullopt;
  return Rejection{RejectReason::kDuplicate, fmt::format("has the plugin id '{}' of {}, which was found first",
                                                         other->first, other->second->entry.path.string())};
}

void PluginRegistry::Reject(const fs::path& path, Rejection rejection) {
  auto candidate = std::make_unique<Candidate>();
  candidate->entry.path = path;
  candidate->entry.reason = rejection.reason;
  candidate->entry.text = std::move(rejection.text);
  candidates_.push_back(std::move(candidate));
}

std::vector<PluginRegistry::Offer> PluginRegistry::OffersOf(Candidate& candidate) const {
  std::vector<std::string> ids;
  if (candidate.entry.description) {
    for (const DelegateDescription& delegate : candidate.entry.description->delegates) ids.push_back(delegate.id);
  } else {
    ids = candidate.entry.manifest->delegates;
  }
  std::vector<Offer> offers;
  for (std::string& id : ids) {
    if (id == kReservedDelegate) {
      candidate.entry.notes.push_back(fmt::format("delegate '{}' has a name that is reserved for the host", id));
    } else if (const PluginEntry* other = ProviderOf(id)) {
      candidate.entry.notes.push_back(fmt::format("delegate '{}' comes from {}", id,
                                                  other->path.empty() ? "the application" : other->path.string()));
    } else {
      offers.push_back({std::move(id), &candidate});
    }
  }
  return offers;
}

Status PluginRegistry::AddInProcess(const deputy_plugin* table, std::shared_ptr<void> keep) {
  const std::string place = "plugin of the application";
  if (table == nullptr) return Error(StatusCode::kInvalidArgument, "the delegate is null").At(place);
  auto candidate = std::make_unique<Candidate>();
  DEPUTY_ASSIGN_OR_RETURN(candidate->loaded, ToResult(LoadedPlugin::Adopt(table, std::move(keep)), place));
  DEPUTY_ASSIGN_OR_RETURN(candidate->entry.description,
                          ToResult(host::Describe(*table, candidate->loaded->host()), place));
  candidate->entry.accepted = true;
  for (const DelegateDescription& delegate : candidate->entry.description->delegates) {
    const PluginEntry* other = ProviderOf(delegate.id);
    if (delegate.id == kReservedDelegate || (other != nullptr && other->path.empty()))
      return Error(StatusCode::kInvalidArgument, "a delegate '{}' already exists", delegate.id).At(place);
  }
  // Delegates of the application take precedence over those of the same name in files.
  std::vector<Offer> offers;
  for (const DelegateDescription& delegate : candidate->entry.description->delegates) {
    std::erase_if(offers_, [&](const Offer& offer) { return offer.delegate == delegate.id; });
    offers.push_back({delegate.id, candidate.get()});
  }
  offers_.insert(offers_.begin(), offers.begin(), offers.end());
  candidates_.insert(candidates_.begin(), std::move(candidate));
  return {};
}

std::vector<const PluginEntry*> PluginRegistry::entries() const {
  std::vector<const PluginEntry*> entries;
  for (const auto& candidate : candidates_) entries.push_back(&candidate->entry);
  return entries;
}

std::vector<std::string> PluginRegistry::delegate_ids() const {
  std::vector<std::string> ids;
  for (const Offer& offer : offers_) ids.push_back(offer.delegate);
  return ids;
}

const PluginEntry* PluginRegistry::ProviderOf(std::string_view delegate) const {
  for (const Offer& offer : offers_)
    if (offer.delegate == delegate) return &offer.candidate->entry;
  return nullptr;
}

const PluginEntry* PluginRegistry::RefusedProviderOf(std::string_view delegate) const {
  for (const auto& candidate : candidates_) {
    const PluginEntry& entry = candidate->entry;
    if (entry.accepted || !entry.manifest) continue;
    const std::vector<std::string>& offered = entry.manifest->delegates;
    if (std::find(offered.begin(), offered.end(), delegate) != offered.end()) return &entry;
  }
  return nullptr;
}

std::string PluginRegistry::RefusalOf(std::string_view delegate) const {
  const PluginEntry* const refused = RefusedProviderOf(delegate);
  return refused == nullptr ? "" : fmt::format("{} has it, but {}", refused->path.string(), refused->text);
}

bool PluginRegistry::HasFailed(std::string_view delegate) const {
  const PluginEntry* const refused = RefusedProviderOf(delegate);
  return refused != nullptr && IsFault(refused->reason);
}

Result<PluginRegistry::Candidate*> PluginRegistry::Find(std::string_view delegate) {
  for (const Offer& offer : offers_)
    if (offer.delegate == delegate) return offer.candidate;
  const std::vector<std::string> ids = delegate_ids();
  Status missing = Error(StatusCode::kNotFound, "no plugin has a delegate '{}'{}", delegate,
                         DidYouMean(delegate, std::span<const std::string>(ids)));
  // If a file that has it was refused, the advice names it.
  if (std::string refusal = RefusalOf(delegate); !refusal.empty()) return std::move(missing).Advise(std::move(refusal));
  return missing;
}

Result<LoadedPlugin::Expected> PluginRegistry::FileOf(std::string_view delegate) {
  DEPUTY_ASSIGN_OR_RETURN(const Candidate* const candidate, Find(delegate));
  if (!candidate->entry.manifest)
    return Error(StatusCode::kFailedPrecondition, "the plugin of delegate '{}' is part of the application, no file",
                 delegate);
  return ExpectedOf(*candidate);
}

LoadedPlugin::Expected PluginRegistry::ExpectedOf(const Candidate& candidate) {
  const size_t of_note = candidate.entry.manifest->files.size();  // the first of the parts
  return {candidate.resolved, candidate.identity, *candidate.entry.manifest, candidate.parts,
          PartsText(candidate.content, candidate.parts, of_note)};
}

std::string PluginRegistry::ClashOf(std::string_view delegate) {
  const Result<Candidate*> candidate = Find(delegate);
  if (!candidate.ok() || (*candidate)->loaded || !(*candidate)->entry.manifest) return {};
  return host::ClashOf((*candidate)->resolved, *(*candidate)->entry.manifest, (*candidate)->parts);
}

Result<std::shared_ptr<LoadedPlugin>> PluginRegistry::Load(std::string_view delegate) {
  DEPUTY_ASSIGN_OR_RETURN(Candidate* const candidate, Find(delegate));
  if (candidate->loaded) return candidate->loaded;
  if (candidate->unwanted)
    return Status(StatusCode::kFailedPrecondition,
                  "was not probed: this delegate was not requested when the folders were scanned")
        .At(candidate->entry.path.string());
  const std::string file = candidate->entry.path.string();
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<LoadedPlugin> plugin,
                          ToResult(LoadedPlugin::Load(ExpectedOf(*candidate)), file));
  if (!candidate->entry.description) {
    DEPUTY_ASSIGN_OR_RETURN(candidate->entry.description,
                            ToResult(host::Describe(plugin->table(), plugin->host()), file));
  }
  return candidate->loaded = std::move(plugin);
}

Result<DelegateDescription> PluginRegistry::Describe(std::string_view delegate) {
  DEPUTY_ASSIGN_OR_RETURN(Candidate* const candidate, Find(delegate));
  if (!candidate->entry.description) DEPUTY_RETURN_IF_ERROR(Load(delegate).status());
  if (const DelegateDescription* description = FindDescription(candidate->entry, delegate)) return *description;
  return Error(StatusCode::kPlugin, "its manifest lists the delegate '{}', but the plugin does not provide it",
               delegate)
      .At(candidate->entry.path.string());
}

Result<std::unique_ptr<Delegate>> PluginRegistry::Open(const OpenRequest& request) {
  DEPUTY_ASSIGN_OR_RETURN(const DelegateDescription description, Describe(request.delegate));
  if (!description.available)
    return Error(StatusCode::kUnavailable, "delegate '{}' cannot be used here: {}", request.delegate,
                 description.unavailable);
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<LoadedPlugin> plugin, Load(request.delegate));
  return DelegateProxy::Open(std::move(plugin), request);
}

}  // namespace deputy::host
