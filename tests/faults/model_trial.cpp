#include "faults/model_trial.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace deputy::faults {
namespace {

constexpr int64_t kMostElements = int64_t{16} << 20;  // of an input

// Small numbers of both signs; of other types than float32 zeros.
void Fill(Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return;
  if (tensor.byte_size() != 0) std::memset(tensor.mutable_data(), 0, tensor.byte_size());
  if (tensor.dtype() != DType::kFloat32) return;
  auto* numbers = static_cast<float*>(tensor.mutable_data());
  for (size_t i = 0; i < tensor.byte_size() / sizeof(float); ++i)
    numbers[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 16;
}

}  // namespace

Outcome Refused(const Status& status) {
  if (!status.message().empty()) return Outcome::kRefused;
  std::fprintf(stderr, "an error without a message: %s\n", status.ToString().c_str());
  return Outcome::kWrong;
}

ModelTrial::ModelTrial(const Context& context, const Context& cpu, const Through& through,
                       const std::map<std::string, int64_t>& extents, std::string folder)
    : context_(context), cpu_(cpu), through_(through), extents_(extents), folder_(std::move(folder)) {}

Result<std::vector<Tensor>> ModelTrial::InputsOf(const Model& model) const {
  std::vector<Tensor> inputs;
  for (const TensorInfo& input : model.inputs()) {
    if (input.kind != ValueKind::kTensor) return Status(StatusCode::kNotSupported, "an input is no tensor");
    Shape shape = input.shape;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] >= 0) continue;
      const auto found = extents_.find(input.dims[i]);
      shape[i] = found == extents_.end() ? 1 : found->second;
    }
    int64_t elements = 1;
    for (const int64_t extent : shape) {
      if (extent != 0 && elements > kMostElements / extent)
        return Status(StatusCode::kResourceExhausted, "an input is too large");
      elements *= extent;
    }
    Result<Tensor> tensor = Tensor::Allocate(input.dtype, shape);
    if (!tensor.ok()) return tensor.status();
    Fill(*tensor);
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

Outcome ModelTrial::Run(const Model& model, const std::vector<Tensor>& inputs, std::vector<Tensor>* outputs) const {
  Result<Session> session = model.CreateSession();
  if (!session.ok()) return Refused(session.status());
  const Status status = session->Predict(inputs, outputs);
  if (status.ok()) return Outcome::kRan;
  return Refused(status) == Outcome::kWrong ? Outcome::kWrong : Outcome::kFailed;
}

Outcome ModelTrial::Place(const Model& model, const std::vector<Tensor>& inputs, Counts& counts) const {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const Result<PlacementReport> placement = model.Placement(shapes);
  if (!placement.ok()) return Refused(placement.status());
  const bool taken = std::any_of(placement->partitions.begin(), placement->partitions.end(),
                                 [](const PartitionReport& partition) { return partition.delegate != "cpu"; });
  counts.placed += taken ? 1 : 0;
  return Outcome::kRan;
}

Outcome ModelTrial::Verify(const Model& model, const std::vector<Tensor>& inputs, Counts& counts) const {
  const Result<std::vector<PartitionVerification>> verified = model.Verify(inputs, {});
  if (!verified.ok()) return Refused(verified.status());
  for (const PartitionVerification& partition : *verified)
    ++(partition.result == VerificationResult::kRight || partition.result == VerificationResult::kRounding
           ? counts.verified
           : counts.unverified);
  return Outcome::kRan;
}

Outcome ModelTrial::Convert(const Model& model, const std::vector<Tensor>& inputs, Counts& counts) const {
  const std::string path = folder_ + "/converted.dpm";
  if (const Status saved = model.Save(path); !saved.ok()) return Refused(saved);
  Model read;
  if (const Status built = read.Build(path, context_); !built.ok()) {
    std::fprintf(stderr, "a model that was converted is refused: %s\n", built.ToString().c_str());
    return Outcome::kWrong;
  }
  ++counts.converted;
  std::vector<Tensor> outputs;
  return Run(read, inputs, &outputs);
}

Outcome ModelTrial::Compare(const Bytes& file, const std::vector<Tensor>& inputs, Outcome ran,
                            const std::vector<Tensor>& outputs, Counts& counts) const {
  Model model;
  std::vector<Tensor> wanted;
  const Status built = model.Build(file.data(), file.size(), ModelType::kAuto, cpu_);
  const Outcome on_cpu = built.ok() ? Run(model, inputs, &wanted) : Refused(built);
  if (on_cpu == Outcome::kWrong) return on_cpu;
  bool same = on_cpu == ran && wanted.size() == outputs.size();
  ModelTraits traits;
  traits.nodes = 11;  // as a network; where it is one node, its results are close as well
  traits.quantized = true;
  for (size_t i = 0; same && i < wanted.size(); ++i) {
    if (wanted[i].dtype() == DType::kString) continue;
    same = CompareTensors(outputs[i], wanted[i], ToleranceFor({}, wanted[i].dtype(), traits)).ok;
  }
  ++(same ? counts.compared : counts.different);
  return Outcome::kRan;
}

Outcome ModelTrial::TryBuilt(const Model& model) const {
  const Result<std::vector<Tensor>> inputs = InputsOf(model);
  if (!inputs.ok()) return Outcome::kBuilt;
  std::vector<Tensor> outputs;
  return Run(model, *inputs, &outputs);
}

Outcome ModelTrial::Try(const Bytes& file, Counts& counts) {
  Model model;
  if (const Status built = model.Build(file.data(), file.size(), ModelType::kAuto, context_); !built.ok())
    return Refused(built);
  const Result<std::vector<Tensor>> inputs = InputsOf(model);
  if (!inputs.ok()) return Outcome::kBuilt;
  std::vector<Tensor> outputs;
  const Outcome ran = through_.run || through_.compare ? Run(model, *inputs, &outputs) : Outcome::kBuilt;
  bool wrong = ran == Outcome::kWrong;
  const auto step = [&](bool wanted, auto&& made) { wrong = (wanted && made() == Outcome::kWrong) || wrong; };
  step(through_.partition, [&] { return Place(model, *inputs, counts); });
  step(through_.verify, [&] { return Verify(model, *inputs, counts); });
  step(through_.convert, [&] { return Convert(model, *inputs, counts); });
  step(through_.compare, [&] { return Compare(file, *inputs, ran, outputs, counts); });
  return wrong ? Outcome::kWrong : ran;
}

}  // namespace deputy::faults
