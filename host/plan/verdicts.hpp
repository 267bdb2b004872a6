// Verdicts on partitions of delegates, by content: that one computes right results, or the nodes that it computes
// wrong.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"

namespace deputy::host {

class Store;

struct PartitionVerdict {
  bool right = true;
  // Otherwise: positions in the node list of the partition, and the difference that was found.
  std::vector<uint32_t> wrong_nodes;
  std::string text;
};

// Kept in memory, and in the store if there is one. [any-thread]
class Verdicts {
 public:
  explicit Verdicts(Store* store) : store_(store) {}

  // None: the partition was never verified. `nodes`: their number in the partition.
  std::optional<PartitionVerdict> Find(const Digest& key, size_t nodes);
  void Save(const Digest& key, const PartitionVerdict& verdict);

 private:
  Store* const store_;
  std::mutex mutex_;
  std::map<Digest, PartitionVerdict> known_;
};

}  // namespace deputy::host
