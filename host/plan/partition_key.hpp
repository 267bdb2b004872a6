// The name of a compiled partition by content: the digest of everything that its bytes depend on, and nothing else.
#pragma once

#include "base/digest.hpp"
#include "delegate/delegate.hpp"

namespace deputy::host {

// Covers the operators with their attributes, their connections, types, shapes and elements of constants, the order of
// inputs and outputs; the delegate that compiles and its options; the plugin ABI. Names of nodes and values, and their
// numbers, do not count. Nor does the maker's compatibility text, which the delegate itself checks.
Digest PartitionKey(const Graph& graph, const PartitionSpec& partition, const DelegateIdentity& maker);

// The same for a verdict on the results of the partition. `delegate` stands for the delegate and the machine. With a
// digest of the model that the graph was made of, large constants are identified by it and their names, which takes
// much less time than reading their elements; null: there is none.
Digest VerdictKey(const Graph& graph, const PartitionSpec& partition, const Digest& delegate, const Digest* model);

// The same for what is kept about faults of plugins with the partition.
Digest FaultKey(const Graph& graph, const PartitionSpec& partition);
// Covers a whole graph, the bodies of its regions included.
Digest GraphKey(const Graph& graph);

}  // namespace deputy::host
