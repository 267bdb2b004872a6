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
    const bool converts = node_.Is("QuantizeLinear") || node_.Is("DequantizeLinear");
    for (size_t i = 0; i < node_.input_count() + node_.output_count(); ++i) {
      const bool is_input = i < node_.input_count();
      const ValueView value = is_input ? node_.input(i) : node_.output(i - node_.input_count());
      if (!value.exists()) continue;
      if (!value.shape_known()) return No(Reason::kShapeDynamic, "extents must be known");
      if (value.element_count() > kMostElements) return No(Reason::kShape, "more than 2^31 elements");
      if (value.element_count() == 0) return No(Reason::kShape, "a tensor without elements");
      const bool is_shape = is_input && i > 0 && value.dtype() == DType::kInt64 && value.is_constant();
      if (value.dtype() != DType::kFloat32 && !is_shape && !(converts && IsInteger(value.dtype())))
        return No(Reason::kDType, "float32 only, and int8 and uint8 by their scales");
    }
    if (node_.Is("DequantizeLinear")) return Dequantize();
    if (node_.Is("QuantizeLinear")) return Quantize();
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

  static bool IsInteger(DType dtype) {
    return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt32;
  }
  static Type TypeOf(DType dtype) {
    return dtype == DType::kInt8 ? kInt8 : dtype == DType::kUint8 ? kUInt8 : dtype == DType::kInt32 ? kInt32 : kFloat32;
  }

  template <class T>
  static std::shared_ptr<const std::vector<char>> Bytes(const std::vector<T>& elements) {
    const auto* first = reinterpret_cast<const char*>(elements.data());
    return std::make_shared<const std::vector<char>>(first, first + elements.size() * sizeof(T));
  }

  // A constant, or one behind a DequantizeLinear.
  bool IsConstant(const ValueView& value) const {
    return value.is_constant() || graph_->dequantized.count(value.id()) != 0;
  }
  const Dequantized* DequantizedOf(const ValueView& value) const {
    const auto found = graph_->dequantized.find(value.id());
    return found == graph_->dequantized.end() ? nullptr : &found->second;
  }
  // Its real numbers in the order of the host.
  std::vector<float> Reals(const ValueView& value) {
    const Dequantized* source = DequantizedOf(value);
    if (source == nullptr) return value.constant_values<float>().ToVector();
    absorbed_.push_back(source->node);
    const std::vector<int64_t> dims = HostDims(value);
    size_t inner = 1;
    for (size_t i = source->axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
    std::vector<float> reals(static_cast<size_t>(value.element_count()));
    for (size_t i = 0; i < reals.size(); ++i) {
      const size_t channel = source->scales.size() == 1 ? 0 : i / inner % source->scales.size();
      const int32_t zero = source->zero_points[channel];
      reals[i] = source->scales[channel] * static_cast<float>(IntegerAt(source->integers, i) - zero);
    }
    return reals;
  }
  static int64_t IntegerAt(const ValueView& value, size_t i) {
    switch (value.dtype()) {
      case DType::kInt8: return value.constant_values<int8_t>()[i];
      case DType::kUint8: return value.constant_values<uint8_t>()[i];
      default: return value.constant_values<int32_t>()[i];
    }
  }

  // Scale and zero point of a node of quantization.
  Verdict ReadScales(const ValueView& value, std::vector<float>* scales, std::vector<int32_t>* zeros,
                     size_t* axis) const {
    const ValueView scale = node_.input(1), zero = node_.input(2);
    if (!scale.is_constant() || (zero.exists() && !zero.is_constant()))
      return No(Reason::kNotConstant, "scales and zero points are constants");
    *scales = scale.constant_values<float>().ToVector();
    zeros->assign(scales->size(), 0);
    for (size_t i = 0; zero.exists() && i < zeros->size(); ++i) (*zeros)[i] = static_cast<int32_t>(IntegerAt(zero, i));
    if (scales->size() == 1) return Verdict::Yes();
    const int64_t given = node_.Int("axis", 1), rank = static_cast<int64_t>(value.rank());
    const int64_t place = given < 0 ? given + rank : given;
    if (node_.Int("block_size", 0) != 0 || place < 0 || place >= rank || scale.rank() != 1 ||
        value.dims()[static_cast<size_t>(place)] != static_cast<int64_t>(scales->size()))
      return No(Reason::kAttribute, "one scale, or one for each index of an axis");
    *axis = static_cast<size_t>(place);
    return Verdict::Yes();
  }

  Verdict Dequantize() {
    const ValueView x = node_.input(0);
    Dequantized made;
    if (const Verdict read = ReadScales(x, &made.scales, &made.zero_points, &made.axis); !read.supported()) return read;
    made.integers = x;
    made.node = node_.id();
    if (x.is_constant()) {
      graph_->dequantized.emplace(node_.output(0).id(), std::move(made));
      return Verdict::Yes();
    }
    if (made.scales.size() != 1 || x.dtype() == DType::kInt32)
      return No(Reason::kNotConstant, "activations have one scale");
    const int32_t tensor = TensorOf(x);
    SetScales(tensor, made.scales, made.zero_points, 0);
    return Finish(kDequantize, nullptr, {tensor});
  }

  Verdict Quantize() {
    std::vector<float> scales;
    std::vector<int32_t> zeros;
    size_t axis = 0;
    if (const Verdict read = ReadScales(node_.input(0), &scales, &zeros, &axis); !read.supported()) return read;
    if (scales.size() != 1 || node_.output(0).dtype() == DType::kInt32)
      return No(Reason::kAttribute, "activations have one scale");
    const int32_t x = TensorOf(node_.input(0)), y = TensorOf(node_.output(0));
    SetScales(y, scales, zeros, 0);
    return Finish(kQuantize, nullptr, {x});
  }

  void SetScales(int32_t tensor, const std::vector<float>& scales, const std::vector<int32_t>& zeros, int32_t axis) {
    GuestTensor& target = graph_->tensors[static_cast<size_t>(tensor)];
    target.scales = scales;
    target.zero_points = zeros;
    target.axis = axis;
  }

  // Tensors are added when nothing can be refused any more.
  int32_t TensorOf(const ValueView& value) {
    const auto found = graph_->tensor_of.find(value.id());
    if (found != graph_->tensor_of.end()) return found->second;
    if (IsConstant(value)) return graph_->tensor_of[value.id()] = Constant(value, HostDims(value), "");
    GuestTensor made;
    made.name = std::string(value.name());
    made.dims = GuestDims(value.dims());
    made.type = TypeOf(value.dtype());
    return graph_->tensor_of[value.id()] = Append(std::move(made));
  }

  // A constant as the guest has it; `dims` of the host may have further extents of 1 in front.
  int32_t Constant(const ValueView& value, const std::vector<int64_t>& dims, const std::string& suffix) {
    std::vector<float> reals = Reals(value);
    if (dims.size() == kImageRank) {
      const std::vector<float> given = reals;
      ToChannelsLast(given.data(), dims.data(), sizeof(float), reals.data());
    }
    const Dims guest = GuestDims({dims.data(), dims.size()});
    const int32_t made = AppendConstant(suffix.empty() ? "/" + std::string(value.name()) : suffix, guest, reals);
    const Dequantized* source = DequantizedOf(value);
    if (source == nullptr) return made;
    std::vector<char> integers(source->integers.constant_bytes());
    std::copy_n(static_cast<const char*>(source->integers.constant()), integers.size(), integers.data());
    if (dims.size() == kImageRank)
      ToChannelsLast(source->integers.constant(), dims.data(), SizeOf(source->integers.dtype()), integers.data());
    const auto axis = static_cast<int64_t>(source->axis + dims.size() - value.rank());
    KeepIntegers(made, *source, guest, std::move(integers), static_cast<int32_t>(GuestAxis(axis, dims.size())));
    return made;
  }

  // The integers that the constant was made of.
  void KeepIntegers(int32_t reals, const Dequantized& source, const Dims& dims, std::vector<char> integers,
                    int32_t axis) {
    GuestTensor made;
    made.name = graph_->tensors[static_cast<size_t>(reals)].name + "/integers";
    made.dims = dims;
    made.type = TypeOf(source.integers.dtype());
    made.constant = std::make_shared<const std::vector<char>>(std::move(integers));
    made.scales = source.scales;
    made.zero_points = source.zero_points;
    made.axis = axis;
    const int32_t added = Append(std::move(made));
    graph_->tensors[static_cast<size_t>(reals)].quantized = added;
  }

  int32_t Append(GuestTensor tensor) {
    graph_->tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(graph_->tensors.size() - 1);
  }
  int32_t AppendConstant(const std::string& suffix, Dims dims, const std::vector<float>& elements) {
    GuestTensor made;
    made.name = std::string(node_.name()) + suffix;
    made.dims = std::move(dims);
    made.constant = Bytes(elements);
    return Append(std::move(made));
  }

  Verdict Finish(int32_t number, std::shared_ptr<void> params, std::vector<int32_t> inputs) {
    GuestNode made;
    made.number = number;
    made.name = std::string(node_.name());
    made.ids = {node_.id()};
    made.ids.insert(made.ids.end(), absorbed_.begin(), absorbed_.end());
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
      if (operand.rank() != rank && operand.element_count() != 1 && !IsConstant(operand))
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
      inputs.push_back(Constant(operand, dims, "/operand" + std::to_string(i)));
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
    if (!IsConstant(weights) || (bias.exists() && !IsConstant(bias)))
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
    // As if the host's had channels second: outputs first for CONV_2D, last for DEPTHWISE_CONV_2D.
    const std::vector<int64_t> order = depthwise ? std::vector<int64_t>{1, kernel[0], kernel[2], kernel[3]} : kernel;
    const int32_t packed = Constant(weights, order, "/weights");
    if (int32_t& stored = graph_->tensors[static_cast<size_t>(packed)].quantized; stored >= 0) {
      const Dequantized& source = *DequantizedOf(weights);
      if (source.scales.size() > 1 && source.axis != 0)
        stored = -1;  // the guest's scales are those of outputs
      else
        graph_->tensors[static_cast<size_t>(stored)].axis = depthwise ? 3 : 0;
    }
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
      const std::vector<float> given = Reals(bias);
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = given[given.size() == 1 ? 0 : i];
    }
    const Dims dims{static_cast<int32_t>(count)};
    const int32_t made = AppendConstant("/bias", dims, elements);
    const Dequantized* source = bias.exists() ? DequantizedOf(bias) : nullptr;
    if (source == nullptr || bias.element_count() != count) return made;
    const auto* first = static_cast<const char*>(source->integers.constant());
    KeepIntegers(made, *source, dims, {first, first + source->integers.constant_bytes()}, 0);
    return made;
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
    if (bias.exists() && !IsConstant(bias)) return No(Reason::kNotConstant, "the bias is a constant");
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
    if (!IsConstant(weights)) return No(Reason::kNotConstant, "weights are constants");
    const auto rows = static_cast<size_t>(weights.dims()[0]), columns = static_cast<size_t>(weights.dims()[1]);
    const auto turned = [&](const auto& given) {
      auto elements = given;
      for (size_t i = 0; !transposed && i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) elements[j * rows + i] = given[i * columns + j];
      return elements;
    };
    const Dims dims{static_cast<int32_t>(transposed ? rows : columns),
                    static_cast<int32_t>(transposed ? columns : rows)};
    const int32_t packed = AppendConstant("/weights", dims, turned(Reals(weights)));
    if (const Dequantized* source = DequantizedOf(weights);
        source != nullptr && SizeOf(source->integers.dtype()) == 1) {
      const auto* first = static_cast<const char*>(source->integers.constant());
      const bool first_axis = (source->axis == 0) == transposed;
      KeepIntegers(packed, *source, dims, turned(std::vector<char>(first, first + rows * columns)), first_axis ? 0 : 1);
    }
    const int32_t added = Bias(bias, dims[0]);
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
    shape.type = kInt32;
    shape.constant = Bytes(dims);
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
  std::vector<deputy_node_id> absorbed_;  // nodes that the guest has no operator for
};

