#include "guest_graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "../tflite_abi/builtin_params.hpp"

namespace tflite_external {
namespace {

using namespace deputy::sdk;
using namespace deputy::tflite_abi;

constexpr size_t kImageRank = 4;
constexpr int64_t kMostElements = std::numeric_limits<int32_t>::max();

enum Number : int32_t {
  kAdd = 0,
  kAveragePool = 1,
  kConcatenation = 2,
  kConv = 3,
  kDepthwiseConv = 4,
  kFullyConnected = 9,
  kLogistic = 14,
  kMaxPool = 17,
  kMul = 18,
  kRelu = 19,
  kRelu6 = 21,
  kReshape = 22,
  kSoftmax = 25,
  kTanh = 28,
  kSub = 41,
  kDiv = 42,
  kExp = 47,
  kNeg = 59,
  kSqrt = 75,
  kLeakyRelu = 98,
  kAbs = 101,
};

struct Unary {
  const char* type;
  int32_t number;
};
constexpr Unary kUnaries[] = {{"Relu", kRelu}, {"Sigmoid", kLogistic}, {"Tanh", kTanh}, {"Exp", kExp},
                              {"Neg", kNeg},   {"Sqrt", kSqrt},        {"Abs", kAbs}};
constexpr Unary kBinaries[] = {{"Add", kAdd}, {"Sub", kSub}, {"Mul", kMul}, {"Div", kDiv}};

template <size_t kCount>
const Unary* Find(const Unary (&list)[kCount], const NodeView& node) {
  for (const Unary& one : list)
    if (node.Is(one.type)) return &one;
  return nullptr;
}

std::vector<int64_t> HostDims(const ValueView& value) { return value.dims().ToVector(); }

Verdict No(Reason reason, const std::string& detail) { return Verdict::No(reason, detail); }

// The axis in the order of the guest.
int64_t GuestAxis(int64_t axis, size_t rank) {
  constexpr int64_t kPlace[] = {0, 3, 1, 2};
  return rank == kImageRank ? kPlace[axis] : axis;
}

class Adder {
 public:
  Adder(const NodeView& node, GuestGraph* graph) : node_(node), graph_(graph) {}

  Verdict Add() {
    for (size_t i = 0; i < node_.input_count() + node_.output_count(); ++i) {
      const bool is_input = i < node_.input_count();
      const ValueView value = is_input ? node_.input(i) : node_.output(i - node_.input_count());
      if (!value.exists()) continue;
      if (!value.shape_known()) return No(Reason::kShapeDynamic, "extents must be known");
      if (value.element_count() > kMostElements) return No(Reason::kShape, "more than 2^31 elements");
      if (value.element_count() == 0) return No(Reason::kShape, "a tensor without elements");
      const bool is_shape = is_input && i > 0 && value.dtype() == DType::kInt64 && value.is_constant();
      if (value.dtype() != DType::kFloat32 && !is_shape)
        return No(Reason::kDType, "float32 only; quantized forms are not made");
    }
    if (const Unary* unary = Find(kUnaries, node_)) return Simple(unary->number, nullptr);
    if (const Unary* binary = Find(kBinaries, node_)) return Binary(binary->number);
    if (node_.Is("LeakyRelu")) return Simple(kLeakyRelu, Params(FloatParams{op::LeakyRelu(node_.primitive()).alpha()}));
    if (node_.Is("Clip")) return Clip();
    if (node_.Is("Conv")) return Conv();
    if (node_.Is("MaxPool") || node_.Is("AveragePool")) return Pool();
    if (node_.Is("GlobalAveragePool")) return GlobalPool();
    if (node_.Is("Gemm")) return Gemm();
    if (node_.Is("MatMul")) return MatMul();
    if (node_.Is("Softmax")) return Softmax();
    if (node_.Is("Reshape") || node_.Is("Flatten") || node_.Is("Squeeze") || node_.Is("Unsqueeze")) return Reshape();
    if (node_.Is("Concat")) return Concat();
    return No(Reason::kOperatorUnknown, "has no form in TensorFlow Lite here");
  }

 private:
  template <class T>
  static std::shared_ptr<void> Params(const T& values) {
    return std::make_shared<T>(values);
  }

  // Tensors are added when nothing can be refused any more.
  int32_t TensorOf(const ValueView& value) {
    const auto found = graph_->tensor_of.find(value.id());
    if (found != graph_->tensor_of.end()) return found->second;
    GuestTensor made;
    made.name = std::string(value.name());
    made.dims = GuestDims(value.dims());
    if (value.is_constant()) made.constant = Elements(value, HostDims(value));
    return graph_->tensor_of[value.id()] = Append(std::move(made));
  }

