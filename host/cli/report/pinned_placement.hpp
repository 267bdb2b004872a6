// A placement as a configuration that permits no other one.
#pragma once

#include <string>

#include "deputy/placement.hpp"
#include "deputy/status.hpp"

namespace deputy::cli {

// The text of a configuration file: a rule for each delegate with the names of its nodes, and the delegates as required
// ones. `title`: the model and its shapes, for the comment. kNotSupported where rules cannot tell nodes apart: two
// nodes of one name on different delegates, and names with '*', '?' or characters that are not printable.
Result<std::string> PinnedPlacement(const std::string& title, const PlacementReport& report);

}  // namespace deputy::cli
