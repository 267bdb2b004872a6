#include "plugin/discovery/registry.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/nearest.hpp"
#include "base/trust.hpp"
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

// A missing folder is not distrusted; the error follows when it is opened.
const std::string& DistrustOf(const fs::path& folder, std::map<fs::path, std::string>& known) {
  const auto [found, added] = known.try_emplace(folder);
  struct stat about {};
  if (added && stat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode))
    found->second = ReasonForDistrust(about, folder);
  return found->second;
}

// Of a file that belongs to a plugin, and of its folder. A missing one is reported by the dynamic linker.
std::string DistrustOfFile(const fs::path& file, std::map<fs::path, std::string>& folders) {
  std::error_code error;
  const fs::path resolved = fs::canonical(file, error);
  struct stat about {};
  if (error || stat(resolved.c_str(), &about) != 0) return {};
  std::string why = ReasonForDistrust(about, resolved);
  const fs::path place = resolved.parent_path();
  if (const std::string& reason = DistrustOf(place, folders); why.empty() && !reason.empty())
    why = fmt::format("its folder {}: {}", place.string(), reason);
  return why;
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
  FolderTrust folders;
  for (const fs::path& folder : options.paths) ScanFolder(folder, options, host, folders);
}

void PluginRegistry::ScanFolder(const fs::path& folder, const ScanOptions& options, const HostTraits& host,
                                FolderTrust& folders) {
  std::error_code error;
  if (options.refuse_untrusted) {
    const fs::path resolved = fs::canonical(folder, error);
    if (const std::string& why = DistrustOf(resolved, folders); !error && !why.empty())
      return Reject(folder, {RejectReason::kUntrusted, fmt::format("plugin folder: {}; no file in it is used", why)});
    error.clear();
  }
  std::vector<fs::path> files = PathsIn(folder, error);
  std::erase_if(files, [](const fs::path& file) { return file.extension() != ".so"; });
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    const bool file = error == std::errc::not_a_directory;
    Reject(folder, missing ? Rejection{RejectReason::kMissing, "plugin folder does not exist"}
                   : file  ? Rejection{RejectReason::kNotAFile, "is a file, not a plugin folder"}
                           : Rejection{RejectReason::kUnreadable, "cannot be searched: " + error.message()});
  }
  for (const fs::path& file : files) {
    auto candidate = std::make_unique<Candidate>();
    candidate->entry.path = file;
    if (options.progress) options.progress(file);
    if (std::optional<Rejection> rejection = Examine(*candidate, options, host, folders)) {
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

std::optional<Rejection> PluginRegistry::Examine(Candidate& candidate, const ScanOptions& options,
                                                 const HostTraits& host, FolderTrust& folders) {
  DEPUTY_ASSIGN_OR_REJECT(const std::unique_ptr<PluginFile> file, PluginFile::Open(candidate.entry.path));
  candidate.identity = file->identity();
  std::error_code error;
  candidate.resolved = fs::canonical(candidate.entry.path, error);
  if (error) return Rejection{RejectReason::kUnreadable, "cannot be resolved: " + error.message()};
  const auto [first, added] = by_inode_.try_emplace({candidate.identity.device, candidate.identity.inode}, &candidate);
  if (!added) return Rejection{RejectReason::kDuplicate, "is the same file as " + first->second->entry.path.string()};

  DEPUTY_ASSIGN_OR_REJECT(candidate.entry.manifest, ReadManifest(*file, host));
  std::string distrust = file->distrust();
  const fs::path place = candidate.resolved.parent_path();  // another than the searched folder, behind a symbolic link
  if (const std::string& why = DistrustOf(place, folders); distrust.empty() && !why.empty())
    distrust = fmt::format("its folder {}: {}", place.string(), why);
  for (const std::string& name : candidate.entry.manifest->files)
    if (const std::string why = DistrustOfFile(place / name, folders); distrust.empty() && !why.empty())
      distrust = fmt::format("its file {}: {}", name, why);
  if (!distrust.empty() && options.refuse_untrusted) return Rejection{RejectReason::kUntrusted, std::move(distrust)};
  candidate.entry.distrust = std::move(distrust);
  if (auto rejection = CheckDuplicates(candidate)) return rejection;
  candidate.unwanted = !IsWanted(*candidate.entry.manifest, options);
  if (candidate.unwanted) return std::nullopt;
  std::string not_listed = ReasonNotListed(candidate, *file, options);
  candidate.entry.listed = not_listed.empty();
  if (options.require_listed && !not_listed.empty()) return Rejection{RejectReason::kNotListed, std::move(not_listed)};
  if (!options.probe) return std::nullopt;

  bool is_new = false;
  DEPUTY_ASSIGN_OR_REJECT(PluginDescription description, DescriptionOf(candidate, *file, options, is_new));
  if (description.id != candidate.entry.manifest->id)
    return Rejection{RejectReason::kBadTable, fmt::format("calls itself '{}', but its manifest says '{}'",
                                                          description.id, candidate.entry.manifest->id)};
  const Checked<FileIdentity> now = IdentityOf(candidate.resolved);
  if (!std::holds_alternative<FileIdentity>(now) || std::get<FileIdentity>(now) != candidate.identity)
    return Rejection{RejectReason::kChanged, "changed while it was probed"};
  if (is_new && options.records) options.records->Save(*file, description);
  candidate.entry.description = std::move(description);
  return std::nullopt;
}

Checked<PluginDescription> PluginRegistry::DescriptionOf(const Candidate& candidate, const PluginFile& file,
                                                         const ScanOptions& options, bool& is_new) {
  const ProbeOptions how{options.worker, options.probe_timeout, options.sandbox};
  if (!options.records) return Probe(candidate.resolved, how);
  ProbeRecords::Known known = options.records->Find(file);
  if (known.quarantined) return *std::move(known.quarantined);
  if (known.description) return *std::move(known.description);
  Checked<PluginDescription> probed = Probe(candidate.resolved, how);
  is_new = true;
  if (const Rejection* fault = RejectionOf(probed); fault != nullptr && IsFault(fault->reason))
    return options.records->Quarantine(file, candidate.entry.path, candidate.entry.manifest->id, *fault);
  return probed;
}

std::string PluginRegistry::ReasonNotListed(const Candidate& candidate, const PluginFile& file,
                                            const ScanOptions& options) {
  if (!options.reason_not_listed) return "no lock is read";
  const fs::path folder = candidate.entry.path.parent_path();
  std::string why = options.reason_not_listed(folder, candidate.entry.path.filename().string(), file);
  if (!why.empty()) return why;
  for (const std::string& name : candidate.entry.manifest->files) {
    const auto owned = PluginFile::Open(candidate.resolved.parent_path() / name);
    const Rejection* rejection = RejectionOf(owned);
    why = rejection != nullptr ? rejection->text
                               : options.reason_not_listed(folder, name, *std::get<std::unique_ptr<PluginFile>>(owned));
    if (!why.empty()) return fmt::format("its file {}: {}", name, why);
  }
  return "";
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

std::string PluginRegistry::RefusalOf(std::string_view delegate) const {
  for (const auto& candidate : candidates_) {
    const PluginEntry& entry = candidate->entry;
    if (entry.accepted || !entry.manifest) continue;
    const std::vector<std::string>& offered = entry.manifest->delegates;
    if (std::find(offered.begin(), offered.end(), delegate) != offered.end())
      return fmt::format("{} has it, but {}", entry.path.string(), entry.text);
  }
  return {};
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
  return LoadedPlugin::Expected{candidate->resolved, candidate->identity, *candidate->entry.manifest};
}

Result<std::shared_ptr<LoadedPlugin>> PluginRegistry::Load(std::string_view delegate) {
  DEPUTY_ASSIGN_OR_RETURN(Candidate* const candidate, Find(delegate));
  if (candidate->loaded) return candidate->loaded;
  if (candidate->unwanted)
    return Status(StatusCode::kFailedPrecondition,
                  "was not probed: this delegate was not requested when the folders were scanned")
        .At(candidate->entry.path.string());
  const std::string file = candidate->entry.path.string();
  DEPUTY_ASSIGN_OR_RETURN(
      std::shared_ptr<LoadedPlugin> plugin,
      ToResult(LoadedPlugin::Load({candidate->resolved, candidate->identity, *candidate->entry.manifest}), file));
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
