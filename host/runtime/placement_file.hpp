// The file beside a model that holds placements which were found to be the fastest: written by `deputy tune`, read when
// the model is loaded under policy `measured`. host/docs/placement.md defines it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "deputy/tensor.hpp"
#include "measure/decision.hpp"

namespace deputy::host {

// By the shapes of the model's inputs.
using Placements = std::map<std::vector<Shape>, PlacementDecision>;

// "model.onnx.placement.yaml"
std::filesystem::path PlacementFileOf(const std::filesystem::path& model);

// `delegates`: their names in order, the CPU last. Decisions about others are left out.
std::string PlacementFileText(const Placements& placements, const Digest& model,
                              const std::vector<std::string>& delegates);
// kNotFound where there is no file; kFailedPrecondition for one that users other than root and this one could change or
// replace; kConfig with line and column for one that is not valid; kIncompatible for one of another model. Nodes are
// not checked against the model.
Result<Placements> ReadPlacementFile(const std::filesystem::path& path, const Digest& model,
                                     const std::vector<std::string>& delegates);

}  // namespace deputy::host
