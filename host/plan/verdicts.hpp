// Verdicts on partitions of delegates, by content: that one computes right results, or the nodes that it computes
// wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/mutex.hpp"

namespace deputy::host {

class Store;

struct PartitionVerdict {
  bool right = true;
  // Otherwise: positions in the node list of the partition, ascending, and a description: the delegate with its plugin,
  // the partition, the difference that was found, the nodes.
  std::vector<uint32_t> wrong_nodes;
  std::string text;
};

// Kept in memory, and in the store if there is one. [any-thread]
class Verdicts {
 public:
  explicit Verdicts(Store* store) : store_(store) {}

  // None: the partition was never verified. `nodes`: their number in the partition.
  std::optional<PartitionVerdict> Find(const Digest& key, size_t nodes);
  // A partition that was wrong once is wrong for good: of a second verdict, only nodes that are not yet known to be
  // wrong have an effect.
  void Save(const Digest& key, const PartitionVerdict& verdict);

 private:
  const PartitionVerdict* Known(const Digest& key) DEPUTY_REQUIRES(mutex_);

  Store* const store_;
  Mutex mutex_;
  std::map<Digest, PartitionVerdict> known_ DEPUTY_GUARDED_BY(mutex_);
};

}  // namespace deputy::host
