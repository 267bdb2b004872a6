#include "cli/inputs/test_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <optional>
#include <system_error>

#include "cli/inputs/element.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/temporary_folder.hpp"
#include "cli/thread.hpp"
#include "deputy/model.hpp"
#include "deputy/tensor_file.hpp"

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

CaseResult Skip(CaseResult result, const std::string& reason) {
  result.verdict = CaseVerdict::kSkip;
  result.detail = reason;
  return result;
}

CaseResult Fail(CaseResult result, const std::string& reason) {
  result.verdict = CaseVerdict::kFail;
  result.detail = reason;
  return result;
}

CaseResult Refused(CaseResult result, const Status& status) {
  const bool unsupported = status.code() == StatusCode::kNotSupported;
  std::string text = status.ToString();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return unsupported ? Skip(std::move(result), text) : Fail(std::move(result), text);
}

std::vector<fs::path> DataSetsIn(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().rfind("test_data_set_", 0) == 0) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  return found;
}

fs::path DataFile(const fs::path& set, const char* kind, size_t index) {
  return set / fmt::format("{}_{}.pb", kind, index);
}

// With as many inputs as the data set has: inputs with a default value are inputs if it has data for all of them.
Status Build(const fs::path& file, const fs::path& set, const Context& context, bool via_dpm, Model& model) {
  DEPUTY_RETURN_IF_ERROR(model.Build(file.string(), context));
  BuildOptions options;
  options.given_inputs = model.inputs_with_default();
  size_t files = 0;
  for (std::error_code error; fs::exists(DataFile(set, "input", files), error);) ++files;
  if (!options.given_inputs.empty() && files == model.inputs().size() + options.given_inputs.size()) {
    model = Model();
    DEPUTY_RETURN_IF_ERROR(model.Build(file.string(), context, options));
  }
  if (!via_dpm) return {};
  const TemporaryFolder scratch("deputy-case");
  if (scratch.path().empty()) return Status(StatusCode::kUnavailable, "a temporary directory cannot be created");
  const std::string converted = (scratch.path() / "model.dpm").string();
  DEPUTY_RETURN_IF_ERROR(model.Save(converted));
  model = Model();
  return model.Build(converted, context);
}

// Runs the data sets of one case in order; stops at the first that does not pass.
class CaseRun {
 public:
  CaseRun(const Model& model, Session& session, const CaseOptions& options, CaseResult result)
      : model_(model), session_(session), options_(options), result_(std::move(result)), comparer_(options.tolerance) {}

  // True while the case passes.
  bool RunSet(const fs::path& set) {
    set_ = set.filename().string();
    std::vector<ModelValue> inputs;
    for (size_t i = 0; i < model_.inputs().size(); ++i) {
      const TensorInfo& info = model_.inputs()[i];
      std::optional<ModelValue> input = Read(DataFile(set, "input", i), info);
      if (!input) return false;
      if (input->is_tensor() && !Fits(input->tensor(), info)) input = Repeated(input->tensor(), info);
      if (input->is_tensor() && !Fits(input->tensor(), info))
        return Stop(Skip(std::move(result_), fmt::format("the data of '{}' does not have the shape that the model "
                                                         "declares: the case is inconsistent",
                                                         info.name)));
      inputs.push_back(input->is_tensor() ? Converted(input->tensor(), info) : *std::move(input));
    }
    const fs::path surplus = DataFile(set, "input", inputs.size());
    if (std::error_code error; fs::exists(surplus, error))
      return Stop(Skip(std::move(result_),
                       fmt::format("{} exists, but the model has {} inputs, and {} with a default "
                                   "value",
                                   surplus.filename().string(), inputs.size(), model_.inputs_with_default().size())));
    std::vector<std::vector<ModelValue>> answers;
    const Status status = Predict(inputs, answers);
    if (!status.ok()) return Stop(Refused(std::move(result_), status));
    result_.nodes.clear();
    if (const Result<PlacementReport> shares = session_.DelegateShares(); shares.ok())
      for (const DelegateReport& delegate : shares->delegates)
        result_.nodes.emplace_back(delegate.name, delegate.nodes);
    if (const Result<ModelTraits> traits = session_.Traits(); traits.ok()) {
      comparer_.set_model(*traits);
      if (!traits->drawing.empty())
        return Stop(Skip(std::move(result_),
                         fmt::format("{} generates random numbers: outputs cannot be compared", traits->drawing)));
    }
    for (const std::vector<ModelValue>& outputs : answers)
      for (size_t i = 0; i < outputs.size(); ++i)
        if (!Compare(DataFile(set, "output", i), model_.outputs()[i], outputs[i])) return false;
    return true;
  }

