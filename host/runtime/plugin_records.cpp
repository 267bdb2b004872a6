#include "runtime/plugin_records.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/file.hpp"
#include "base/plural.hpp"
#include "deputy/abi/delegate.h"
#include "deputy/version.hpp"
#include "plugin/discovery/plugin_build.hpp"
#include "plugin/discovery/plugin_parts.hpp"
#include "plugin/discovery/probe_wire.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The kernel, and the versions of drivers that do not come with it.
Digest SystemDigest() {
  constexpr const char* kModules[] = {"amdgpu",    "amdxdna",    "apex",   "galcore", "habanalabs", "hailo_pci", "i915",
                                      "intel_vpu", "mali_kbase", "nvidia", "qaic",    "rknpu",      "xe"};
  Digester digester;
  utsname system{};
  uname(&system);
  digester.AddText("deputy system").AddText(system.release).AddText(system.version).AddText(system.machine);
  for (const char* module : kModules) digester.AddText(FirstLine(fs::path("/sys/module") / module / "version"));
  return digester.Finish();
}

void AddNames(const fs::path& folder, Digester& digester) {
  std::error_code ignored;
  const std::vector<fs::path> paths = PathsIn(folder, ignored);
  digester.AddNumber(paths.size());
  for (const fs::path& path : paths) digester.AddText(path.filename().string());
}

// Devices come and go with files and with boots, and plugins read the environment. What a terminal or a shell changes
// all the time says nothing about them.
Digest SurroundingsDigest(const Digest& system, bool sandbox, const std::vector<std::string>& environment) {
  constexpr std::string_view kIgnored[] = {"_=", "PWD=", "OLDPWD=", "SHLVL=", "COLUMNS=", "LINES=", "WINDOWID="};
  Digester digester;
  digester.AddText("deputy surroundings").Add(system).AddNumber(sandbox ? 1 : 0);
  digester.AddNumber(environment.size());
  for (const std::string& pattern : environment) digester.AddText(pattern);
  digester.AddText(DEPUTY_VERSION).AddNumber(DEPUTY_ABI_VERSION);
  digester.AddText(FirstLine("/proc/sys/kernel/random/boot_id"));
  for (const char* folder : {"/dev", "/dev/accel", "/dev/dri", "/sys/bus/pci/devices", "/sys/bus/usb/devices"})
    AddNames(folder, digester);
  std::vector<std::string_view> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::none_of(std::begin(kIgnored), std::end(kIgnored), [variable](std::string_view ignored) {
          return std::string_view(*variable).substr(0, ignored.size()) == ignored;
        }))
      variables.emplace_back(*variable);
  std::sort(variables.begin(), variables.end());
  for (const std::string_view variable : variables) digester.AddText(variable);
  return digester.Finish();
}

void AddContent(const PluginFile& file, Digester& digester) {
  std::vector<uint8_t> piece(size_t{1} << 16);
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    piece.resize(static_cast<size_t>(std::min<uint64_t>(piece.size(), file.size() - at)));
    if (!file.Read(at, piece.data(), piece.size())) break;
    digester.Add(piece);
  }
}

// Of the file and those of its note. A part beyond this size is known by its size and times.
Digest ContentDigest(const PluginFile& file) {
  constexpr uint64_t kMostRead = uint64_t{1} << 30;
  Digester digester;
  AddContent(file, digester);
  for (const PluginPart& part : file.parts()) {
    const auto opened = PluginFile::Open(part.path);
    const PluginFile* bytes = RejectionOf(opened) == nullptr ? std::get<0>(opened).get() : nullptr;
    digester.AddText(part.path.filename().native()).AddNumber(bytes == nullptr ? UINT64_MAX : bytes->size());
    if (bytes == nullptr) continue;
    if (bytes->size() <= kMostRead)
      AddContent(*bytes, digester);
    else
      AddStates({&part, 1}, digester);
  }
  return digester.Finish();
}

