// What a model's nodes and delegates add to its traits (deputy/compare.hpp).
#pragma once

#include <string_view>

#include "deputy/compare.hpp"

namespace deputy::host {

// A delegate that computes in this type.
void AddPrecision(DType type, ModelTraits& traits);
// A node; `name` is for ModelTraits::drawing.
void AddNode(std::string_view domain, std::string_view op_type, std::string_view name, ModelTraits& traits);

}  // namespace deputy::host
