#include "cli/inputs/model_inputs.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/inputs/element.hpp"
#include "cli/measure/timing.hpp"
#include "cli/messages.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/printable.hpp"
#include "deputy/tensor_file.hpp"

namespace deputy::cli {
namespace {

// The name of a dynamic dimension; those without a name are distinct.
std::string SymbolOf(const TensorInfo& info, size_t axis) {
  const bool named = axis < info.dims.size() && !info.dims[axis].empty() && info.dims[axis] != "?";
  return named ? info.dims[axis] : fmt::format("{}[{}]", info.name, axis);
}

bool IsOpen(const TensorInfo& info, size_t axis) { return info.shape[axis] < 0; }

// "1x3x?x?", or "..." for an input without a rank.
std::string FormOf(const std::optional<Shape>& shape) {
  if (!shape) return "...";
  std::string form;
  for (const int64_t extent : *shape)
    form += fmt::format("{}{}", form.empty() ? "" : "x", extent < 0 ? "?" : fmt::format("{}", extent));
  return form;
}

// Fails, and names the flags to give, if a dimension is still dynamic.
Status RequireClosed(const std::vector<TensorInfo>& inputs, const KnownShapes& shapes) {
  constexpr size_t kMostListed = 4;
  std::string listed, flags;
  size_t open = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (shapes[i] && std::none_of(shapes[i]->begin(), shapes[i]->end(), [](int64_t extent) { return extent < 0; }))
      continue;
    if (++open > kMostListed) continue;
    listed += fmt::format("{}'{}' {}", listed.empty() ? "" : ", ", inputs[i].name, TypeText(inputs[i]));
    flags += fmt::format("{}--shape {}={}", flags.empty() ? "" : " ", inputs[i].name, FormOf(shapes[i]));
  }
  if (open == 0) return {};
  if (open > kMostListed) listed += fmt::format(" and {} more", open - kMostListed);
  return Status(StatusCode::kInvalidArgument, "the model has inputs with dynamic dimensions: " + listed)
      .Advise(fmt::format("only a leading dimension defaults to 1; give {}, with all dimensions as numbers", flags));
}

bool SaysItsType(const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  return extension == ".pb" || extension == ".npy";
}

}  // namespace

Result<size_t> FindByName(const std::string& kind, const std::string& name, const std::vector<TensorInfo>& infos) {
  std::vector<std::string> names;
  for (const TensorInfo& info : infos) names.push_back(info.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  std::string listed;
  for (const TensorInfo& info : infos)
    listed += fmt::format("{}'{}' {}", listed.empty() ? "" : ", ", info.name, TypeText(info));
  return Status(StatusCode::kNotFound, fmt::format("the model has no {} '{}'{}", kind, name, DidYouMean(name, names)))
      .Advise(fmt::format("its {}s are {}", kind, listed.empty() ? "none" : listed));
}

Status CheckFits(const std::string& subject, DType dtype, const Shape& shape, const TensorInfo& info) {
  bool fits = dtype == info.dtype && (!info.ranked || shape.size() == info.shape.size());
  for (size_t axis = 0; fits && info.ranked && axis < shape.size(); ++axis)
    fits = info.shape[axis] < 0 || info.shape[axis] == shape[axis];
  if (fits) return {};
  return Status(StatusCode::kInvalidArgument, fmt::format("{} is {} {}, '{}' takes {}", subject, NameOf(dtype),
                                                          ShapeText(shape), info.name, TypeText(info)));
}

Result<KnownShapes> ParseShapes(const std::vector<std::string>& arguments, const std::vector<TensorInfo>& inputs) {
  KnownShapes known(inputs.size());
  for (const std::string& argument : arguments) {
    DEPUTY_ASSIGN_OR_RETURN(const NamedValue named, ParseNamedValue("--shape", "NAME=1x3x224x224", argument));
    Result<size_t> index = FindByName("input", named.name, inputs);
    if (!index.ok()) return std::move(index).status().At("--shape " + argument);
    if (inputs[*index].kind != ValueKind::kTensor)
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("input '{}' is {}, which has no shape", named.name, TypeText(inputs[*index])))
          .At("--shape " + argument);
    Result<Shape> shape = ParseShape(named.value);
    if (!shape.ok()) return std::move(shape).status().At("--shape " + argument);
    if (known[*index])
      return Status(StatusCode::kInvalidArgument, fmt::format("input '{}' has two shapes", named.name)).At("--shape");
    Status fits = CheckFits("the shape", inputs[*index].dtype, *shape, inputs[*index]);
    if (!fits.ok()) return std::move(fits).At("--shape " + argument);
    known[*index] = std::move(shape).value();
  }
  return known;
}

