// The name of a compiled partition by content: everything that its bytes depend on, and nothing else.
#pragma once

#include "base/digest.hpp"
#include "delegate/delegate.hpp"

namespace deputy::host {

// Of the operators with their attributes, how they are wired, types, shapes and elements of constants, the order of the
// borders; of who compiles, with which options; of the plugin ABI. Names of nodes and values, and their numbers, do not
// count. Nor does the maker's text of compatibility: whether that still holds is for the delegate to say.
Digest PartitionKey(const Graph& graph, const PartitionSpec& partition, const BlobMaker& maker);

}  // namespace deputy::host
