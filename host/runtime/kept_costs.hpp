// The costs of operators that searches for placements have measured, in the store: an entry for each delegate and the
// CPU.
#pragma once

#include <memory>

#include "partition/cost_table.hpp"
#include "runtime/engine.hpp"

namespace deputy::host {

// Those of all delegates; empty where nothing was measured. Entries that cannot be read are left out, with a message.
std::shared_ptr<const CostTable> RestoreCosts(const Engine& engine);

// Adds new measurements to the entries of their delegates.
void KeepCosts(const CostTable& measured, const Engine& engine);

}  // namespace deputy::host