KnownShapes PropagateExtents(const std::vector<TensorInfo>& inputs, const KnownShapes& known) {
  std::map<std::string, int64_t> symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!known[i] || !inputs[i].ranked) continue;
    for (size_t axis = 0; axis < known[i]->size(); ++axis)
      if (inputs[i].shape[axis] < 0) symbols.emplace(SymbolOf(inputs[i], axis), (*known[i])[axis]);
  }
  KnownShapes propagated = known;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (propagated[i]) continue;
    if (inputs[i].kind != ValueKind::kTensor) {
      propagated[i] = Shape();
    } else if (inputs[i].ranked) {
      propagated[i] = inputs[i].shape;
      for (size_t axis = 0; axis < propagated[i]->size(); ++axis) {
        const auto symbol = symbols.find(SymbolOf(inputs[i], axis));
        if (IsOpen(inputs[i], axis) && symbol != symbols.end()) (*propagated[i])[axis] = symbol->second;
      }
    }
  }
  return propagated;
}

Result<CompletedShapes> CompleteShapes(const std::vector<TensorInfo>& inputs, const KnownShapes& known) {
  KnownShapes shapes = PropagateExtents(inputs, known);
  // For the message: the first input with each assumed symbol.
  std::vector<size_t> telling;
  std::string assumed;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!shapes[i] || shapes[i]->empty() || shapes[i]->front() >= 0) continue;
    const std::string symbol = SymbolOf(inputs[i], 0);
    assumed += fmt::format("{}{}=1", assumed.empty() ? "assuming " : ", ", symbol);
    telling.push_back(i);
    for (size_t j = 0; j < inputs.size(); ++j)
      for (size_t axis = 0; shapes[j] && inputs[j].ranked && axis < shapes[j]->size(); ++axis)
        if (IsOpen(inputs[j], axis) && SymbolOf(inputs[j], axis) == symbol) (*shapes[j])[axis] = 1;
  }
  DEPUTY_RETURN_IF_ERROR(RequireClosed(inputs, shapes));
  CompletedShapes completed;
  for (std::optional<Shape>& shape : shapes) completed.shapes.push_back(*std::move(shape));
  for (const size_t i : telling)
    assumed += fmt::format("{} --shape {}={}", i == telling.front() ? "; override with" : "", inputs[i].name,
                           TypedShape(completed.shapes[i]));
  completed.assumed = std::move(assumed);
  return completed;
}

void PrintAssumed(const std::string& assumed) {
  if (assumed.empty()) return;
  PrintNote(assumed);
}

Status WithAssumed(Status status, const std::string& assumed) {
  if (status.ok() || assumed.empty()) return status;
  const std::string advice = status.advice().empty() ? assumed : status.advice() + "; " + assumed;
  return Status(status.code(), status.message()).At(status.where()).Advise(advice);
}

Status RequireTensors(const Model& model) {
  for (const std::vector<TensorInfo>* infos : {&model.inputs(), &model.outputs()})
    for (const TensorInfo& info : *infos)
      if (info.kind != ValueKind::kTensor)
        return Status(StatusCode::kNotSupported,
                      fmt::format("{} '{}' is {}; this command supports only tensors",
                                  infos == &model.inputs() ? "input" : "output", info.name, TypeText(info)))
            .Advise("'deputy test-case' reads and compares sequences and optionals; programs use PredictValues");
  return {};
}

std::vector<Tensor> LoadedModel::tensors() const {
  std::vector<Tensor> tensors;
  for (const BoundInput& input : bound.inputs) tensors.push_back(input.tensor);
  return tensors;
}

void InputArguments::AddTo(CLI::App& syntax) {
  AddRepeated(syntax, "--input", files, "NAME=FILE",
              "Input file: .npy, .pb (ONNX TensorProto), a picture (PNG, JPEG, PPM) or raw bytes [default: seeded "
              "random data]");
  syntax.add_flag("--convert-inputs", convert, "Convert the elements of .npy and .pb files to the input's type");
  pictures.AddTo(syntax);
}

Status BuildModel(Model& model, const std::string& path, const Context& context, const std::vector<std::string>& shapes,
                  BuildOptions options) {
  for (const std::string& argument : shapes) {
    DEPUTY_ASSIGN_OR_RETURN(NamedValue named, ParseNamedValue("--shape", "NAME=1x3x224x224", argument));
    Result<Shape> shape = ParseShape(named.value);
    if (!shape.ok()) return std::move(shape).status().At("--shape " + argument);
    options.input_shapes.emplace_back(std::move(named.name), std::move(shape).value());
  }
  return model.Build(path, context, options);
}

