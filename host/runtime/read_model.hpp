// Reads a model file of any format with an importer in this installation, as a graph.
#pragma once

#include <string>

#include "deputy/model.hpp"
#include "graph/graph.hpp"
#include "import/importer.hpp"

namespace deputy::host {

struct ReadGraph {
  Graph graph;                  // verified, with the newest definitions
  std::string format;           // "dpm", or the importer's name for it: "ONNX"
  std::string changed_extents;  // of inputs, as ChangeInputExtents returns them
};

// `name` is the file's name in errors, which are kModel for data that is not a model. `input_shapes` as in
// BuildOptions.
Result<ReadGraph> ReadAnyModel(const ImportSource& source, ModelType type, const std::string& name,
                               const NamedShapes& input_shapes = {});

}  // namespace deputy::host