  CaseResult Finish() {
    if (stopped_) return std::move(result_);
    if (compared_ == 0) return Skip(std::move(result_), "no output_*.pb to compare with");
    result_.verdict = CaseVerdict::kPass;
    result_.detail = comparer_.Summary();
    if (options_.in_flight != 0) result_.detail += fmt::format(", {} in flight", options_.in_flight);
    return std::move(result_);
  }

 private:
  bool Stop(CaseResult result) {
    result_ = std::move(result);
    stopped_ = true;
    return false;
  }

  // Models with only tensors are run by Predict or as requests, as applications do. One list of outputs per request.
  Status Predict(const std::vector<ModelValue>& inputs, std::vector<std::vector<ModelValue>>& answers) {
    const auto is_tensor = [](const TensorInfo& info) { return info.kind == ValueKind::kTensor; };
    if (!std::all_of(model_.inputs().begin(), model_.inputs().end(), is_tensor) ||
        !std::all_of(model_.outputs().begin(), model_.outputs().end(), is_tensor))
      return session_.PredictValues(inputs, &answers.emplace_back());
    std::vector<Tensor> given, made;
    for (const ModelValue& input : inputs) given.push_back(input.tensor());
    if (options_.in_flight != 0) return PredictAtOnce(given, answers);
    DEPUTY_RETURN_IF_ERROR(session_.Predict(given, &made));
    answers.emplace_back(made.begin(), made.end());
    return {};
  }

  // A further request would change the states of a model that has any.
  Status PredictAtOnce(const std::vector<Tensor>& given, std::vector<std::vector<ModelValue>>& answers) {
    std::vector<std::future<PredictResult>> results;
    Status status;
    for (size_t i = 0; status.ok() && i < (model_.has_states() ? 1 : options_.in_flight); ++i) {
      Result<std::future<PredictResult>> result = session_.PredictAsync(std::vector<Tensor>(given));
      if (result.ok()) results.push_back(std::move(result).value());
      status = result.status();
    }
    for (std::future<PredictResult>& one : results) {
      PredictResult result = one.get();
      if (status.ok()) status = std::move(result.status);
      answers.emplace_back(result.outputs.begin(), result.outputs.end());
    }
    return status;
  }

  std::optional<ModelValue> Read(const fs::path& file, const TensorInfo& info) {
    std::error_code error;
    if (!fs::exists(file, error)) {
      Stop(Skip(std::move(result_), fmt::format("no {}/{}", set_, file.filename().string())));
      return std::nullopt;
    }
    Result<ModelValue> read = ReadValueFile(file.string(), info.kind, info.dtype);
    if (read.ok() && read->is_tensor()) return ModelValue(AsBits(read->tensor(), info.dtype));
    if (read.ok()) return std::move(read).value();
    if (info.dtype == DType::kUndefined || info.dtype == DType::kString) {
      Stop(Skip(std::move(result_), fmt::format("'{}' is not a numeric tensor", info.name)));
    } else {
      Stop(Refused(std::move(result_), read.status()));
    }
    return std::nullopt;
  }

  static bool Fits(const Tensor& tensor, const TensorInfo& info) {
    if (!info.ranked) return true;
    return std::equal(tensor.shape().begin(), tensor.shape().end(), info.shape.begin(), info.shape.end(),
                      [](int64_t got, int64_t want) { return want < 0 || got == want; });
  }

  bool IsExcepted(const std::string& name) const {
    return std::find(options_.excepted.begin(), options_.excepted.end(), name) != options_.excepted.end();
  }

  // ONNX's own runner does not declare shapes to its backends: CastLike's cases have one element where the model has
  // more.
  Tensor Repeated(Tensor input, const TensorInfo& info) {
    std::optional<Tensor> repeated = RepeatElement(input, info.shape);
    if (!repeated) return input;
    comparer_.Note(fmt::format("the one element of '{}' repeated for {}", info.name, ShapeText(info.shape)));
    return *std::move(repeated);
  }

  // Data that cannot be converted are left unchanged, for the model to refuse.
  Tensor Converted(Tensor input, const TensorInfo& info) {
    if (input.dtype() == info.dtype) return input;
    std::optional<Tensor> converted = ConvertTensor(input, info.dtype);
    if (!converted) return input;
    comparer_.Note(fmt::format("'{}' converted from {} to {}", info.name, NameOf(input.dtype()), NameOf(info.dtype)));
    return *std::move(converted);
  }

