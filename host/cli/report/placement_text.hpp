// A placement as text: the delegate of each node, and the reasons of the refusals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/placement.hpp"

namespace deputy::cli {

// A row per delegate: nodes, partitions, share of the multiply-adds.
Shown DelegateTable(const PlacementReport& report, const Terminal& terminal);

// "requested high, granted 800 MHz (high)"; "" for a device that does not report its clock.
std::string ClockSentence(const DeviceReport& device);

// Options and clock of every delegate that has some, and why partitions are not in the cache.
Shown DelegateNotes(const PlacementReport& report, const Terminal& terminal);

// The partitions in the order in which they run.
Shown PartitionTable(const PlacementReport& report, const Terminal& terminal);

// Nodes that are not on the first delegate, by the refusals of the delegates before their owner.
Shown RefusalTable(const PlacementReport& report, const Terminal& terminal);

// Nodes and multiply-adds of each operator, the most expensive first; `top` rows, 0: all.
Shown OperatorTable(const PlacementReport& report, size_t top, const Terminal& terminal);

// Every node with its owner, or the `top` most expensive ones; and all details of one node.
Shown NodeTable(const PlacementReport& report, size_t top, const Terminal& terminal);
Shown NodeText(const PlacementReport& report, const NodeReport& node, const Terminal& terminal);

// "Conv ×2, Relu" in order of first appearance.
std::string CountedNames(const std::vector<std::string>& names, const Terminal& terminal);

}  // namespace deputy::cli
