// The graph behind a placement: values, attributes and regions of the placed nodes, for drawings and other tools.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "deputy/placement.hpp"
#include "deputy/tensor.hpp"

namespace deputy {

// A value that a node reads or makes.
struct PlacedValue {
  // Unique in its region, and the same wherever the region reads or makes the value; "value 17" when it has no name in
  // the model. Empty for an optional input or output that is left out.
  std::string name;
  std::string type;  // "float32 [1,64,56,56]"
  Tensor constant;   // empty unless the value never changes; its bytes live as long as the model
};

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, Tensor>;

// What NodeReport does not have of a node.
struct PlacedNode {
  uint32_t order = 0;  // in the order of the model, within its region
  std::vector<PlacedValue> inputs, outputs;
  std::vector<PlacedValue> captured;  // outer values that its regions read, each once
  // Sorted by name. The bytes of a tensor live as long as the model.
  std::vector<std::pair<std::string, AttributeValue>> attributes;
};

// The model, or a body of If, Loop or Scan.
struct PlacedRegion {
  std::string path;                          // NodeReport::region: "" for the model itself
  std::vector<PlacedValue> inputs, outputs;  // those of the model with its states
  std::vector<PlacedValue> captured;         // by their names inside the region
};

// A placement with the graph that was placed.
struct PlacedGraph {
  PlacementReport placement;
  std::vector<PlacedNode> nodes;      // one for each of placement.nodes, in the same order
  std::vector<PlacedRegion> regions;  // the model itself first
};

}  // namespace deputy