  bool Compare(const fs::path& file, const TensorInfo& info, const ModelValue& got) {
    std::error_code error;
    if (!fs::exists(file, error)) return true;
    const std::optional<ModelValue> want = Read(file, info);
    if (!want) return false;
    ++compared_;
    if (got.is_tensor() && want->is_tensor()) return CompareOne(info.name, got.tensor(), want->tensor());
    if (got.is_sequence() != want->is_sequence() || got.empty() != want->empty())
      return Differs(info.name, fmt::format("got {}, want {}", WhatIs(got), WhatIs(*want)));
    if (got.is_sequence() && (got.elements().size() != want->elements().size() || got.dtype() != want->dtype()))
      return Differs(info.name, fmt::format("got {}, want {}", WhatIs(got), WhatIs(*want)));
    for (size_t i = 0; i < got.elements().size(); ++i)
      if (!CompareOne(fmt::format("{}[{}]", info.name, i), got.elements()[i], want->elements()[i])) return false;
    return true;
  }

  static std::string WhatIs(const ModelValue& value) {
    if (value.empty()) return "nothing";
    if (value.is_tensor()) return TypeText(value.tensor());
    return fmt::format("{} elements of {}", value.elements().size(), NameOf(value.dtype()));
  }

  bool Differs(const std::string& name, const std::string& how) {
    return Stop(Fail(std::move(result_), fmt::format("{} '{}': {}", set_, name, how)));
  }

  bool CompareOne(const std::string& name, const Tensor& output, const Tensor& want) {
    if (IsExcepted(name) && output.dtype() == want.dtype() && output.shape() == want.shape()) {
      comparer_.Note(fmt::format("'{}' compared by type and shape only", name));
      return true;
    }
    const std::string difference = comparer_.Compare(name, output, want);
    return difference.empty() || Differs(name, difference);
  }

  const Model& model_;
  Session& session_;
  const CaseOptions& options_;
  CaseResult result_;
  std::string set_;
  OutputComparer comparer_;
  size_t compared_ = 0;
  bool stopped_ = false;
};

CaseResult RunSets(const Model& model, Session& session, const CaseOptions& options, const std::vector<fs::path>& sets,
                   CaseResult result) {
  CaseRun run(model, session, options, std::move(result));
  for (const fs::path& set : sets)
    if (!run.RunSet(set)) break;
  return run.Finish();
}

// Each session begins with another set and returns to it at the end, so that sets of several shapes run concurrently,
// and every session returns to an earlier shape. Returns the first result that does not pass, or else the first.
CaseResult RunAtOnce(const Model& model, std::vector<Session>& sessions, const CaseOptions& options,
                     const std::vector<fs::path>& sets, const CaseResult& result) {
  std::vector<CaseResult> results(sessions.size());
  const Status started = RunOnThreads(sessions.size(), [&](size_t i) {
    std::vector<fs::path> order;
    for (size_t k = 0; k <= sets.size(); ++k) order.push_back(sets[(i + k) % sets.size()]);
    if (model.has_states()) order = sets;
    results[i] = RunSets(model, sessions[i], options, order, result);
  });
  if (!started.ok()) {
    results[0] = result;
    results[0].verdict = CaseVerdict::kFail;
    results[0].detail = started.ToString();
    return results[0];
  }
  const auto bad = std::find_if(results.begin(), results.end(),
                                [](const CaseResult& one) { return one.verdict != CaseVerdict::kPass; });
  CaseResult chosen = std::move(bad != results.end() ? *bad : results[0]);
  chosen.detail += fmt::format(", {} sessions at once", sessions.size());
  return chosen;
}

std::string NameOfFolder(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  const fs::path& named = error ? folder : whole;
  return named.has_filename() ? named.filename().string() : named.string();
}

}  // namespace

const char* NameOf(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::kPass: return "pass";
    case CaseVerdict::kFail: return "fail";
    case CaseVerdict::kSkip: return "skip";
  }
  return "";
}

CaseResult RunCase(const fs::path& folder, const Context& context, const CaseOptions& options) {
  CaseResult result;
  result.name = NameOfFolder(folder);
  std::error_code error;
  fs::path file = folder / "model.onnx";
  if (!fs::exists(file, error)) file = folder / "model.tflite";
  if (!fs::exists(file, error)) return Skip(std::move(result), "no model.onnx and no model.tflite");
  const std::vector<fs::path> sets = DataSetsIn(folder);
  if (sets.empty()) return Skip(std::move(result), "no test_data_set_*");
  Model model;
  const Status built = Build(file, sets.front(), context, options.via_dpm, model);
  if (!built.ok()) return Refused(std::move(result), built);
  std::vector<Session> sessions;
  for (size_t i = 0; i < std::max<size_t>(options.sessions, 1); ++i) {
    Result<Session> session = model.CreateSession();
    Status status = session.status();
    if (status.ok() && options.in_flight != 0) status = session->SetInFlight(options.in_flight);
    if (!status.ok()) return Refused(std::move(result), status);
    sessions.push_back(std::move(session).value());
  }
  if (sessions.size() == 1) return RunSets(model, sessions[0], options, sets, std::move(result));
  return RunAtOnce(model, sessions, options, sets, result);
}

}  // namespace deputy::cli
