#include "fused_model.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "deputy/buffer.hpp"
#include "graph.hpp"
#include "planner.hpp"

namespace ort_ep {
namespace {

using deputy::Buffer;
using deputy::DType;
using deputy::Model;
using deputy::PlacementReport;
using deputy::Result;
using deputy::Session;
using deputy::Shape;
using deputy::Status;
using deputy::StatusCode;
using deputy::Tensor;
using deputy::TensorInfo;
using ort::Slot;

// Shapes of inputs whose outputs' shapes are kept; a model whose inputs differ in every run does not fill the memory.
constexpr size_t kMostShapesKept = 256;

// Where a tensor without elements has no memory; not read and not written.
alignas(64) char no_elements = 0;

// Memory that an application has bound may begin anywhere.
bool IsAligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % std::max<size_t>(deputy::SizeOf(dtype), 1) == 0;
}

bool IsStatic(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
}

Result<std::vector<size_t>> PlacesOf(const std::vector<TensorInfo>& infos, const std::vector<std::string>& names,
                                     const char* what) {
  std::vector<size_t> places;
  for (const TensorInfo& info : infos) {
    const auto found = std::find(names.begin(), names.end(), info.name);
    if (found == names.end())
      return Status(StatusCode::kInternal, std::string("the fused node has no ") + what + " '" + info.name + "'");
    places.push_back(static_cast<size_t>(found - names.begin()));
  }
  return places;
}

}  // namespace

Result<std::unique_ptr<FusedModel>> FusedModel::Make(std::string name, size_t nodes, Model model,
                                                     const std::vector<std::string>& inputs,
                                                     const std::vector<std::string>& outputs) {
  std::unique_ptr<FusedModel> made(new FusedModel(std::move(name), nodes, std::move(model)));
  DEPUTY_ASSIGN_OR_RETURN(made->inputs_, PlacesOf(made->model_.inputs(), inputs, "input"));
  DEPUTY_ASSIGN_OR_RETURN(made->outputs_, PlacesOf(made->model_.outputs(), outputs, "output"));
  auto shapes = std::make_shared<OutputShapes>();
  for (const TensorInfo& output : made->model_.outputs())
    if (output.ranked && IsStatic(output.shape)) shapes->emplace_back(output.shape);
  if (shapes->size() == made->outputs_.size()) made->static_shapes_ = std::move(shapes);
  return made;
}

Result<std::unique_ptr<Session>> FusedModel::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!sessions_.empty()) {
      std::unique_ptr<Session> session = std::move(sessions_.back());
      sessions_.pop_back();
      return session;
    }
  }
  DEPUTY_ASSIGN_OR_RETURN(Session session, model_.CreateSession());
  return std::make_unique<Session>(std::move(session));
}

void FusedModel::GiveBack(std::unique_ptr<Session> session) {
  const std::lock_guard lock(mutex_);
  sessions_.push_back(std::move(session));
}

Status FusedModel::Run(const Runtime& runtime, ort::KernelContext* context) {
  Result<std::unique_ptr<Session>> session = Take();
  Status status = session.ok() ? RunIn(**session, runtime, context) : std::move(session).status();
  ++runs_;
  if (session.ok()) GiveBack(*std::move(session));
  if (status.ok()) return {};
  ++failed_runs_;
  return std::move(status).At(name_);
}

Result<FusedModel::SharedShapes> FusedModel::ShapesOfOutputs(Session& session, const std::vector<Tensor>& inputs) {
  if (static_shapes_ != nullptr) return static_shapes_;
  Shapes key;
  for (const Tensor& input : inputs) key.push_back(input.shape());
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_shapes_.find(key); found != known_shapes_.end()) return found->second;
  }
  DEPUTY_RETURN_IF_ERROR(session.Resize(key));
  const auto shapes = std::make_shared<OutputShapes>();
  for (const TensorInfo& output : model_.outputs()) {
    // The one question to a session that is answered by an output's extents.
    const Result<Buffer> buffer = session.OutputBuffer(output.name);
    if (buffer.ok())
      shapes->emplace_back(buffer->shape());
    else if (buffer.status().code() == StatusCode::kNotSupported)
      shapes->emplace_back(std::nullopt);
    else
      return buffer.status();
  }
  const std::lock_guard lock(mutex_);
  if (known_shapes_.size() >= kMostShapesKept) known_shapes_.clear();
  return known_shapes_.try_emplace(std::move(key), shapes).first->second;
}

Status FusedModel::RunIn(Session& session, const Runtime& runtime, ort::KernelContext* context) {
  std::vector<Tensor> inputs;
  inputs.reserve(inputs_.size());
  for (const size_t place : inputs_) {
    const ort::Value* value = nullptr;
    DEPUTY_RETURN_IF_ERROR(
        runtime.Try(Slot::KernelContext_GetInput, static_cast<const ort::KernelContext*>(context), place, &value));
    DEPUTY_ASSIGN_OR_RETURN(Elements elements, ReadElements(runtime, value));
    // Deputy reads it in place and never writes it.
    void* data = elements.bytes.empty() ? &no_elements : const_cast<char*>(elements.bytes.data());
    DEPUTY_ASSIGN_OR_RETURN(Tensor input,
                            Tensor::Wrap(elements.dtype, std::move(elements.dims), data, elements.bytes.size()));
    inputs.push_back(std::move(input));
  }
  DEPUTY_ASSIGN_OR_RETURN(const SharedShapes shared_shapes, ShapesOfOutputs(session, inputs));
  const OutputShapes& shapes = *shared_shapes;
  const auto output_of = [&](size_t i, const Shape& shape) -> Result<void*> {
    ort::Value* value = nullptr;
    DEPUTY_RETURN_IF_ERROR(
        runtime.Try(Slot::KernelContext_GetOutput, context, outputs_[i], shape.data(), shape.size(), &value));
    if (value == nullptr) return static_cast<void*>(nullptr);  // it is not read
    void* data = nullptr;
    DEPUTY_RETURN_IF_ERROR(runtime.Try(Slot::GetTensorMutableData, value, &data));
    return data == nullptr ? &no_elements : data;
  };
  std::vector<Tensor> outputs(outputs_.size());
  std::vector<void*> unaligned(outputs_.size(), nullptr);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!shapes[i]) continue;
    const DType dtype = model_.outputs()[i].dtype;
    DEPUTY_ASSIGN_OR_RETURN(void* data, output_of(i, *shapes[i]));
    if (!IsAligned(data, dtype)) unaligned[i] = data;
    if (data == nullptr || unaligned[i] != nullptr) continue;
    DEPUTY_ASSIGN_OR_RETURN(const size_t bytes, deputy::ByteSize(dtype, *shapes[i]));
    DEPUTY_ASSIGN_OR_RETURN(outputs[i], Tensor::Wrap(dtype, *shapes[i], data, bytes));
  }
  DEPUTY_RETURN_IF_ERROR(session.Predict(inputs, &outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    void* data = unaligned[i];
    if (!shapes[i]) {
      DEPUTY_ASSIGN_OR_RETURN(data, output_of(i, outputs[i].shape()));
    }
    if (data != nullptr && outputs[i].byte_size() != 0) std::memcpy(data, outputs[i].data(), outputs[i].byte_size());
  }
  return {};
}

Result<PlacementReport> FusedModel::Placement() {
  {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Session>& session : sessions_)
      if (Result<PlacementReport> placed = session->Placement(); placed.ok()) return placed;
  }
  return PlacementOf(model_);
}

}  // namespace ort_ep
