// A model file of any format that somebody here reads, as a graph.
#pragma once

#include <string>

#include "deputy/model.hpp"
#include "graph/graph.hpp"
#include "import/importer.hpp"

namespace deputy::host {

struct ReadGraph {
  Graph graph;         // verified, with the newest definitions
  std::string format;  // "dpm", or as the importer calls it: "ONNX"
};

// `name` stands for the file in errors, which are kModel for what is no model.
Result<ReadGraph> ReadAnyModel(const ImportSource& source, ModelType type, const std::string& name);

}  // namespace deputy::host
