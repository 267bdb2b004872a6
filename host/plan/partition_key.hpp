// The name of a compiled partition by content: the digest of everything that its bytes depend on, and nothing else.
#pragma once

#include "base/digest.hpp"
#include "delegate/delegate.hpp"

namespace deputy::host {

// Covers the operators with their attributes, their connections, types, shapes and elements of constants, the order of
// inputs and outputs; the delegate that compiles and its options; the plugin ABI. Names of nodes and values, and their
// numbers, do not count. Nor does the maker's compatibility text, which the delegate itself checks.
Digest PartitionKey(const Graph& graph, const PartitionSpec& partition, const BlobMaker& maker);

}  // namespace deputy::host