// The file at this path, or one of its note, is there with another content: what was noted of it was of an earlier one.
// It still holds for files of that content elsewhere.
bool HasChanged(const fs::path& path, const Digest& content) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return false;
  const auto plugin = OpenWithParts(path);
  return RejectionOf(plugin) != nullptr || ContentDigest(*std::get<0>(plugin).file) != content;
}

void AddIdentity(const FileIdentity& identity, Digester& digester) {
  digester.AddNumber(identity.device)
      .AddNumber(identity.inode)
      .AddNumber(identity.size)
      .AddNumber(static_cast<uint64_t>(identity.modified_ns))
      .AddNumber(static_cast<uint64_t>(identity.changed_ns));
}

std::optional<Digest> ParseDigest(std::string_view text) {
  Digest digest;
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i)
    if (std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, digest[i], 16).ptr != text.data() + 2 * i + 2)
      return std::nullopt;
  return digest;
}

// The bytes of an entry: lines "key=value".
constexpr size_t kMostValue = 1000;
constexpr size_t kMostQuarantines = 16;  // of a file, under other limits each
using Fields = std::map<std::string, std::string, std::less<>>;

std::string TextOf(const Fields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) {
    std::string line = value.substr(0, kMostValue);
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += fmt::format("{}={}\n", key, line);
  }
  return text;
}

Fields FieldsOf(std::span<const uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Fields fields;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (const size_t equals = line.find('='); equals != std::string_view::npos)
      fields.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return fields;
}

// The libraries that a plugin has mapped, as fields "part0" and so on. One that has no place is left out.
constexpr size_t kMostParts = 64;

void AddParts(std::span<const PluginPart> parts, Fields& fields) {
  for (size_t i = 0; i < std::min(parts.size(), kMostParts); ++i)
    if (const std::string text = TextOf(parts[i]); text.size() < kMostValue && text.find('\n') == std::string::npos)
      fields[fmt::format("part{}", i)] = text;
}

std::vector<PluginPart> PartsOf(const Fields& fields) {
  std::vector<PluginPart> parts;
  for (const auto& [key, value] : fields)
    if (key.rfind("part", 0) == 0 && key.size() > 4)
      if (std::optional<PluginPart> part = ParsePart(value)) parts.push_back(*std::move(part));
  return parts;
}

// The bytes of an entry of faults: the lines of the file, then after an empty line those of each fault.
std::string_view TakeBlock(std::string_view& text) {
  const size_t end = text.find("\n\n");
  const std::string_view block = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  return block;
}

std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

