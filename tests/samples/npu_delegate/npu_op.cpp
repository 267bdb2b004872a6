// Which operators become which of the NPU's, and how each calls the driver.
#include "npu_op.hpp"

#include <algorithm>

namespace sdk = deputy::sdk;

namespace {

// A constant is no input of a sub-graph: each operator would have to bring it along, and only Conv does.
bool IsFloatInput(const sdk::Tensor& tensor) { return tensor.DataType() == sdk::DType::kFloat32 && !tensor.IsConst(); }

bool IsFloatImage(const sdk::Tensor& tensor) { return IsFloatInput(tensor) && tensor.Shape().size() == 4; }

bool AllOne(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 1; });
}

toy_npu::Image ImageOf(const std::vector<int64_t>& nchw) { return {nchw[0], nchw[2], nchw[3], nchw[1]}; }

// A view of an operator with strides and pads, and the extents of its kernel.
template <class View>
toy_npu::Window WindowOf(const View& view, int64_t height, int64_t width) {
  const std::vector<int64_t> strides = view.strides(), pads = view.pads();
  const bool steps = !strides.empty(), padded = !pads.empty();
  return {height, width, steps ? strides[0] : 1, steps ? strides[1] : 1, padded ? pads[0] : 0, padded ? pads[1] : 0};
}

template <class View>
bool IsPlainWindow(const View& view) {
  return view.auto_pad() == "NOTSET" && AllOne(view.dilations());
}

}  // namespace

std::unique_ptr<NPUOp> ConvNPUOp::Get(const sdk::Kernel& kernel) {
  const sdk::op::Conv conv(kernel.primitive());
  if (!IsFloatImage(kernel.inputs()[0]) || !IsPlainWindow(conv) || conv.group() != 1) return nullptr;
  for (size_t i = 1; i < kernel.inputs().size(); ++i)
    if (kernel.inputs()[i] != nullptr && !kernel.inputs()[i].IsConst()) return nullptr;
  return std::make_unique<ConvNPUOp>(kernel);
}

ConvNPUOp::ConvNPUOp(const sdk::Kernel& kernel)
    : NPUOp(kernel),
      in_(ImageOf(kernel.inputs()[0].Shape())),
      out_(ImageOf(kernel.outputs()[0].Shape())),
      weights_(kernel.inputs()[1]) {
  if (kernel.inputs().size() > 2) bias_ = kernel.inputs()[2];
  const std::vector<int64_t>& shape = weights_.Shape();
  window_ = WindowOf(sdk::op::Conv(kernel.primitive()), shape[2], shape[3]);
}

void ConvNPUOp::Pack() {
  const auto* given = static_cast<const float*>(weights_.Data());
  const int64_t taps = window_.height * window_.width;
  for (int64_t o = 0; o < out_.channels; ++o)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < in_.channels; ++c) packed_.push_back(given[(o * in_.channels + c) * taps + tap]);
}

void ConvNPUOp::Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const {
  const auto* bias = bias_ == nullptr ? nullptr : static_cast<const float*>(bias_.Data());
  device->Conv(x[0], in_, packed_.data(), bias, window_, y, out_);
}

std::unique_ptr<NPUOp> MaxPoolNPUOp::Get(const sdk::Kernel& kernel) {
  const sdk::op::MaxPool pool(kernel.primitive());
  if (!IsFloatImage(kernel.inputs()[0]) || !IsPlainWindow(pool) || kernel.outputs().size() != 1) return nullptr;
  return std::make_unique<MaxPoolNPUOp>(kernel);
}

MaxPoolNPUOp::MaxPoolNPUOp(const sdk::Kernel& kernel)
    : NPUOp(kernel), in_(ImageOf(kernel.inputs()[0].Shape())), out_(ImageOf(kernel.outputs()[0].Shape())) {
  const sdk::op::MaxPool pool(kernel.primitive());
  window_ = WindowOf(pool, pool.kernel_shape()[0], pool.kernel_shape()[1]);
}

void MaxPoolNPUOp::Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const {
  device->MaxPool(x[0], in_, window_, y, out_);
}

std::unique_ptr<NPUOp> ReluNPUOp::Get(const sdk::Kernel& kernel) {
  if (!IsFloatInput(kernel.inputs()[0])) return nullptr;
  return std::make_unique<ReluNPUOp>(kernel);
}

void ReluNPUOp::Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const {
  device->Relu(x[0], y, elements());
}

std::unique_ptr<NPUOp> AddNPUOp::Get(const sdk::Kernel& kernel) {
  for (const sdk::Tensor& input : kernel.inputs())
    if (!IsFloatInput(input) || input.Shape() != kernel.outputs()[0].Shape()) return nullptr;
  return std::make_unique<AddNPUOp>(kernel);
}

AddNPUOp::AddNPUOp(const sdk::Kernel& kernel) : NPUOp(kernel) { inputs.push_back(kernel.inputs()[1].Id()); }

void AddNPUOp::Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const {
  device->Add(x[0], x[1], y, elements());
}

TransposeNPUOp::TransposeNPUOp(int direction, ValueId input, ValueId made, const std::vector<int64_t>& dims)
    : NPUOp(input, made, dims), direction_(direction), image_(ImageOf(dims)) {}

void TransposeNPUOp::Run(toy_npu::Device* device, const std::vector<const float*>& x, float* y) const {
  if (direction_ > 0) device->ToChannelsLast(x[0], y, image_);
  if (direction_ < 0) device->ToChannelsFirst(x[0], y, image_);
}

std::map<std::string, NPUGetOp> NPUOpTable() {
  return {{"Conv", ConvNPUOp::Get}, {"MaxPool", MaxPoolNPUOp::Get}, {"Relu", ReluNPUOp::Get}, {"Add", AddNPUOp::Get}};
}
