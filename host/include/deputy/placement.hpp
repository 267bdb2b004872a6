// The placement of a model for one set of input shapes, with its reasons, as plain data for people and tools.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace deputy {

// A device's clock, read back from the delegate. Zero where the device does not report it.
struct DeviceReport {
  std::string device;
  uint32_t level_requested = 0, level_granted = 0;  // 1 low, 2 balanced, 3 high, 4 extreme
  uint64_t frequency_requested_hz = 0, frequency_granted_hz = 0;
  uint64_t busy_ns = 0;  // device time of all finished runs, on the device's own clock
  uint64_t runs = 0;
};

// A delegate and its share of the model.
struct DelegateReport {
  std::string name;                  // of the entry in the YAML; "cpu" is last
  std::string id;                    // of the delegate in its plugin
  std::string plugin;                // file; empty for the CPU and for the application's own
  size_t nodes = 0, partitions = 0;  // all nodes of the CPU, which are steps of their own, count as one partition
  uint64_t multiply_adds = 0;
  std::vector<std::pair<std::string, std::string>> options;  // in force, as read back
  bool has_device = false;
  DeviceReport device;
};

// An entry of a configuration that could not be opened.
struct AbsentDelegate {
  std::string name, reason;
  bool has_failed = false;  // its plugin crashed, hung or ended its process, or is quarantined for that
};

// The delegates of a configuration as they were opened.
struct DelegateListing {
  std::vector<DelegateReport> delegates;  // in order, the CPU last; without nodes and partitions
  std::vector<AbsentDelegate> absent;
  uint32_t threads = 0;  // of the host, the caller's included
};

// A delegate's estimate of a partition before it is compiled. -1: unknown.
struct EstimateReport {
  int64_t latency_ns = -1, memory_bytes = -1, energy_nj = -1;
};

// Nodes that one delegate runs as a whole.
struct PartitionReport {
  std::string name;  // "npu0/1"
  std::string delegate;
  std::string region;  // "" at the top, else the path of nodes and branches ("If_3/then_branch")
  // The partition that this one runs instead of, after a failure or a wrong result of its delegate; empty for all
  // others.
  std::string replaces;
  std::vector<std::string> nodes, inputs, outputs;
  uint64_t multiply_adds = 0;
  // Origin of its executable: "compiled"; "restored" from the cache; "resized", of other shapes. Empty for a node whose
  // regions the host runs.
  std::string executable;
  // Why the cache does not have the compiled executable: the delegate does not serialize it, the cache is off or cannot
  // be written, and so on. Empty where it was restored or stored, and for executables of other shapes.
  std::string not_cached;
  bool overlaps = false;   // it may run beside partitions of other delegates
  bool estimated = false;  // the delegate was queried
  EstimateReport estimate;
};

// The reason why a delegate does not have a node.
struct RefusalReport {
  std::string delegate;
  std::string reason;  // "operator unknown", "dtype", "taken by another", ...
  std::string detail;
};

// A node with its owner.
struct NodeReport {
  std::string name;  // as in the model; "node 17" when it has none
  std::string op_type, domain;
  int32_t since_version = 0;
  std::string delegate, partition, region;
  uint64_t multiply_adds = 0;
  std::vector<RefusalReport> refusals;  // every other delegate, in order
};

// The placement of a model for one set of input shapes.
struct PlacementReport {
  std::string summary;  // the line that every load prints
  std::vector<DelegateReport> delegates;
  std::vector<PartitionReport> partitions;  // in the order in which they run; regions follow their node
  std::vector<NodeReport> nodes;
  uint64_t multiply_adds = 0;
};

}  // namespace deputy
