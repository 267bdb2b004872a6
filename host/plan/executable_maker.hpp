// From a placed partition to its executable: restored from the store if present, else compiled and saved.
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
  // `store` may be null.
  explicit ExecutableMaker(Store* store) : store_(store) {}

  // Consumes the claim of the partition, also on failure. A failure is that of compiling.
  Result<Made> Make(Delegate& delegate, const GraphView& view, const PartitionSpec& partition);

 private:
  // Null for a delegate whose blobs are not kept.
  const BlobMaker* MakerOf(const Delegate& delegate);
  std::shared_ptr<const Executable> Restore(Delegate& delegate, const GraphView& view, const PartitionSpec& partition,
                                            const Digest& key);
  void Save(const Delegate& delegate, const Executable& executable, const PartitionSpec& partition, const Digest& key,
            const BlobMaker& maker);

  Store* store_;
  std::map<const Delegate*, std::optional<BlobMaker>> makers_;
};

}  // namespace deputy::host
