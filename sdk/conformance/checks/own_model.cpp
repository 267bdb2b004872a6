// The vendor's own model (--model), run by the host with the delegate and compared with the CPU, partition by
// partition.
#include <cstring>

#include "plugin_host.hpp"
#include "random/draft.hpp"
#include "test.hpp"

namespace deputy::conformance {
namespace {

constexpr int64_t kExtent = 1;  // of dimensions that the model does not fix

// Floats of every fraction in [-1, 1]; small whole numbers.
Result<::deputy::Tensor> DrawnInput(const TensorInfo& info, RandomSource& random) {
  Shape shape = info.shape;
  for (int64_t& extent : shape)
    if (extent < 0) extent = kExtent;
  const auto dtype = static_cast<deputy_dtype>(info.dtype);
  if (reference::BytesOf(dtype) == 0)
    return Status(StatusCode::kNotSupported, "input " + info.name + " has an element type that the kit cannot draw");
  Tensor values(dtype, shape);
  for (int64_t i = 0; i < values.count(); ++i) {
    if (reference::IsReal(dtype))
      values.Put(i, static_cast<double>(random.Between(-(1 << 23), 1 << 23)) / (1 << 23));
    else
      values.Put(i, random.Between(0, dtype == kBool ? 1 : 3));
  }
  const std::vector<uint8_t> bytes = reference::Encode(values);
  Result<::deputy::Tensor> made = ::deputy::Tensor::Allocate(info.dtype, shape);
  if (made.ok() && !bytes.empty()) std::memcpy(made.value().mutable_data(), bytes.data(), bytes.size());
  return made;
}

void CheckModel(TestRun& run) {
  const Settings& settings = run.settings();
  const PluginFolder folder(settings.plugin);
  const std::unique_ptr<Plugin> plugin = run.Load(false);
  const deputy_delegate* delegate = plugin == nullptr ? nullptr : run.Delegate(*plugin);
  if (delegate == nullptr) return;
  const Result<::deputy::Context> context =
      ContextFor(folder, std::string(delegate->id.data, delegate->id.size), settings.options);
  if (!context.ok()) return run.Failed("", context.status().ToString());
  Model model;
  if (const Status built = model.Build(settings.model, context.value()); !built.ok())
    return run.Failed("", built.ToString());
  RandomSource random(settings.seed);
  std::vector<::deputy::Tensor> inputs;
  for (const TensorInfo& info : model.inputs()) {
    const Result<::deputy::Tensor> input = DrawnInput(info, random);
    if (!input.ok()) return run.Failed("", input.status().ToString());
    inputs.push_back(input.value());
  }
  VerifyOptions options;
  options.folder = settings.save_failures;
  const Result<std::vector<PartitionVerification>> verified = model.Verify(inputs, options);
  if (!verified.ok()) return run.Failed("", verified.status().ToString());
  for (const PartitionVerification& one : verified.value()) {
    std::string nodes;
    for (const std::string& node : one.nodes) nodes += (nodes.empty() ? "" : ", ") + node;
    if (nodes.size() > 200) nodes = nodes.substr(0, 200) + ", ...";
    const std::string subject = one.partition + " of " + nodes;
    if (one.result == VerificationResult::kWrong || one.result == VerificationResult::kNotVerified)
      run.Failed(subject, one.detail);
    else
      run.Passed(subject);
  }
  if (verified.value().empty()) run.Skipped("it takes no node of the model");
}

}  // namespace

std::vector<Test> OwnModelTests(const Settings& settings) {
  if (settings.model.empty()) return {};
  return {{"host.model", CheckModel}};
}

}  // namespace deputy::conformance