  // The elements of a constant, as the guest has them; `dims` of the host may have further extents of 1 in front.
  static std::shared_ptr<const std::vector<float>> Elements(const ValueView& value, const std::vector<int64_t>& dims) {
    const Span<const float> given = value.constant_values<float>();
    auto made = std::make_shared<std::vector<float>>(given.begin(), given.end());
    if (dims.size() == kImageRank) ToChannelsLast(given.data(), dims.data(), made->data());
    return made;
  }

  int32_t Append(GuestTensor tensor) {
    graph_->tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(graph_->tensors.size() - 1);
  }
  int32_t AppendConstant(const std::string& suffix, Dims dims, std::vector<float> elements) {
    GuestTensor made;
    made.name = std::string(node_.name()) + suffix;
    made.dims = std::move(dims);
    made.constant = std::make_shared<const std::vector<float>>(std::move(elements));
    return Append(std::move(made));
  }

  Verdict Finish(int32_t number, std::shared_ptr<void> params, std::vector<int32_t> inputs) {
    GuestNode made;
    made.number = number;
    made.name = std::string(node_.name());
    made.id = node_.id();
    made.inputs = std::move(inputs);
    made.outputs = {TensorOf(node_.output(0))};
    made.params = std::move(params);
    graph_->nodes.push_back(std::move(made));
    return Verdict::Yes();
  }

  Verdict Simple(int32_t number, std::shared_ptr<void> params) {
    return Finish(number, std::move(params), {TensorOf(node_.input(0))});
  }

  Verdict Binary(int32_t number) {
    const size_t rank = node_.output(0).rank();
    for (size_t i = 0; rank == kImageRank && i < 2; ++i) {
      const ValueView operand = node_.input(i);
      if (operand.rank() != rank && operand.element_count() != 1 && !operand.is_constant())
        return No(Reason::kShape, "an operand of another rank that is no constant");
    }
    std::vector<int32_t> inputs;
    for (size_t i = 0; i < 2; ++i) {
      const ValueView operand = node_.input(i);
      if (rank != kImageRank || operand.rank() == rank || operand.element_count() == 1) {
        inputs.push_back(TensorOf(operand));
        continue;
      }
      std::vector<int64_t> dims = HostDims(operand);
      dims.insert(dims.begin(), kImageRank - dims.size(), 1);
      inputs.push_back(AppendConstant("/operand" + std::to_string(i), GuestDims({dims.data(), dims.size()}),
                                      *Elements(operand, dims)));
    }
    return Finish(number, Params(ActivationParams{}), std::move(inputs));
  }

  Verdict Clip() {
    const auto limit = [&](size_t i, float* value) {
      const ValueView given = node_.input(i);
      if (!given.exists() || !given.is_constant() || given.element_count() != 1) return false;
      *value = given.constant_values<float>()[0];
      return true;
    };
    float low = 0, high = 0;
    if (node_.input_count() < 3 || !limit(1, &low) || !limit(2, &high) || low != 0 || high != 6)
      return No(Reason::kAttribute, "Clip from 0 to 6 only");
    return Simple(kRelu6, nullptr);
  }

  // The padding of the guest for this window.
  Verdict Padding(const SpatialWindow& window, int* padding) const {
    bool valid = true, same = true;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t in = node_.input(0).dims()[i + 2], out = node_.output(0).dims()[i + 2];
      const int64_t total = std::max<int64_t>((out - 1) * window.strides[i] + window.Reach(i) - in, 0);
      const bool is_same = out == (in + window.strides[i] - 1) / window.strides[i];
      if (window.auto_pad == "SAME_UPPER") {
        valid = valid && total == 0;
        continue;
      }
      if (window.auto_pad == "SAME_LOWER") {
        valid = valid && total == 0;
        same = same && total % 2 == 0;
        continue;
      }
      valid = valid && window.before[i] == 0 && window.after[i] == 0 &&
              out == (in - window.Reach(i)) / window.strides[i] + 1;
      same = same && is_same && window.before[i] == total / 2 && window.after[i] == total - total / 2;
    }
    if (!valid && !same) return No(Reason::kAttribute, "pads that are neither SAME nor VALID");
    *padding = valid ? kPaddingValid : kPaddingSame;
    return Verdict::Yes();
  }

