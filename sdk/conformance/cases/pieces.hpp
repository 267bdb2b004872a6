// The pieces of which models of several nodes are built: each appends one node, or a few, to a value, and has an output
// that the next piece reads. They are operators that delegates fuse.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cases/model_builder.hpp"

namespace deputy::conformance {

struct Piece {
  std::string name;     // "Conv 3x3"
  std::string op_type;  // of its first node
  // The value behind it; nothing where the piece does not fit to the value.
  std::function<std::optional<size_t>(ModelBuilder& model, size_t x)> add;
};

const std::vector<Piece>& AllPieces();

// The value of a new model that its pieces begin with: an image or a matrix of floats.
struct Ground {
  deputy_dtype dtype = kF32;
  Dims dims;
};
std::vector<Ground> Images();
std::vector<Ground> Matrices();

// Models in which the second piece reads the value of the first: in a row, with the inner value an output as well, and
// with a third node that reads both. Fewer where a shape does not allow it.
std::vector<ModelCase> PairsOf(const Piece& first, const Piece& second, const Ground& ground, uint64_t seed);
// A row of three.
std::optional<ModelCase> RowOf(const std::vector<const Piece*>& pieces, const Ground& ground, uint64_t seed);
// A random network of the pieces, with residual and joined branches, inner outputs, and values that several nodes read.
std::optional<ModelCase> NetworkOf(const std::vector<const Piece*>& pieces, const Ground& ground, uint64_t seed);

}  // namespace deputy::conformance