template <class T>
void MoveToLast(const T* from, const int64_t* dims, T* to) {
  const int64_t plane = dims[2] * dims[3];
  for (int64_t image = 0; image < dims[0]; ++image, from += dims[1] * plane)
    for (int64_t i = 0; i < plane; ++i)
      for (int64_t channel = 0; channel < dims[1]; ++channel) *to++ = from[channel * plane + i];
}

template <class T>
void MoveToSecond(const T* from, const int64_t* dims, T* to) {
  const int64_t plane = dims[2] * dims[3];
  for (int64_t image = 0; image < dims[0]; ++image, from += dims[1] * plane)
    for (int64_t channel = 0; channel < dims[1]; ++channel)
      for (int64_t i = 0; i < plane; ++i) *to++ = from[i * dims[1] + channel];
}

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

void ToChannelsLast(const void* from, const int64_t* dims, size_t size, void* to) {
  if (size == 1) return MoveToLast(static_cast<const uint8_t*>(from), dims, static_cast<uint8_t*>(to));
  MoveToLast(static_cast<const uint32_t*>(from), dims, static_cast<uint32_t*>(to));
}

void ToChannelsSecond(const void* from, const int64_t* dims, size_t size, void* to) {
  if (size == 1) return MoveToSecond(static_cast<const uint8_t*>(from), dims, static_cast<uint8_t*>(to));
  MoveToSecond(static_cast<const uint32_t*>(from), dims, static_cast<uint32_t*>(to));
}

}  // namespace tflite_external
