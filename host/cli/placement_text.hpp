// A placement for people: what ran where, and why not elsewhere.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal.hpp"
#include "deputy/model.hpp"
#include "deputy/placement.hpp"

namespace deputy::cli {

// A row per delegate: nodes, partitions, share of the multiply-adds.
Shown DelegateTable(const PlacementReport& report, const Terminal& terminal);

// "asked for high, granted 800 MHz (high)"; "" for a device that does not say.
std::string ClockSentence(const DeviceReport& device);

// Options and clock of every delegate that has some, a line each.
Shown DelegateNotes(const PlacementReport& report);

// The partitions in the order in which they run.
Shown PartitionTable(const PlacementReport& report, const Terminal& terminal);

// Nodes that are not on the first delegate, by the reasons of those that were asked before their owner.
Shown RefusalTable(const PlacementReport& report, const Terminal& terminal);

// Every node with its owner; and everything about one.
Shown NodeTable(const PlacementReport& report, const Terminal& terminal);
Shown NodeText(const PlacementReport& report, const NodeReport& node, const Terminal& terminal);

// "Conv ×2, Relu" in order of first appearance.
std::string CountedNames(const std::vector<std::string>& names, const Terminal& terminal);

}  // namespace deputy::cli