std::optional<Model> OpenModel(const std::string& path, const ContextOptions& context,
                               const std::vector<std::string>& shapes, int& exit_status, const BuildOptions& options,
                               LoadTimes* times) {
  const auto fail = [&](Stage stage, const Status& status) {
    exit_status = Fail(stage, status);
    return std::nullopt;
  };
  Stopwatch watch;
  const std::optional<Context> opened = context.Open(exit_status);
  if (!opened) return std::nullopt;
  if (times != nullptr) *times = {watch.Lap(), 0, PeakMemory()};
  watch.Lap();
  Model model;
  if (const Status status = BuildModel(model, path, *opened, shapes, options); !status.ok())
    return fail(Stage::kModel, status);
  if (times != nullptr) times->build_ns = watch.Lap();
  ClearProgress();
  if (const Status status = RequireTensors(model); !status.ok()) return fail(Stage::kSetup, status);
  return model;
}

namespace {

// The inputs with a default value that have a file.
std::vector<std::string> GivenDefaults(const Model& model, const InputArguments& inputs) {
  std::vector<std::string> given;
  for (const std::string& name : model.inputs_with_default()) {
    const bool has_file = std::any_of(inputs.files.begin(), inputs.files.end(), [&](const std::string& argument) {
      const Result<NamedValue> named = ParseNamedValue("--input", "NAME=FILE", argument);
      return named.ok() && named->name == name;
    });
    if (has_file) given.push_back(name);
  }
  return given;
}

}  // namespace

std::optional<Model> OpenModelFor(const InputArguments& inputs, const std::string& path, const ContextOptions& context,
                                  const std::vector<std::string>& shapes, int& exit_status, const BuildOptions& options,
                                  LoadTimes* times) {
  std::optional<Model> model = OpenModel(path, context, shapes, exit_status, options, times);
  if (!model) return std::nullopt;
  BuildOptions with_given = options;
  with_given.given_inputs = GivenDefaults(*model, inputs);
  return with_given.given_inputs.empty() ? std::move(model)
                                         : OpenModel(path, context, shapes, exit_status, with_given, times);
}

std::optional<LoadedModel> LoadModel(const std::string& path, const ContextOptions& context,
                                     const InputArguments& inputs, const std::vector<std::string>& shapes,
                                     uint64_t seed, int& exit_status, const BuildOptions& options) {
  LoadTimes times;
  std::optional<Model> model = OpenModelFor(inputs, path, context, shapes, exit_status, options, &times);
  if (!model) return std::nullopt;
  Result<BoundInputs> bound = BindInputs(model->inputs(), inputs, shapes, seed);
  if (!bound.ok()) {
    exit_status = Fail(Stage::kSetup, bound.status());
    return std::nullopt;
  }
  PrintAssumed(bound->assumed);
  return LoadedModel{*std::move(model), std::move(bound).value(), times};
}

std::optional<Session> OpenSession(const LoadedModel& loaded, int& exit_status) {
  const auto fail = [&](const Status& status) {
    exit_status = Fail(Stage::kModel, status);
    return std::nullopt;
  };
  Result<Session> session = loaded.model.CreateSession();
  if (!session.ok()) return fail(session.status());
  std::vector<Shape> shapes;
  for (const BoundInput& input : loaded.bound.inputs) shapes.push_back(input.tensor.shape());
  const Status status = session->Resize(shapes);
  if (!status.ok()) return fail(WithAssumed(status, loaded.bound.assumed));
  ClearProgress();
  return std::move(session).value();
}

Result<Tensor> RandomTensor(DType dtype, const Shape& shape, uint64_t seed) {
  if (!IsNumeric(dtype))
    return Status(StatusCode::kNotSupported, fmt::format("no random data of dtype {}", NameOf(dtype)));
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, shape));
  std::mt19937_64 generator(seed);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    // The distributions of the standard library differ between implementations; this one does not.
    const double unit = std::ldexp(static_cast<double>(generator() >> 11), -53);
    if (IsFloating(dtype)) {
      SetElement(tensor, i, 2 * unit - 1);
    } else if (dtype == DType::kUint8) {
      SetElement(tensor, i, unit * 256);
    } else if (dtype == DType::kInt8) {
      SetElement(tensor, i, std::floor(unit * 256) - 128);
    } else {
      SetElement(tensor, i, unit < 0.5 ? 0 : 1);
    }
  }
  return tensor;
}

