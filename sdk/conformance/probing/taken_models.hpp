// Models of several nodes that a delegate takes whole, also if it takes few operators, or few forms of them.
#pragma once

#include <vector>

#include "cases/models.hpp"
#include "instance.hpp"

namespace deputy::conformance {

// Rows of two nodes, built from the cases that the delegate takes: each operator in front of each other one, also of
// itself, as far as the value between them fits or has a form that the second one takes; where there is no such row,
// two nodes that read one input. At most `most` that are taken whole.
std::vector<ModelCase> TakenRows(Instance& instance, const std::vector<Case>& cases, uint64_t seed, size_t most);

// The fixed models that are taken whole, and others until there are `enough`.
std::vector<ModelCase> TakenModels(Instance& instance, const std::vector<Case>& cases,
                                   const std::vector<ModelCase>& fixed, uint64_t seed, size_t enough);

}  // namespace deputy::conformance