  Verdict Conv() {
    const ValueView x = node_.input(0), weights = node_.input(1), bias = node_.input(2);
    if (x.rank() != kImageRank) return No(Reason::kRank, "two spatial dimensions only");
    if (!weights.is_constant() || (bias.exists() && !bias.is_constant()))
      return No(Reason::kNotConstant, "weights and bias are constants");
    const std::vector<int64_t> kernel = HostDims(weights);
    const int64_t channels = x.dims()[1], group = op::Conv(node_.primitive()).group();
    const bool depthwise = group != 1 && group == channels;
    if (group != 1 && !depthwise) return No(Reason::kAttribute, "groups of several channels");
    const CheckedWindow checked = WindowOf(node_, {kernel[2], kernel[3]}, 2);
    if (!checked.verdict.supported()) return checked.verdict;
    int padding = 0;
    if (const Verdict padded = Padding(checked.window, &padding); !padded.supported()) return padded;
    const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
    const auto& window = checked.window;
    const int stride_w = number(window.strides[1]), stride_h = number(window.strides[0]);
    const int dilation_w = number(window.dilations[1]), dilation_h = number(window.dilations[0]);
    std::vector<float> elements(weights.constant_values<float>().size());
    // As if the host's had channels second: outputs first for CONV_2D, last for DEPTHWISE_CONV_2D.
    const std::vector<int64_t> order = depthwise ? std::vector<int64_t>{1, kernel[0], kernel[2], kernel[3]} : kernel;
    ToChannelsLast(weights.constant_values<float>().data(), order.data(), elements.data());
    const int32_t packed = AppendConstant("/weights", GuestDims({order.data(), order.size()}), std::move(elements));
    std::vector<int32_t> inputs{TensorOf(x), packed, Bias(bias, kernel[0])};
    if (!depthwise)
      return Finish(kConv, Params(ConvParams{padding, stride_w, stride_h, 0, dilation_w, dilation_h, 0}),
                    std::move(inputs));
    const DepthwiseConvParams params{padding, stride_w,   stride_h,  number(kernel[0] / channels),
                                     0,       dilation_w, dilation_h};
    return Finish(kDepthwiseConv, Params(params), std::move(inputs));
  }

  int32_t Bias(const ValueView& bias, int64_t count) {
    std::vector<float> elements(static_cast<size_t>(count), 0.0F);
    if (bias.exists()) {
      const Span<const float> given = bias.constant_values<float>();
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = given[given.size() == 1 ? 0 : i];
    }
    return AppendConstant("/bias", {static_cast<int32_t>(count)}, std::move(elements));
  }

  Verdict Pool() {
    if (node_.input(0).rank() != kImageRank) return No(Reason::kRank, "two spatial dimensions only");
    if (node_.output_count() > 1 && node_.output(1).exists()) return No(Reason::kAttribute, "without Indices only");
    const CheckedWindow checked = WindowOf(node_, {}, 2);
    if (!checked.verdict.supported()) return checked.verdict;
    const SpatialWindow& window = checked.window;
    if (window.dilations != std::vector<int64_t>{1, 1}) return No(Reason::kAttribute, "no dilations");
    int padding = 0;
    if (const Verdict padded = Padding(window, &padding); !padded.supported()) return padded;
    const bool average = node_.Is("AveragePool");
    if (average && padding == kPaddingSame && op::AveragePool(node_.primitive()).count_include_pad() != 0)
      return No(Reason::kAttribute, "padding does not count");
    const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
    PoolParams params{};
    params.padding = padding;
    params.stride_width = number(window.strides[1]);
    params.stride_height = number(window.strides[0]);
    params.filter_width = number(window.kernel[1]);
    params.filter_height = number(window.kernel[0]);
    return Simple(average ? kAveragePool : kMaxPool, Params(params));
  }

  Verdict GlobalPool() {
    const ValueView x = node_.input(0);
    if (x.rank() != kImageRank) return No(Reason::kRank, "two spatial dimensions only");
    PoolParams params{};
    params.padding = kPaddingValid;
    params.stride_width = params.stride_height = 1;
    params.filter_width = static_cast<int32_t>(x.dims()[3]);
    params.filter_height = static_cast<int32_t>(x.dims()[2]);
    return Simple(kAveragePool, Params(params));
  }

  Verdict Gemm() {
    const op::Gemm gemm(node_.primitive());
    const ValueView bias = node_.input(2);
    if (gemm.alpha() != 1 || gemm.beta() != 1 || gemm.transA() != 0)
      return No(Reason::kAttribute, "only x * w + b, or with w transposed");
    const int64_t columns = node_.output(0).dims()[1];
    if (bias.exists() && !bias.is_constant()) return No(Reason::kNotConstant, "the bias is a constant");
    if (bias.exists() && bias.element_count() != 1 &&
        (bias.element_count() != columns || bias.dims()[bias.rank() - 1] != columns))
      return No(Reason::kShape, "one bias per column");
    return Product(gemm.transB() != 0, bias);
  }

