// Declares Infer<Operator> for every operator of the list; each is defined in the file of its family.
#pragma once

#include "graph/inference.hpp"

namespace deputy::host {

#define DEPUTY_OPERATOR_BEGIN(name, ...) Status Infer##name(InferenceContext& context);
#include "schema/operators.inc"

}  // namespace deputy::host
