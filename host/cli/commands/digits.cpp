// deputy digits: classifies pictures of digits on a simulated NPU, oneDNN and the CPU, and shows pictures, answers and
// placement. A first demonstration for new users.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inputs/picture.hpp"
#include "cli/measure/timing.hpp"
#include "cli/report/json_report.hpp"
#include "cli/report/placement_text.hpp"
#include "cli/report/shape_text.hpp"
#include "cli/terminal/quantity.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal.hpp"
#include "deputy/model.hpp"

namespace deputy::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSide = 28, kDigits = 10;
constexpr double kGoodEnough = 0.95;
constexpr int kUnknown = -1;

struct DigitsOptions {
  std::string model, images;
  ContextOptions context;
  bool json = false;
};

struct Digit {
  std::string file;
  Picture picture;
  int truth = kUnknown;  // by the file's name: "00_7.pgm" is a 7
  int answer = kUnknown;
};

int TruthIn(const fs::path& file) {
  const std::string stem = file.stem().string();
  const size_t underscore = stem.rfind('_');
  if (underscore == std::string::npos || underscore + 2 != stem.size()) return kUnknown;
  const char digit = stem.back();
  return digit >= '0' && digit <= '9' ? digit - '0' : kUnknown;
}

Result<std::vector<Digit>> ReadDigits(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".pgm") files.push_back(it->path());
  if (error) return Status(StatusCode::kNotFound, "cannot be read: " + error.message()).At(folder.string());
  if (files.empty()) return Status(StatusCode::kNotFound, "has no .pgm pictures").At(folder.string());
  std::sort(files.begin(), files.end());
  std::vector<Digit> digits;
  for (const fs::path& file : files) {
    DEPUTY_ASSIGN_OR_RETURN(Picture picture, ReadPgm(file.string()));
    if (picture.width != kSide || picture.height != kSide)
      return Status(StatusCode::kInvalidArgument,
                    fmt::format("the picture is {}x{}, not {}x{}", picture.width, picture.height, kSide, kSide))
          .At(file.string());
    digits.push_back({file.string(), std::move(picture), TruthIn(file), kUnknown});
  }
  return digits;
}

Status CheckReadsDigits(const Model& model) {
  const std::vector<TensorInfo>&inputs = model.inputs(), &outputs = model.outputs();
  const bool fits = inputs.size() == 1 && outputs.size() == 1 && inputs[0].dtype == DType::kFloat32 &&
                    outputs[0].dtype == DType::kFloat32 && inputs[0].shape.size() == 4 && inputs[0].shape[0] < 0 &&
                    inputs[0].shape[1] == 1 && inputs[0].shape[2] == kSide && inputs[0].shape[3] == kSide;
  if (fits) return {};
  return Status(StatusCode::kModel, "the model does not classify digits")
      .Advise(fmt::format("it needs one input float32 [batch,1,{0},{0}] and one output float32 [batch,{1}]", kSide,
                          kDigits));
}

// All pictures in one batch.
Status ReadAll(Session& session, std::vector<Digit>& digits) {
  const auto count = static_cast<int64_t>(digits.size());
  DEPUTY_ASSIGN_OR_RETURN(Tensor batch, Tensor::Allocate(DType::kFloat32, {count, 1, kSide, kSide}));
  auto pixel = batch.mutable_values<float>().begin();
  for (const Digit& digit : digits) pixel = std::copy(digit.picture.pixels.begin(), digit.picture.pixels.end(), pixel);
  std::vector<Tensor> outputs;
  DEPUTY_RETURN_IF_ERROR(session.Predict({batch}, &outputs));
  if (outputs[0].shape() != Shape{count, kDigits})
    return Status(StatusCode::kModel, fmt::format("the model returned {}", TypeText(outputs[0])));
  const auto logits = outputs[0].values<float>();
  for (size_t i = 0; i < digits.size(); ++i) {
    const auto row = logits.begin() + static_cast<ptrdiff_t>(i * kDigits);
    digits[i].answer = static_cast<int>(std::max_element(row, row + kDigits) - row);
  }
  return {};
}

void PrintGallery(const std::vector<Digit>& digits, const Terminal& terminal) {
  std::vector<Picture> pictures;
  std::vector<Caption> captions;
  for (const Digit& digit : digits) {
    pictures.push_back(digit.picture);
    if (digit.truth == kUnknown) {
      captions.push_back({fmt::format("answer {}", digit.answer), Paint::kBold});
    } else if (digit.truth == digit.answer) {
      captions.push_back({fmt::format("{} {}", digit.answer, terminal.Either("✓", "ok")), Paint::kGood});
    } else {
      captions.push_back(
          {fmt::format("{} {} is {}", digit.answer, terminal.Either("✗", "WRONG,"), digit.truth), Paint::kBad});
    }
  }
  Print("\n{}", Shown::AsIs(DrawGallery(pictures, captions, terminal)));
}

std::string OperatorsOn(const PlacementReport& report, const std::string& delegate, const Terminal& terminal) {
  std::vector<std::string> operators;
  for (const NodeReport& node : report.nodes)
    if (node.delegate == delegate) operators.push_back(node.op_type);
  return CountedNames(operators, terminal);
}