int64_t NumberOf(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int64_t SecondsOf(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Of seconds since 1970; 1970 where a damaged record has a number that is no time.
std::chrono::system_clock::time_point TimeOf(int64_t seconds) {
  using Clock = std::chrono::system_clock;
  constexpr auto kLatest = std::chrono::duration_cast<std::chrono::seconds>(Clock::duration::max());
  return seconds < 0 || seconds > kLatest.count() ? Clock::time_point()
                                                  : Clock::time_point(std::chrono::seconds(seconds));
}

Rejection InQuarantine(Rejection fault) {
  fault.text += "; it is quarantined (deputy quarantine ls)";
  return fault;
}

// Names a part that is kept away from a file: an entry of faults, and the content.
Digest PartKey(const Digest& entry, const FaultRecord& fault) {
  return Digester().AddText("deputy part").Add(entry).Add(fault.content.content).Add(fault.content.model).Finish();
}

bool IsAvailable(const PluginDescription& description) {
  return std::all_of(description.delegates.begin(), description.delegates.end(),
                     [](const DelegateDescription& delegate) { return delegate.available; });
}

}  // namespace

PluginRecords::PluginRecords(std::shared_ptr<Store> store, bool sandbox, const std::vector<std::string>& environment,
                             bool reuse, std::chrono::milliseconds probe_timeout)
    : store_(std::move(store)),
      reuse_(reuse),
      sandbox_(sandbox),
      probe_timeout_(probe_timeout),
      system_(SystemDigest()),
      surroundings_(SurroundingsDigest(system_, sandbox, environment)) {}

Digest PluginRecords::ProbeKey(const PluginFile& file) const {
  Digester digester;
  digester.AddText("deputy probe").Add(surroundings_);
  AddIdentity(file.identity(), digester);
  for (const PluginPart& part : file.parts()) AddIdentity(part.identity, digester);
  return digester.Finish();
}

Digest PluginRecords::QuarantineKey(const Digest& content) const {
  return Digester().AddText("deputy quarantine").AddText(DEPUTY_VERSION).Add(system_).Add(content).Finish();
}

Digest PluginRecords::FaultsKey(const Digest& content) const {
  return Digester().AddText("deputy faults").AddText(DEPUTY_VERSION).Add(system_).Add(content).Finish();
}

PluginRecords::Kept PluginRecords::Look(const PluginFile& file, bool describe) {
  Kept known;
  const std::optional<StoredEntry> entry = store_->Find(EntryKind::kProbe, ProbeKey(file));
  const std::optional<Digest> content = entry ? ParseDigest(entry->text) : std::nullopt;
  if (!content) {
    known.content = ContentDigest(file);
    return known;
  }
  known.content = *content;
  if (!describe) return known;
  ProbeStream stream(0);
  if (stream.Feed(entry->bytes) && stream.reply() && RejectionOf(*stream.reply()) == nullptr)
    known.description = std::get<PluginDescription>(*stream.reply());
  // It holds for the libraries that were mapped then.
  if (known.description && ChangedPart(known.description->mapped) != nullptr) known.description.reset();
  return known;
}

ProbeRecords::Known PluginRecords::Find(const PluginFile& file) {
  if (store_ == nullptr) return {};
  Kept kept = Look(file, reuse_);
  FaultLimits limits = FaultLimits::OfSystem(sandbox_);
  limits.Add(FaultLimits::kProbeTimeout, static_cast<uint64_t>(probe_timeout_.count()));
  if (std::optional<Rejection> quarantined = FindQuarantine(kept.content, limits))
    return {std::move(quarantined), std::nullopt, kept.content};
  return {std::nullopt, std::move(kept.description), kept.content};
}

std::optional<Rejection> PluginRecords::FindInUse(const PluginFile& file, const FaultLimits& limits) {
  if (store_ == nullptr) return std::nullopt;
  return FindQuarantine(Look(file, false).content, limits);
}

std::vector<Fields> PluginRecords::ReadQuarantine(const Digest& key) {
  std::vector<Fields> blocks;
  const std::optional<StoredEntry> stored = store_->Find(EntryKind::kQuarantine, key);
  if (!stored) return blocks;
  std::string_view text(reinterpret_cast<const char*>(stored->bytes.data()), stored->bytes.size());
  while (!text.empty() && blocks.size() < kMostQuarantines) blocks.push_back(FieldsOf(BytesOf(TakeBlock(text))));
  return blocks;
}

std::optional<Rejection> PluginRecords::FindQuarantine(const Digest& content, const FaultLimits& limits) {
  for (Fields& fields : ReadQuarantine(QuarantineKey(content)))
    if (FaultLimits::Parse(fields["limits"]).CountsWith(limits) && ChangedPart(PartsOf(fields)) == nullptr)
      return InQuarantine({RejectReasonOf(fields["reason"]).value_or(RejectReason::kFailedInUse), fields["text"]});
  return std::nullopt;
}

void PluginRecords::Save(const PluginFile& file, const PluginDescription& description) {
  // A device that cannot be used now may come back without a trace in the surroundings.
  if (store_ == nullptr || !IsAvailable(description)) return;
  store_->Save(EntryKind::kProbe, ProbeKey(file), HexText(Look(file, false).content), EncodeReply(0, description),
               {{}, description.id, description.version, {}, {}, {}, {}});
}

Rejection PluginRecords::Quarantine(const PluginFile& file, const fs::path& path, const std::string& plugin,
                                    Rejection fault) {
  FaultLimits limits = FaultLimits::OfSystem(sandbox_);
  if (fault.reason == RejectReason::kProbeTimedOut)
    limits.Add(FaultLimits::kProbeTimeout, static_cast<uint64_t>(probe_timeout_.count()));
  return AddQuarantine(file, path, plugin, std::move(fault), limits);
}

void PluginRecords::QuarantineInUse(const PluginFile& file, const fs::path& path, const std::string& plugin,
                                    const std::string& faults, const FaultLimits& limits) {
  // The caller of a run had the plugin ended: other processes learn nothing from that.
  if (!limits.Has(FaultLimits::kDeadline))
    (void)AddQuarantine(file, path, plugin, {RejectReason::kFailedInUse, faults}, limits);
}

Rejection PluginRecords::AddQuarantine(const PluginFile& file, const fs::path& path, const std::string& plugin,
                                       Rejection fault, const FaultLimits& limits) {
  if (store_ == nullptr) return fault;
  const Digest content = Look(file, false).content;
  const auto since =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  std::vector<Fields> blocks = ReadQuarantine(QuarantineKey(content));
  // Those that count nowhere else.
  std::erase_if(blocks, [&](Fields& fields) { return limits.CountsWith(FaultLimits::Parse(fields["limits"])); });
  if (blocks.size() >= kMostQuarantines) blocks.erase(blocks.begin());
  Fields block{{"file", path.string()},
               {"plugin", plugin},
               {"reason", std::string(NameOf(fault.reason))},
               {"text", fault.text},
               {"since", std::to_string(since.count())},
               {"content", HexText(content)},
               {"limits", limits.ToText()}};
  AddParts(file.mapped(), block);
  blocks.push_back(std::move(block));
  std::string text;
  for (const Fields& fields : blocks) text += TextOf(fields) + "\n";
  const std::string summary = fmt::format("{}: {}", path.filename().string(), fault.text.substr(0, kMostValue));
  const std::string failure = store_->Save(EntryKind::kQuarantine, QuarantineKey(content), summary,
                                           {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return failure.empty() ? InQuarantine(std::move(fault)) : fault;
}

std::pair<PluginRecords::FaultyFile, std::vector<FaultRecord>> PluginRecords::ReadFaults(const Digest& key) {
  std::pair<FaultyFile, std::vector<FaultRecord>> read;
  const std::optional<StoredEntry> stored = store_->Find(EntryKind::kFaults, key);
  if (!stored) return read;
  std::string_view text(reinterpret_cast<const char*>(stored->bytes.data()), stored->bytes.size());
  Fields head = FieldsOf(BytesOf(TakeBlock(text)));
  read.first = {head["file"], head["plugin"], ParseDigest(head["content"]).value_or(Digest()), PartsOf(head)};
  if (ChangedPart(read.first.parts) != nullptr) return {};  // the faults were those of another library
  while (!text.empty() && read.second.size() < PluginFaults::kMostRecords) {
    Fields fields = FieldsOf(BytesOf(TakeBlock(text)));
    const std::optional<Digest> content = ParseDigest(fields["content"]), model = ParseDigest(fields["model"]);
    if (!content || !model) continue;
    const auto count = [&](const char* name) {
      return static_cast<uint32_t>(std::clamp<int64_t>(NumberOf(fields[name]), 0, 1'000'000));
    };
    read.second.push_back({{*content, *model, fields["name"], fields["part"]},
                           count("count"),
                           count("alone"),
                           fields["text"],
                           TimeOf(NumberOf(fields["last"])),
                           FaultLimits::Parse(fields["limits"])});
  }
  return read;
}

std::string PluginRecords::WriteFaults(const Digest& key, const FaultyFile& file,
                                       const std::vector<FaultRecord>& records) {
  Fields head{{"file", file.file}, {"plugin", file.plugin}, {"content", HexText(file.content)}};
  AddParts(file.parts, head);
  std::string text = TextOf(head);
  for (const FaultRecord& record : records)
    text += "\n" + TextOf({{"content", HexText(record.content.content)},
                           {"model", HexText(record.content.model)},
                           {"name", record.content.model_name},
                           {"part", record.content.part},
                           {"count", std::to_string(record.count)},
                           {"alone", std::to_string(record.alone)},
                           {"text", record.text},
                           {"last", std::to_string(SecondsOf(record.last))},
                           {"limits", record.limits.ToText()}});
  const std::string summary = fmt::format("{}: {} faults", fs::path(file.file).filename().string(), records.size());
  return store_->Save(EntryKind::kFaults, key, summary, BytesOf(text));
}

std::vector<FaultRecord> PluginRecords::Faults(const PluginFile& file, const FaultLimits& limits) {
  if (store_ == nullptr) return {};
  return CountingWith(ReadFaults(FaultsKey(Look(file, false).content)).second, limits);
}

std::optional<std::vector<FaultRecord>> PluginRecords::AddFault(const PluginFile& file, const fs::path& path,
                                                                const std::string& plugin, const FaultRecord& fault,
                                                                const FaultLimits& limits) {
  if (store_ == nullptr) return std::nullopt;
  const Digest content = Look(file, false).content, key = FaultsKey(content);
  std::vector<FaultRecord> records = ReadFaults(key).second;
  host::AddFault(records, fault, /*apart=*/true);
  if (!WriteFaults(key, {path.string(), plugin, content, file.mapped()}, records).empty()) return std::nullopt;
  return CountingWith(records, limits);
}

Result<std::vector<QuarantineRecord>> PluginRecords::List() {
  std::vector<QuarantineRecord> records;
  if (store_ == nullptr) return records;
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<EntryInfo> entries, store_->List(false));
  for (const EntryInfo& entry : entries) {
    if (entry.kind == EntryKind::kFaults) {
      const auto [file, faults] = ReadFaults(entry.key);
      if (std::none_of(faults.begin(), faults.end(), [](const FaultRecord& fault) { return fault.is_kept_away(); }))
        continue;
      const bool in_force = FaultsKey(file.content) == entry.key && !HasChanged(file.file, file.content);
      for (const FaultRecord& fault : faults)
        if (fault.is_kept_away())
          records.push_back({PartKey(entry.key, fault), file.file, file.plugin,
                             std::string(NameOf(RejectReason::kFailedInUse)),
                             fmt::format("ended its worker process {}: it {}", Plural(fault.count, "time"), fault.text),
                             fault.last, in_force, fault, fault.limits});
    }
    if (entry.kind != EntryKind::kQuarantine) continue;
    for (Fields& fields : ReadQuarantine(entry.key)) {
      const std::optional<Digest> content = ParseDigest(fields["content"]);
      records.push_back({entry.key, fields["file"], fields["plugin"], fields["reason"], fields["text"],
                         TimeOf(NumberOf(fields["since"])),
                         content && QuarantineKey(*content) == entry.key && ChangedPart(PartsOf(fields)) == nullptr &&
                             !HasChanged(fields["file"], *content),
                         std::nullopt, FaultLimits::Parse(fields["limits"])});
    }
  }
  std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  return records;
}

Status PluginRecords::Clear(const QuarantineRecord& record) {
  if (!record.part) {
    DEPUTY_RETURN_IF_ERROR(store_->Remove(EntryKind::kQuarantine, record.key));
    return {};
  }
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<EntryInfo> entries, store_->List(false));
  for (const EntryInfo& entry : entries) {
    if (entry.kind != EntryKind::kFaults || PartKey(entry.key, *record.part) != record.key) continue;
    auto [file, faults] = ReadFaults(entry.key);
    std::erase_if(faults, [&](const FaultRecord& fault) { return PartKey(entry.key, fault) == record.key; });
    if (faults.empty()) return store_->Remove(EntryKind::kFaults, entry.key);
    const std::string failure = WriteFaults(entry.key, file, faults);
    return failure.empty() ? Status() : Status(StatusCode::kUnavailable, failure);
  }
  return {};
}

Status PluginRecords::ClearAll() {
  if (store_ == nullptr) return {};
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<EntryInfo> entries, store_->List(false));
  for (const EntryInfo& entry : entries)
    if (entry.kind == EntryKind::kQuarantine || entry.kind == EntryKind::kFaults)
      DEPUTY_RETURN_IF_ERROR(store_->Remove(entry.kind, entry.key));
  return {};
}

}  // namespace deputy::host
