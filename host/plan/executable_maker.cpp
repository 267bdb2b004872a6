#include "plan/executable_maker.hpp"

#include "base/log.hpp"
#include "plan/partition_key.hpp"

namespace deputy::host {

Result<Made> ExecutableMaker::Make(Delegate& delegate, const GraphView& view, const PartitionSpec& partition) {
  const BlobMaker* maker = store_ == nullptr ? nullptr : MakerOf(delegate);
  Digest key{};
  if (maker != nullptr) {
    key = PartitionKey(*view.graph, partition, *maker);
    if (std::shared_ptr<const Executable> restored = Restore(delegate, view, partition, key)) {
      if (partition.claim != nullptr) delegate.ReleaseClaim(partition.claim);
      return Made{std::move(restored), ExecutableOrigin::kRestored};
    }
  }
  DEPUTY_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> compiled, delegate.Compile(view, partition));
  if (maker != nullptr) Save(delegate, *compiled, partition, key, *maker);
  return Made{std::move(compiled), ExecutableOrigin::kCompiled};
}

const BlobMaker* ExecutableMaker::MakerOf(const Delegate& delegate) {
  const auto [found, added] = makers_.try_emplace(&delegate);
  if (added) {
    Result<BlobMaker> maker = delegate.blob_maker();
    // Without a build id, blobs of two versions of a plugin could not be told apart.
    if (maker.ok() && !maker->build.empty()) {
      found->second = std::move(maker).value();
    } else if (!maker.ok() && maker.status().code() != StatusCode::kNotSupported) {
      Log(LogLevel::kWarning, "{}: compiled partitions are not cached: {}", delegate.name(), maker.status().ToString());
    }
  }
  return found->second ? &*found->second : nullptr;
}

std::shared_ptr<const Executable> ExecutableMaker::Restore(Delegate& delegate, const GraphView& view,
                                                           const PartitionSpec& partition, const Digest& key) {
  std::optional<StoredEntry> found = store_->Find(EntryKind::kBlob, key);
  if (!found) return nullptr;
  Status status = delegate.CheckBlob(found->text);
  if (status.ok()) {
    Result<std::shared_ptr<const Executable>> restored =
        delegate.Restore(view, partition, Blob{found->bytes, std::move(found->keep)});
    if (restored.ok()) return std::move(restored).value();
    status = restored.status();
  }
  Log(LogLevel::kInfo, "{}: the cached executable of partition {} is no longer compatible ({}); it is compiled again",
      delegate.name(), partition.name, status.message());
  return nullptr;
}

void ExecutableMaker::Save(const Delegate& delegate, const Executable& executable, const PartitionSpec& partition,
                           const Digest& key, const BlobMaker& maker) {
  const Result<std::vector<uint8_t>> bytes = executable.Serialize(store_->limit());
  if (bytes.ok()) {
    store_->Save(EntryKind::kBlob, key, maker.compatibility, *bytes);
  } else if (bytes.status().code() != StatusCode::kNotSupported) {
    Log(LogLevel::kWarning, "{}: partition {} cannot be stored in the cache: {}", delegate.name(), partition.name,
        bytes.status().ToString());
  }
}

}  // namespace deputy::host