namespace {

// What the files of the command line give to each input.
struct GivenFiles {
  std::vector<std::string> file;                   // other than pictures
  std::vector<std::vector<std::string>> pictures;  // of one input: a batch
};

Result<GivenFiles> SortFiles(const std::vector<TensorInfo>& inputs, const InputArguments& arguments) {
  GivenFiles given{std::vector<std::string>(inputs.size()), std::vector<std::vector<std::string>>(inputs.size())};
  for (const std::string& argument : arguments.files) {
    Result<NamedValue> parsed = ParseNamedValue("--input", "NAME=FILE", argument);
    if (!parsed.ok()) {
      std::vector<std::string> names;
      for (const TensorInfo& input : inputs) names.push_back(input.name);
      return std::move(parsed).status().Advise("the model's inputs: " + Joined(names));
    }
    const NamedValue named = *std::move(parsed);
    Result<size_t> index = FindByName("input", named.name, inputs);
    if (!index.ok()) return std::move(index).status().At("--input " + argument);
    std::string& file = given.file[*index];
    std::vector<std::string>& pictures = given.pictures[*index];
    const bool is_picture = IsPictureName(named.value);
    if (!file.empty() || (!is_picture && !pictures.empty()))
      return Status(StatusCode::kInvalidArgument, fmt::format("input '{}' has two files", named.name)).At("--input");
    if (is_picture) {
      pictures.push_back(named.value);
    } else {
      file = named.value;
    }
  }
  DEPUTY_RETURN_IF_ERROR(arguments.pictures.Check(inputs, given.pictures));
  return given;
}

// A file that contains its type, converted on request.
Result<Tensor> ReadTyped(const std::string& file, const TensorInfo& info, bool convert) {
  DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, ReadTensorFile(file));
  const bool other_dtype = tensor.dtype() != info.dtype && IsNumeric(tensor.dtype()) && IsNumeric(info.dtype);
  if (other_dtype && convert && CheckFits(file, info.dtype, tensor.shape(), info).ok()) {
    Result<Tensor> converted = ConvertRounded(tensor, info.dtype);
    if (!converted.ok()) return std::move(converted).status().At(file);
    return converted;
  }
  Status fits = CheckFits(file, tensor.dtype(), tensor.shape(), info);
  if (fits.ok()) return tensor;
  if (other_dtype) return std::move(fits).Advise("--convert-inputs converts the elements");
  if (tensor.dtype() == info.dtype && info.ranked && tensor.shape().size() == info.shape.size())
    return std::move(fits).Advise(
        fmt::format("--shape {}={} changes the model's extents", info.name, TypedShape(tensor.shape())));
  return fits;
}

}  // namespace

Result<BoundInputs> BindInputs(const std::vector<TensorInfo>& inputs, const InputArguments& arguments,
                               const std::vector<std::string>& shapes, uint64_t seed) {
  DEPUTY_ASSIGN_OR_RETURN(KnownShapes known, ParseShapes(shapes, inputs));
  DEPUTY_ASSIGN_OR_RETURN(const GivenFiles given, SortFiles(inputs, arguments));
  std::vector<std::optional<BoundInput>> read(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& file = given.file[i];
    if (!SaysItsType(file)) continue;
    DEPUTY_ASSIGN_OR_RETURN(Tensor tensor, ReadTyped(file, inputs[i], arguments.convert));
    if (known[i] && *known[i] != tensor.shape())
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("{} is {}, but --shape is {}", file, ShapeText(tensor.shape()), ShapeText(*known[i])));
    known[i] = tensor.shape();
    read[i] = BoundInput{std::move(tensor), file};
  }
  const KnownShapes partial = PropagateExtents(inputs, known);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given.pictures[i].empty()) continue;
    DEPUTY_ASSIGN_OR_RETURN(const PictureSettings settings, SettingsFor(arguments.pictures, inputs[i].name));
    DEPUTY_ASSIGN_OR_RETURN(PictureTensor made, MakePictureTensor(inputs[i], partial[i], given.pictures[i], settings));
    known[i] = made.tensor.shape();
    read[i] = BoundInput{std::move(made.tensor), std::move(made.origin)};
  }

  DEPUTY_ASSIGN_OR_RETURN(CompletedShapes completed, CompleteShapes(inputs, known));
  BoundInputs bound;
  bound.assumed = std::move(completed.assumed);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!read[i] && !given.file[i].empty()) {
      Result<Tensor> tensor = ReadTensorFile(given.file[i], inputs[i].dtype, completed.shapes[i]);
      if (!tensor.ok()) return WithAssumed(std::move(tensor).status(), bound.assumed);
      read[i] = BoundInput{std::move(tensor).value(), given.file[i]};
    }
    if (read[i]) {
      bound.inputs.push_back(*std::move(read[i]));
      continue;
    }
    Result<Tensor> made = RandomTensor(inputs[i].dtype, completed.shapes[i], seed + i);
    if (!made.ok())
      return std::move(made).status().At(fmt::format("input '{}'", inputs[i].name)).Advise("give a file with --input");
    bound.inputs.push_back({std::move(made).value(), fmt::format("random, seed {}", seed)});
  }
  return bound;
}

}  // namespace deputy::cli
