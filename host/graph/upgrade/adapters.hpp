// What becomes of nodes of older definitions: for every definition of the operator list that changed a meaning, the
// rule that brings a node of the definition before it into its form, or the reason why there is nothing to do.
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

// By operator, then by version. A rule may leave a node as it is, version and all, when its form did not change for
// this very node; what cannot be said in the newer form it refuses as kNotSupported.
std::span<const Adapter> AllAdapters();

// The next one for a node of this operator and version; null when there is none.
const Adapter* NextAdapter(OpKind kind, int32_t version);

}  // namespace deputy::host
