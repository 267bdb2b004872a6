// Calls of every function of the host, and whether each is answered as the ABI says: for a function of a plugin that
// calls back.
#pragma once

#include <string>

#include "deputy/abi/delegate.h"

namespace calls_back {

// Names of functions of the host, "deputy_host.log" for one, each with a space in front of it.
struct Answers {
  std::string right, wrong, absent;
};

// `graph` may be null: what needs one is then to be refused.
Answers CallAll(const deputy_host* host, const deputy_graph* graph);

}  // namespace calls_back
