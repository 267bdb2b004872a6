// ONNX models from the file to the outputs, through the public API on the CPU, with limits: a run that takes more loop
// steps, time or memory than they allow is an error.
#include <algorithm>
#include <string>
#include <vector>

#include "deputy/deputy.hpp"
#include "fuzz/onnx_message.hpp"
#include "fuzz/target.hpp"

namespace deputy::fuzz {
namespace {

constexpr size_t kMostBytes = 8 * 1024;
constexpr int64_t kMostElements = 1 << 16, kOpenExtent = 2;
constexpr char kLimits[] =
    "version: 1\n"
    "cpu: {threads: 1}\n"
    "limits: {loop_steps: 1000, timeout: 500ms, memory: 64MB}\n"
    "passes: {fold_budget: 4MB}\n"
    "cache: {dir: \"off\"}\n";

void RequireError(const Status& status) {
  Require(!status.message().empty(), "an error has a message", status.ToString());
  Require(status.code() != StatusCode::kInternal && status.code() != StatusCode::kUnknown,
          "a bad input is no internal error", status.ToString());
}

const Context& LimitedContext() {
  static const Context context = [] {
    SetLogSink([](LogLevel, std::string_view, std::string_view) {});
    Result<Context> made = Context::FromYamlText("limits", kLimits);
    Require(made.ok(), "the configuration is right", made.status().ToString());
    return std::move(made).value();
  }();
  return context;
}

// Small numbers of any sign and zeros; none where a model wants more than the harness gives.
Result<Tensor> InputFor(const TensorInfo& info) {
  Shape shape;
  int64_t elements = 1;
  for (const int64_t extent : info.shape) {
    shape.push_back(extent < 0 ? kOpenExtent : extent);
    if (shape.back() != 0 && elements > kMostElements / shape.back())
      return Status(StatusCode::kResourceExhausted, "the input is too large");
    elements *= shape.back();
  }
  Result<Tensor> tensor = Tensor::Allocate(info.dtype, shape);
  if (!tensor.ok() || info.dtype == DType::kString) return tensor;
  auto* bytes = static_cast<uint8_t*>(tensor->mutable_data());
  for (size_t i = 0; i < tensor->byte_size(); ++i)
    bytes[i] = static_cast<uint8_t>(info.dtype == DType::kBool ? i % 2 : i * 37 % 11 / 8);
  return tensor;
}

// All elements of the outputs are readable, and as many as the shape says.
void RequireOutputs(const std::vector<Tensor>& outputs, size_t count) {
  Require(outputs.size() == count, "a run gives all outputs");
  size_t sum = 0;
  for (const Tensor& output : outputs) {
    if (output.dtype() == DType::kString || output.byte_size() == 0) continue;
    const auto* bytes = static_cast<const uint8_t*>(output.data());
    for (size_t i = 0; i < output.byte_size(); ++i) sum += bytes[i];
  }
  static_cast<void>(sum);
}

}  // namespace

void MutateInput(Bytes& input, Random& random) {
  MutateMessage(input, host::onnx_import::Message::kModel, random, kMostBytes);
}

void CheckInput(std::span<const uint8_t> input) {
  Model model;
  if (const Status built = model.Build(input.data(), input.size(), ModelType::kOnnx, LimitedContext()); !built.ok())
    return RequireError(built);
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return RequireError(session.status());
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : model.inputs()) {
    Result<Tensor> tensor = InputFor(info);
    if (!tensor.ok()) return;
    inputs.push_back(std::move(tensor).value());
  }
  for (int run = 0; run < 2; ++run) {  // the second one with the memory of the first
    std::vector<Tensor> outputs;
    const Status ran = session->Predict(inputs, &outputs);
    if (!ran.ok()) return RequireError(ran);
    RequireOutputs(outputs, model.outputs().size());
  }
}

}  // namespace deputy::fuzz
