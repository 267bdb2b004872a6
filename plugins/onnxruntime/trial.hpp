// A run of a partition that was compiled, before the host hears that it is: some execution providers build what they
// have claimed only in their first run. And the search for the nodes that make it fail.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "provider.hpp"

namespace ort {

// Runs once with inputs of zeros.
sdk::Status RunOnce(sdk::Executable& executable, const sdk::PartitionView& partition, const sdk::Host& host);

// Nodes that failed, by all that a node is but for its name and the values of its operands. [any-thread]
class FailedNodes {
 public:
  // Text by which equal nodes are known again.
  static std::string SignatureOf(const sdk::NodeView& node);

  // The reason that was kept for such a node; empty: none.
  std::string ReasonFor(const sdk::NodeView& node) const;
  void Keep(const sdk::NodeView& node, std::string reason);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> reasons_;
};

// Compiles the partition and runs it once. Where one of the two fails, halves of it are tried, down to single nodes:
// those that fail alone are kept in `failed`, and the status names the first one.
sdk::Result<std::unique_ptr<sdk::Executable>> CompileAndTry(Provider& provider, const sdk::PartitionView& partition,
                                                            const sdk::Host& host, bool runs, FailedNodes& failed);

}  // namespace ort