void PrintPlacement(const PlacementReport& report, const RunStatistics& statistics, size_t count,
                    const Terminal& terminal) {
  Table table({{"delegate"},
               {"nodes", Align::kRight},
               {"multiply-adds", Align::kRight, Fit::kMiddle, 2},
               {"host time", Align::kRight},
               {"device time", Align::kRight, Fit::kMiddle, 1},
               {"operators", Align::kLeft, Fit::kList, 3}});
  for (const DelegateReport& delegate : report.delegates) {
    table.AddRow({delegate.name, CountText(delegate.nodes), ShareText(delegate.multiply_adds, report.multiply_adds),
                  delegate.nodes == 0 ? "-" : DurationText(TimeOf(statistics.delegate_ns, delegate.name)),
                  delegate.has_device ? DurationText(delegate.device.busy_ns) : "",
                  OperatorsOn(report, delegate.name, terminal)});
  }
  Print("{}\n", table.Text(terminal, "  "));
  for (const DelegateReport& delegate : report.delegates)
    if (const std::string clock = ClockSentence(delegate.device); delegate.has_device && !clock.empty())
      Print("  {} clock: {}\n", delegate.name, clock);
  Print("  time: {} for {}, {} each\n", DurationText(statistics.total_ns), Plural(count, "picture"),
        DurationText(statistics.total_ns / count));
}

// Returns the exit status: kDone if enough answers are right.
int PrintAccuracy(const std::vector<Digit>& digits, const Terminal& terminal) {
  size_t known = 0, right = 0;
  for (const Digit& digit : digits) {
    known += digit.truth != kUnknown ? 1 : 0;
    right += digit.truth != kUnknown && digit.truth == digit.answer ? 1 : 0;
  }
  if (known == 0) return kDone;
  const bool good = static_cast<double>(right) >= kGoodEnough * static_cast<double>(known);
  const std::string text = fmt::format("{} of {} right ({})", right, known, ShareText(right, known));
  Print("  {}{}\n\n", terminal.Paint(good ? Paint::kGood : Paint::kBad, text),
        good ? "" : fmt::format(", fewer than {:.0f} %", kGoodEnough * 100));
  return good ? kDone : kNo;
}

Json JsonOf(const std::vector<Digit>& digits, const PlacementReport& report, const RunStatistics& statistics) {
  Json pictures = Json::array(), delegates = Json::array();
  for (const Digit& digit : digits)
    pictures.push_back({{"file", digit.file},
                        {"answer", digit.answer},
                        {"truth", digit.truth == kUnknown ? Json(nullptr) : Json(digit.truth)}});
  for (const DelegateReport& delegate : report.delegates)
    delegates.push_back({{"name", delegate.name},
                         {"nodes", delegate.nodes},
                         {"multiply_adds", delegate.multiply_adds},
                         {"host_time_ns", TimeOf(statistics.delegate_ns, delegate.name)},
                         {"device_time_ns", delegate.has_device ? Json(delegate.device.busy_ns) : Json(nullptr)}});
  return {{"pictures", std::move(pictures)}, {"time_ns", statistics.total_ns}, {"delegates", std::move(delegates)}};
}

int RunDigits(DigitsOptions options) {
  if (options.json) PrintNoText();
  const fs::path share = ShareFolder();
  if (options.context.configs.empty() && BundleInUse(false, options.context.bundle).empty())
    options.context.configs = {(share / "digits" / "digits.yaml").string()};
  if (options.model.empty()) options.model = (share / "digits" / "digits.onnx").string();
  if (options.images.empty()) options.images = (share / "digits" / "images").string();

  int exit_status = kDone;
  const std::optional<Context> context = options.context.Open(exit_status);
  if (!context) return exit_status;
  Result<std::vector<Digit>> digits = ReadDigits(options.images);
  if (!digits.ok()) return Fail(Stage::kSetup, digits.status());
  Model model;
  Status status = model.Build(options.model, *context);
  if (status.ok()) status = CheckReadsDigits(model).At(options.model);
  if (!status.ok()) return Fail(Stage::kModel, status);
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return Fail(Stage::kModel, session.status());
  session->EnableProfiling(true);
  status = ReadAll(*session, *digits);
  if (!status.ok()) return Fail(Stage::kRun, status);
  const Result<PlacementReport> placement = session->Placement();
  if (!placement.ok()) return Fail(Stage::kRun, placement.status());

  const Terminal terminal = TerminalOf(stdout);
  PrintGallery(*digits, terminal);
  exit_status = PrintAccuracy(*digits, terminal);
  PrintPlacement(*placement, session->statistics(), digits->size(), terminal);
  if (options.json) PrintJson(JsonOf(*digits, *placement, session->statistics()));
  return exit_status;
}

}  // namespace

Command MakeDigitsCommand(CLI::App& app) {
  auto options = std::make_shared<DigitsOptions>();
  CLI::App* syntax = app.add_subcommand("digits", "Classify pictures of digits: a short demonstration");
  options->context.AddTo(*syntax);
  syntax->get_option("--config")
      ->description(
          "Configuration file, or the name of an installed one; repeatable [default: the installed digits.yaml]");
  syntax
      ->add_option("--model", options->model,
                   "Model from float32 [batch,1,28,28] to [batch,10] [default: the installed digits.onnx]")
      ->type_name("FILE");
  syntax
      ->add_option("--images", options->images,
                   "Directory of 28x28 .pgm pictures named *_DIGIT.pgm [default: the installed pictures]")
      ->type_name("DIR");
  AddJson(*syntax, options->json);
  SetExample(*syntax, "deputy digits --set delegates.npu0.options.frequency=low");
  return {syntax, [options] { return RunDigits(*options); }};
}

}  // namespace deputy::cli
