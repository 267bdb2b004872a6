// What a delegate did with the graphs that it was applied to: the partitions with their placements, the nodes left to
// the interpreter with the reasons, and the failures.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deputy/health.hpp"
#include "deputy/placement.hpp"
#include "partition.hpp"
#include "source_graph.hpp"

namespace deputy::tflite_delegate {

// Of a partition, which its kernel outlives or not. Guarded by the report's mutex.
struct PartitionRecord {
  std::vector<int> nodes;  // of the interpreter
  std::vector<std::string> inputs, outputs;
  PlacementReport placement;
  std::vector<int> sources;  // of the placement's nodes, in the interpreter; -1: none
  uint64_t runs = 0, failures = 0;
  std::string last_failure;
};

struct GraphRecord {
  size_t nodes = 0;
  std::vector<std::shared_ptr<PartitionRecord>> partitions;
  std::vector<LeftNode> left;
};

// [any-thread]
class Report {
 public:
  std::shared_ptr<PartitionRecord> Add(const Partition& partition);
  void Add(GraphRecord graph);
  // The placement as it is now, after failures, wrong results and measurements.
  void Update(PartitionRecord& record, Partition& partition);
  void CountRuns(PartitionRecord& record, uint64_t runs, uint64_t failures, const std::string& last_failure);

  std::string Json(const HealthReport& health) const;
  // A line for each graph and partition.
  std::string Text(const HealthReport& health) const;

 private:
  mutable std::mutex mutex_;
  std::vector<GraphRecord> graphs_;
};

}  // namespace deputy::tflite_delegate
