// From a placed partition to its executable: restored from the store if present, else compiled and saved.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "plan/plan.hpp"
#include "store/store.hpp"

namespace deputy::host {

struct Made {
  std::shared_ptr<const Executable> executable;
  ExecutableOrigin origin = ExecutableOrigin::kCompiled;
  std::shared_ptr<const std::string> not_cached = {};  // as in Step
};

class ExecutableMaker {
 public:
  // `store` may be null. `model` and `plugins`, by the name of the delegate, are for the listing of the store.
  explicit ExecutableMaker(Store* store, std::string model = {},
                           const std::map<std::string, EntryOrigin>* plugins = nullptr)
      : store_(store), model_(std::move(model)), plugins_(plugins) {}

  // Consumes the claim of the partition, also on failure. A failure is that of compiling.
  Result<Made> Make(Delegate& delegate, const GraphView& view, const PartitionSpec& partition);

 private:
  // The maker of a delegate's blobs, or the reason why they are not kept.
  struct Source {
    std::optional<BlobMaker> maker;
    std::shared_ptr<const std::string> not_cached;
  };

  const Source& SourceOf(Delegate& delegate);
  std::shared_ptr<const Executable> Restore(Delegate& delegate, const GraphView& view, const PartitionSpec& partition,
                                            const Digest& key);
  // Returns the reason if the executable was not stored.
  std::shared_ptr<const std::string> Save(const Delegate& delegate, const Executable& executable,
                                          const PartitionSpec& partition, const Digest& key, const BlobMaker& maker);

  Store* store_;
  const std::string model_;
  const std::map<std::string, EntryOrigin>* const plugins_;
  std::map<const Delegate*, Source> sources_;
};

}  // namespace deputy::host
