// The version rule: a delegate is never given a node of a definition that is newer than the SDK it was built with, for
// it could not know what changed.
#pragma once

#include <string>

#include "deputy/sdk/graph.hpp"
#include "deputy/sdk/operators.hpp"

namespace deputy::sdk {

// Operators that the SDK does not list (other domains) are between the delegate and its users.
inline bool DefinitionTooNew(const NodeView& node) {
  const int32_t newest = NewestDefinition(node.domain(), node.op_type());
  return newest != 0 && node.since_version() > newest;
}

// "Conv-30 is newer than Conv-22, the newest that this delegate was built for"
inline std::string TooNewText(const NodeView& node) {
  const std::string type(node.op_type());
  return type + "-" + std::to_string(node.since_version()) + " is newer than " + type + "-" +
         std::to_string(NewestDefinition(node.domain(), node.op_type())) +
         ", the newest that this delegate was built for";
}

}  // namespace deputy::sdk