  Verdict MatMul() {
    if (node_.input(0).rank() != 2 || node_.input(1).rank() != 2) return No(Reason::kRank, "matrices of rank 2");
    return Product(false, ValueView());
  }

  Verdict Product(bool transposed, const ValueView& bias) {
    const ValueView weights = node_.input(1);
    if (!weights.is_constant()) return No(Reason::kNotConstant, "weights are constants");
    const auto rows = static_cast<size_t>(weights.dims()[0]), columns = static_cast<size_t>(weights.dims()[1]);
    const Span<const float> given = weights.constant_values<float>();
    std::vector<float> elements(given.begin(), given.end());
    for (size_t i = 0; !transposed && i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) elements[j * rows + i] = given[i * columns + j];
    const size_t depth = transposed ? columns : rows, made = transposed ? rows : columns;
    const int32_t packed =
        AppendConstant("/weights", {static_cast<int32_t>(made), static_cast<int32_t>(depth)}, std::move(elements));
    const int32_t added = Bias(bias, static_cast<int64_t>(made));
    return Finish(kFullyConnected, Params(FullyConnectedParams{}), {TensorOf(node_.input(0)), packed, added});
  }

  Verdict Softmax() {
    const auto rank = static_cast<int64_t>(node_.input(0).rank());
    int64_t axis = op::Softmax(node_.primitive()).axis();
    axis += axis < 0 ? rank : 0;
    const bool coerces = node_.since_version() < 13 && axis != rank - 1;  // several axes at once
    if (rank == 0 || coerces || GuestAxis(axis, static_cast<size_t>(rank)) != rank - 1)
      return No(Reason::kAttribute, "over the last axis of the guest only");
    return Simple(kSoftmax, Params(FloatParams{1}));
  }

  Verdict Reshape() {
    for (const ValueView& value : {node_.input(0), node_.output(0)}) {
      if (value.rank() > 8) return No(Reason::kRank, "rank up to 8");
      if (value.rank() == kImageRank && value.dims()[1] != 1 && value.dims()[2] * value.dims()[3] != 1)
        return No(Reason::kShape, "the order of the elements differs in the guest");
    }
    const Dims dims = GuestDims(node_.output(0).dims());
    ReshapeParams params{};
    params.rank = static_cast<int>(dims.size());
    std::copy(dims.begin(), dims.end(), params.shape);
    GuestTensor shape;
    shape.name = std::string(node_.name()) + "/shape";
    shape.dims = {static_cast<int32_t>(dims.size())};
    shape.is_shape = true;
    shape.numbers = std::make_shared<const std::vector<int32_t>>(dims);
    const int32_t x = TensorOf(node_.input(0));
    return Finish(kReshape, Params(params), {x, Append(std::move(shape))});
  }

  Verdict Concat() {
    const size_t rank = node_.output(0).rank();
    int64_t axis = op::Concat(node_.primitive()).axis();
    axis += axis < 0 ? static_cast<int64_t>(rank) : 0;
    std::vector<int32_t> inputs;
    for (size_t i = 0; i < node_.input_count(); ++i) inputs.push_back(TensorOf(node_.input(i)));
    return Finish(kConcatenation, Params(ConcatenationParams{static_cast<int>(GuestAxis(axis, rank)), 0}),
                  std::move(inputs));
  }

  const NodeView& node_;
  GuestGraph* graph_;
};

}  // namespace

Dims GuestDims(Span<const int64_t> dims) {
  Dims made;
  for (const int64_t extent : dims) made.push_back(static_cast<int32_t>(extent));
  if (made.size() == kImageRank) made = {made[0], made[2], made[3], made[1]};
  return made;
}

Verdict AddNode(const NodeView& node, GuestGraph* graph) {
  if (const Verdict checked = CheckOperator(node); !checked.supported()) return checked;
  return Adder(node, graph).Add();
}

void ToChannelsLast(const float* from, const int64_t* dims, float* to) {
  const int64_t plane = dims[2] * dims[3];
  for (int64_t image = 0; image < dims[0]; ++image, from += dims[1] * plane)
    for (int64_t i = 0; i < plane; ++i)
      for (int64_t channel = 0; channel < dims[1]; ++channel) *to++ = from[channel * plane + i];
}

void ToChannelsSecond(const float* from, const int64_t* dims, float* to) {
  const int64_t plane = dims[2] * dims[3];
  for (int64_t image = 0; image < dims[0]; ++image, from += dims[1] * plane)
    for (int64_t channel = 0; channel < dims[1]; ++channel)
      for (int64_t i = 0; i < plane; ++i) *to++ = from[i * dims[1] + channel];
}

}  // namespace tflite_external
