#include "kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <utility>

namespace deputy::tflite_delegate {
namespace {

std::string Quoted(const tflite_abi::Tensor& tensor) {
  return "tensor '" + std::string(tensor.name == nullptr ? "" : tensor.name) + "'";
}

Dims DimsOf(const tflite_abi::Tensor& tensor) {
  const tflite_abi::ListView<int32_t> dims = tflite_abi::Values(tensor.dims);
  return {dims.begin(), dims.end()};
}

Status Resize(tflite_abi::Context* context, tflite_abi::Tensor* tensor, const Dims& dims) {
  auto* list = static_cast<int32_t*>(std::malloc(sizeof(int32_t) * (dims.size() + 1)));
  if (list == nullptr) return Status(StatusCode::kResourceExhausted, "out of memory");
  list[0] = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), list + 1);
  if (context->ResizeTensor(context, tensor, reinterpret_cast<tflite_abi::IntArray*>(list)) != tflite_abi::kOk)
    return Status(StatusCode::kUnavailable, Quoted(*tensor) + " cannot be resized by the interpreter");
  return {};
}

// In the memory of the interpreter.
Status Wrap(const tflite_abi::Tensor& tensor, const TensorInfo& info, deputy::Tensor* wrapped) {
  if (!wrapped->empty() && wrapped->data() == tensor.data && wrapped->byte_size() == tensor.bytes) return {};
  static std::max_align_t no_elements;  // for tensors without any, which may have no memory either
  void* data = tensor.bytes == 0 ? &no_elements : tensor.data;
  Result<deputy::Tensor> made = deputy::Tensor::Wrap(info.dtype, info.shape, data, tensor.bytes);
  if (!made.ok()) return std::move(made).status().At(Quoted(tensor));
  *wrapped = std::move(made).value();
  return {};
}

}  // namespace

void Kernel::WriteRecord() {
  report_->CountRuns(*record_, runs_, failures_, last_failure_);
  report_->Update(*record_, *partition_);
}

Status Kernel::Prepare(tflite_abi::Context* context) {
  const Subset& subset = partition_->subset();
  std::vector<Dims> dims;
  for (const int32_t input : subset.inputs) dims.push_back(DimsOf(context->tensors[input]));
  if (dims != partition_->input_dims()) {
    DEPUTY_RETURN_IF_ERROR(partition_->Rebuild(dims));
    report_->Update(*record_, *partition_);
  }
  for (size_t i = 0; i < subset.outputs.size(); ++i) {
    tflite_abi::Tensor& tensor = context->tensors[subset.outputs[i]];
    if (tensor.allocation_type == tflite_abi::kDynamic || DimsOf(tensor) != partition_->output_dims()[i])
      DEPUTY_RETURN_IF_ERROR(Resize(context, &tensor, partition_->output_dims()[i]));
  }
  inputs_.clear();  // the memory is planned anew
  outputs_.clear();
  return {};
}

Status Kernel::Invoke(tflite_abi::Context* context) {
  const Subset& subset = partition_->subset();
  const deputy::Model& model = partition_->model();
  inputs_.resize(subset.inputs.size());
  outputs_.resize(subset.outputs.size());
  for (size_t i = 0; i < subset.inputs.size(); ++i)
    DEPUTY_RETURN_IF_ERROR(Wrap(context->tensors[subset.inputs[i]], model.inputs()[i], &inputs_[i]));
  for (size_t i = 0; i < subset.outputs.size(); ++i)
    DEPUTY_RETURN_IF_ERROR(Wrap(context->tensors[subset.outputs[i]], model.outputs()[i], &outputs_[i]));
  ++runs_;
  Status status = partition_->session().Predict(inputs_, &outputs_);
  if (!status.ok()) {
    ++failures_;
    last_failure_ = status.ToString();
  }
  return status;
}

}  // namespace deputy::tflite_delegate
