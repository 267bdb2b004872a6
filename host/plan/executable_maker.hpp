// From a placed partition to its executable: restored from the cache if present, else compiled and stored.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "plan/plan.hpp"

namespace deputy::host {

struct Made {
  std::shared_ptr<const Executable> executable;
  ExecutableOrigin origin = ExecutableOrigin::kCompiled;
};

class ExecutableMaker {
 public:
  // `cache` may be null.
  explicit ExecutableMaker(BlobCache* cache) : cache_(cache) {}

  // Consumes the claim of the partition, also on failure. A failure is that of compiling.
  Result<Made> Make(Delegate& delegate, const GraphView& view, const PartitionSpec& partition);

 private:
  // Null for a delegate whose blobs are not kept.
  const BlobMaker* MakerOf(const Delegate& delegate);
  std::shared_ptr<const Executable> Restore(Delegate& delegate, const GraphView& view, const PartitionSpec& partition,
                                            const Digest& key);
  void Store(const Delegate& delegate, const Executable& executable, const PartitionSpec& partition, const Digest& key,
             const BlobMaker& maker);

  BlobCache* cache_;
  std::map<const Delegate*, std::optional<BlobMaker>> makers_;
};

}  // namespace deputy::host
