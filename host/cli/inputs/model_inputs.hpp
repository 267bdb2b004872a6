// The inputs of a run: from files, otherwise random; and their shapes, from --shape, from the files, and by default 1
// for a leading dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/inputs/picture_input.hpp"
#include "deputy/model.hpp"
#include "deputy/status.hpp"
#include "deputy/tensor.hpp"

namespace deputy::cli {

// The shape of each input of the model, if known.
using KnownShapes = std::vector<std::optional<Shape>>;

// From "NAME=1x3x224x224" arguments. Errors: unknown name (with the nearest), a name twice, a shape that does not fit.
Result<KnownShapes> ParseShapes(const std::vector<std::string>& arguments, const std::vector<TensorInfo>& inputs);

// Whether dtype and shape fit `info`. The error names both.
Status CheckFits(const std::string& subject, DType dtype, const Shape& shape, const TensorInfo& info);

// Propagates named extents from input to input: returns the extents per input, -1 for dynamic ones, nothing for an
// input without a rank, and an empty shape for inputs that are not tensors.
KnownShapes PropagateExtents(const std::vector<TensorInfo>& inputs, const KnownShapes& known);

struct CompletedShapes {
  std::vector<Shape> shapes;
  // "assuming batch=1; override with --shape image=1x3x8"; empty if nothing was assumed.
  std::string assumed;
};
// The result of PropagateExtents, with 1 for a leading dimension that is still dynamic: a batch. Fails if another
// dimension is dynamic, and names the flags to give.
Result<CompletedShapes> CompleteShapes(const std::vector<TensorInfo>& inputs, const KnownShapes& known);

// Prints the assumed extents on stderr, if there are any.
void PrintAssumed(const std::string& assumed);
// Adds the assumed extents to the advice of an error; other statuses are unchanged.
Status WithAssumed(Status status, const std::string& assumed);

// kNotSupported for a model with an input or output that is not a tensor, naming the first.
Status RequireTensors(const Model& model);

// The flags of AddInputs but --seed.
struct InputArguments {
  InputArguments() = default;
  InputArguments(std::vector<std::string> named_files) : files(std::move(named_files)) {}  // NOLINT

  std::vector<std::string> files;  // "NAME=FILE"; pictures of one input form a batch
  bool convert = false;            // --convert-inputs
  PictureOptions pictures;

  void AddTo(CLI::App& syntax);
};

// A tensor and its origin for messages: "photo.npy", "random, seed 1".
struct BoundInput {
  Tensor tensor;
  std::string origin;
};
struct BoundInputs {
  std::vector<BoundInput> inputs;
  std::string assumed;  // as in CompletedShapes
};

Result<BoundInputs> BindInputs(const std::vector<TensorInfo>& inputs, const InputArguments& arguments,
                               const std::vector<std::string>& shapes, uint64_t seed);

// Builds the model for the shapes of "NAME=1x3x224x224" arguments, which may differ from extents that its file fixes.
Status BuildModel(Model& model, const std::string& path, const Context& context, const std::vector<std::string>& shapes,
                  BuildOptions options = {});

struct LoadTimes {
  uint64_t open_ns = 0;              // finding, checking and opening the delegates
  uint64_t build_ns = 0;             // reading the model, and preparing it if it fixes its shapes
  uint64_t memory_before_bytes = 0;  // peak of the process before the model was read
};

// Opens the delegates and builds the model, which may have tensors only. On an error: prints it, sets the exit status,
// and returns nothing.
std::optional<Model> OpenModel(const std::string& path, const ContextOptions& context,
                               const std::vector<std::string>& shapes, int& exit_status,
                               const BuildOptions& options = {}, LoadTimes* times = nullptr);
// The same; inputs that have a default value and a file are inputs of the model.
std::optional<Model> OpenModelFor(const InputArguments& inputs, const std::string& path, const ContextOptions& context,
                                  const std::vector<std::string>& shapes, int& exit_status,
                                  const BuildOptions& options = {}, LoadTimes* times = nullptr);

// A model of a command line with the inputs of a run.
struct LoadedModel {
  Model model;
  BoundInputs bound;
  LoadTimes times;

  std::vector<Tensor> tensors() const;
};
// OpenModel, and binds the inputs; prints what was assumed.
std::optional<LoadedModel> LoadModel(const std::string& path, const ContextOptions& context,
                                     const InputArguments& inputs, const std::vector<std::string>& shapes,
                                     uint64_t seed, int& exit_status, const BuildOptions& options = {});

// A session that is prepared for the shapes of the inputs. On an error: as above.
std::optional<Session> OpenSession(const LoadedModel& loaded, int& exit_status);

// The same values on every machine: floats in [-1, 1), 8-bit integers over their range, others 0 or 1.
Result<Tensor> RandomTensor(DType dtype, const Shape& shape, uint64_t seed);

// The index of the input or output of this name, or kNotFound with the nearest. `kind` is "input" or "output".
Result<size_t> FindByName(const std::string& kind, const std::string& name, const std::vector<TensorInfo>& infos);

}  // namespace deputy::cli
