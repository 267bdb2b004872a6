#include "plan/executable_maker.hpp"

#include "base/log.hpp"
#include "plan/partition_key.hpp"

namespace deputy::host {

namespace {

std::shared_ptr<const std::string> Because(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

Result<Made> ExecutableMaker::Make(Delegate& delegate, const GraphView& view, const PartitionSpec& partition) {
  const Source& source = SourceOf(delegate);
  Digest key{};
  if (source.maker) {
    key = PartitionKey(*view.graph, partition, *source.maker);
    if (std::shared_ptr<const Executable> restored = Restore(delegate, view, partition, key)) {
      if (partition.claim != nullptr) delegate.proposer()->ReleaseClaim(partition.claim);
      return Made{std::move(restored), ExecutableOrigin::kRestored};
    }
  }
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> compiled, delegate.Compile(view, partition));
  std::shared_ptr<const std::string> not_cached = source.not_cached;
  if (source.maker) not_cached = Save(delegate, *compiled, partition, key, *source.maker);
  return Made{std::move(compiled), ExecutableOrigin::kCompiled, std::move(not_cached)};
}

const ExecutableMaker::Source& ExecutableMaker::SourceOf(Delegate& delegate) {
  const auto [found, added] = sources_.try_emplace(&delegate);
  Source& source = found->second;
  if (!added) return source;
  Result<BlobMaker> maker = Status(StatusCode::kNotSupported, "no compiled blobs");
  if (BlobFormat* const blobs = delegate.blobs()) maker = blobs->blob_maker();
  if (!maker.ok() && maker.status().code() == StatusCode::kNotSupported) {
    source.not_cached = Because("the delegate does not serialize executables");
  } else if (store_ == nullptr) {
    source.not_cached = Because("the cache is off");
  } else if (!maker.ok()) {
    source.not_cached = Because(maker.status().ToString());
    Log(LogLevel::kWarning, "{}: compiled partitions are not cached: {}", delegate.name(), *source.not_cached);
  } else if (maker->build.empty()) {
    source.not_cached = Because("the plugin has no build id, by which its versions differ");
  } else {
    source.maker = std::move(maker).value();
  }
  return source;
}

std::shared_ptr<const Executable> ExecutableMaker::Restore(Delegate& delegate, const GraphView& view,
                                                           const PartitionSpec& partition, const Digest& key) {
  std::optional<StoredEntry> found = store_->Find(EntryKind::kBlob, key);
  if (!found) return nullptr;
  BlobFormat& blobs = *delegate.blobs();
  Status status = blobs.CheckBlob(found->text);
  if (status.ok()) {
    Result<std::shared_ptr<const Executable>> restored =
        blobs.Restore(view, partition, Blob{found->bytes, std::move(found->keep)});
    if (restored.ok()) return std::move(restored).value();
    status = restored.status();
  }
  Log(LogLevel::kInfo, "{}: the cached executable of partition {} is no longer compatible ({}); it is compiled again",
      delegate.name(), partition.name, status.message());
  return nullptr;
}

std::shared_ptr<const std::string> ExecutableMaker::Save(const Delegate& delegate, const Executable& executable,
                                                         const PartitionSpec& partition, const Digest& key,
                                                         const BlobMaker& maker) {
  const Result<std::vector<uint8_t>> bytes = executable.Serialize(store_->limit());
  if (bytes.ok()) {
    EntryOrigin origin;
    if (plugins_ != nullptr)
      if (const auto known = plugins_->find(delegate.name()); known != plugins_->end()) origin = known->second;
    origin.model = model_;
    origin.plugin = maker.plugin;
    origin.version = maker.version;
    origin.build = maker.build;
    origin.delegate = maker.delegate;
    origin.device = maker.device;
    std::string why = store_->Save(EntryKind::kBlob, key, maker.compatibility, *bytes, origin);
    return why.empty() ? nullptr : Because(std::move(why));
  }
  if (bytes.status().code() == StatusCode::kNotSupported)
    return Because("the delegate does not serialize this partition");
  Log(LogLevel::kWarning, "{}: partition {} cannot be stored in the cache: {}", delegate.name(), partition.name,
      bytes.status().ToString());
  return Because(bytes.status().ToString());
}

}  // namespace deputy::host
