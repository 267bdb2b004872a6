// The tensors that a model is run with: from files, and made up where there is none; and the shapes of its inputs, from
// --shape, from the files, and for a leading batch by default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::cli {

// Per input of the model what is known of its shape.
using KnownShapes = std::vector<std::optional<Shape>>;

// From "NAME=1x3x224x224" arguments. Errors: unknown name (with the nearest), a name twice, a shape that does not fit.
Result<KnownShapes> ParseShapes(const std::vector<std::string>& arguments, const std::vector<TensorInfo>& inputs);

// Fits `shape` what `info` says? The status names both.
Status CheckFits(const std::string& what, DType dtype, const Shape& shape, const TensorInfo& info);

// Extents by name carry over from one input to another: per input its extents, -1 where they stay open, and nothing for
// an input without a rank. Inputs that are no tensors have no shape, an empty one here.
KnownShapes PropagateExtents(const std::vector<TensorInfo>& inputs, const KnownShapes& known);

struct CompletedShapes {
  std::vector<Shape> shapes;
  // "assuming batch=1; override with --shape image=1x3x8"; empty if nothing was assumed.
  std::string assumed;
};
// The shapes that PropagateExtents gives, with 1 for a leading extent that is still open: a batch. Fails if any other
// is, and names the flags to give.
Result<CompletedShapes> CompleteShapes(const std::vector<TensorInfo>& inputs, const KnownShapes& known);

// Tells on stderr what was assumed, if anything.
void PrintAssumed(const std::string& assumed);
// An error that may come from what was assumed says so; others stay as they are.
Status WithAssumed(Status status, const std::string& assumed);

// kNotSupported, with the first input or output of a model that is no tensor.
Status RequireTensors(const Model& model);

// Where it came from, for people: "photo.npy", "random, seed 1".
struct BoundInput {
  Tensor tensor;
  std::string origin;
};
struct BoundInputs {
  std::vector<BoundInput> inputs;
  std::string assumed;  // as in CompletedShapes
};

// `files` are "NAME=FILE" arguments.
Result<BoundInputs> BindInputs(const std::vector<TensorInfo>& inputs, const std::vector<std::string>& files,
                               const std::vector<std::string>& shapes, uint64_t seed);

// The same values on every machine: floats in [-1, 1), 8-bit integers over their range, others 0 or 1.
Result<Tensor> RandomTensor(DType dtype, const Shape& shape, uint64_t seed);

// The index of the input or output of this name, or kNotFound with the nearest. `kind` is "input" or "output".
Result<size_t> FindByName(const std::string& kind, const std::string& name, const std::vector<TensorInfo>& infos);

}  // namespace deputy::cli
