// Upgrade of nodes of older definitions: for every definition of the operator list that changed a meaning, the rule
// that rewrites a node of the previous definition to its form, or the reason why no rewrite is needed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/upgrade/rewrite.hpp"

namespace deputy::host {

struct Adapter {
  OpKind kind;
  int32_t since_version;     // of the changed definition
  UpgradeRule rule;          // null when the older form is a case of the newer one
  std::string_view because;  // then: why
};

// By operator, then by version. A rule may leave a node and its version unchanged when its form did not change for this
// node; it refuses as kNotSupported a node that the newer form cannot express.
std::span<const Adapter> AllAdapters();

// The next one for a node of this operator and version; null when there is none.
const Adapter* NextAdapter(OpKind kind, int32_t version);

}  // namespace deputy::host
