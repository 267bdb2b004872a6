// Information of a delegate before anything is compiled: supported operators, devices, nodes that stay together, the
// cost of a partition, and the calls that may overlap later. All of it is optional.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/sdk/dtype.hpp"
#include "deputy/sdk/graph.hpp"

namespace deputy::sdk {

// A row of the table that `deputy plugins --operators` lists.
struct Capability {
  std::string op_type;
  std::vector<DType> dtypes = {};             // empty: any
  uint32_t min_version = 0, max_version = 0;  // definitions; 0: any
  uint32_t min_rank = 0, max_rank = DEPUTY_ANY_RANK;
  std::string note = {};  // further conditions, for people
  std::string domain = {};
  uint32_t layouts = 1u << DEPUTY_LAYOUT_DENSE;
};

enum class DeviceKind : uint32_t {
  kOther = DEPUTY_DEVICE_OTHER,
  kCpu = DEPUTY_DEVICE_CPU,
  kGpu = DEPUTY_DEVICE_GPU,
  kNpu = DEPUTY_DEVICE_NPU,
  kDsp = DEPUTY_DEVICE_DSP
};

struct DeviceDescription {
  std::string id;    // of this very device, unique, the same after a restart: a serial number, a bus address
  std::string name;  // for people; identical cards may have one name
  DeviceKind kind = DeviceKind::kOther;
  uint64_t memory_bytes = 0;  // 0: unknown
  std::string driver = {};    // versions, for people
  uint64_t frequency_hz = 0;  // the clock that it has now; 0: unknown
};

// Unknown amounts are left out.
struct PartitionEstimate {
  bool feasible = true;
  std::string reason = {};  // why it is not feasible, or why nodes are given back
  std::optional<uint64_t> latency_ns = {}, memory_bytes = {}, energy_nj = {};
  std::vector<deputy_node_id> give_back = {};

  static PartitionEstimate Infeasible(std::string reason) { return {false, std::move(reason)}; }
};

// The calls of execute that may overlap: of two contexts of one executable, of two executables of one instance, of two
// instances.
struct Concurrency {
  bool contexts = true, executables = true, instances = true;
};

// Receives groups. Only inside the host's call.
class GroupSink {
 public:
  GroupSink(const GraphView& graph, const deputy_group_sink* sink) : graph_(graph), sink_(sink) {}
  // These nodes run here together, or none of them does. False: this group or one before was refused, and the whole
  // call fails.
  bool Add(const std::vector<deputy_node_id>& nodes) const {
    const deputy_group group{sizeof group, static_cast<uint32_t>(nodes.size()), nodes.data()};
    return graph_.Ask([&] { return sink_->add(sink_->self, &group); });
  }

 private:
  const GraphView& graph_;
  const deputy_group_sink* sink_;
};

}  // namespace deputy::sdk
