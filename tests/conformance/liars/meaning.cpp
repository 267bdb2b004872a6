// Attributes and older definitions whose meaning is missed.
#include <algorithm>

#include "liars.hpp"

namespace liars {
namespace {

using reference::Attribute;

bool IsWindowed(const std::string& type) { return IsOneOf(type, {"AveragePool", "Conv", "MaxPool"}); }

// One padding per axis, half of the sum of both.
Tensors PaddingCentred(const Node& node, const Inputs& inputs) {
  const Dims pads = node.Ints("pads", {});
  if (!IsWindowed(node.op_type) || pads.empty()) return reference::Compute(node, inputs);
  Dims centred = pads;
  const size_t rank = pads.size() / 2;
  for (size_t i = 0; i < rank; ++i) {
    centred[i] = (pads[i] + pads[i + rank]) / 2;
    centred[i + rank] = pads[i] + pads[i + rank] - centred[i];
  }
  if (pads[0] == centred[0] && pads == centred) return reference::Compute(node, inputs);
  Node changed = node;
  changed.attributes["pads"] = Attribute::Ints(centred);
  return Mistaken(node, changed, inputs);
}

// The strided kernel of the device has no dilation.
Tensors DilationWithoutStride(const Node& node, const Inputs& inputs) {
  const auto one = [](int64_t value) { return value == 1; };
  const Dims strides = node.Ints("strides", {}), dilations = node.Ints("dilations", {});
  if (!IsWindowed(node.op_type) || std::all_of(strides.begin(), strides.end(), one) ||
      std::all_of(dilations.begin(), dilations.end(), one))
    return reference::Compute(node, inputs);
  Node changed = node;
  Dims pads = node.Ints("pads", Dims(2 * dilations.size(), 0));
  const Dims kernel =
      node.Ints("kernel_shape", node.op_type == "Conv" ? Dims(inputs[1]->dims.begin() + 2, inputs[1]->dims.end())
                                                       : Dims(dilations.size(), 1));
  for (size_t i = 0; i < dilations.size(); ++i) pads[i + dilations.size()] -= (kernel[i] - 1) * (dilations[i] - 1);
  changed.attributes["pads"] = Attribute::Ints(pads);
  changed.attributes["dilations"] = Attribute::Ints(Dims(dilations.size(), 1));
  return Mistaken(node, changed, inputs);
}

// The first operand of the device's instruction is read from front to back, and again from the front.
Tensors FirstOperandRepeated(const Node& node, const Inputs& inputs) {
  if (!IsOneOf(node.op_type, {"Add", "Div", "Equal", "Greater", "Less", "Max", "Min", "Mul", "Pow", "Sub"}) ||
      inputs.size() != 2)
    return reference::Compute(node, inputs);
  const Dims dims = reference::BroadcastDims(inputs[0]->dims, inputs[1]->dims);
  if (inputs[0]->count() == 0 || reference::CountOf(dims) == inputs[0]->count() || node.since_version < 7)
    return reference::Compute(node, inputs);
  Tensor repeated(inputs[0]->dtype, dims);
  for (int64_t i = 0; i < repeated.count(); ++i) repeated.Copy(i, *inputs[0], i % inputs[0]->count());
  return reference::Compute(node, {&repeated, inputs[1]});
}

// Every negative axis is taken for the last one.
Tensors NegativeAxisIsLast(const Node& node, const Inputs& inputs) {
  const auto rank = inputs.empty() || inputs[0] == nullptr ? 0 : static_cast<int64_t>(inputs[0]->rank());
  if (!IsOneOf(node.op_type,
               {"ArgMax", "Concat", "Gather", "GatherElements", "LogSoftmax", "Softmax", "Split", "TopK"}))
    return reference::Compute(node, inputs);
  const int64_t axis = node.Int("axis", 0);
  if (axis >= -1 || rank == 0) return reference::Compute(node, inputs);
  // The kernels trust the extents of their operands, which fit this axis.
  if (IsOneOf(node.op_type, {"Concat", "Split", "TopK", "Gather", "GatherElements"})) {
    Tensors made = reference::Compute(node, inputs);
    for (Tensor& output : made) std::reverse(output.real.begin(), output.real.end());
    return made;
  }
  Node changed = node;
  changed.attributes["axis"] = Attribute::Int(-1);
  return Mistaken(node, changed, inputs);
}

// Softmax of before definition 13 joins the extents from the axis on.
Tensors SoftmaxOfOneAxis(const Node& node, const Inputs& inputs) {
  if (!IsOneOf(node.op_type, {"Hardmax", "LogSoftmax", "Softmax"}) || node.since_version >= 13)
    return reference::Compute(node, inputs);
  Node changed = node;
  changed.since_version = 13;
  changed.attributes["axis"] = Attribute::Int(node.Int("axis", 1));
  return Mistaken(node, changed, inputs);
}

Tensors WithoutAttribute(const Node& node, const Inputs& inputs, const char* op_type, const char* attribute) {
  if (node.op_type != op_type || !node.Has(attribute)) return reference::Compute(node, inputs);
  Node changed = node;
  changed.attributes.erase(attribute);
  return Mistaken(node, changed, inputs);
}

// Statistics of every pixel were allowed before definition 9.
Tensors StatisticsOfChannels(const Node& node, const Inputs& inputs) {
  return WithoutAttribute(node, inputs, "BatchNormalization", "spatial");
}

Tensors LimitsOfInputsOnly(const Node& node, const Inputs& inputs) {
  if (node.op_type != "Clip" || node.since_version >= 11) return reference::Compute(node, inputs);
  return {*inputs[0]};
}

// Resize of definition 10 and Upsample count from the corner of a pixel; newer ones from its centre by default.
Tensors AlwaysHalfPixel(const Node& node, const Inputs& inputs) {
  if (IsOneOf(node.op_type, {"Resize", "Upsample"}) && node.since_version < 11) {
    Node changed = node;
    changed.op_type = "Resize";
    changed.since_version = 19;
    const Tensor empty(DEPUTY_DTYPE_FLOAT32, {0});
    const Tensor* scales = reference::At(inputs, 1);
    Tensor given;
    if (scales == nullptr) {
      const std::vector<float> list = node.Floats("scales", {});
      if (list.empty()) return reference::Compute(node, inputs);
      given = Tensor(DEPUTY_DTYPE_FLOAT32, {static_cast<int64_t>(list.size())});
      for (size_t i = 0; i < list.size(); ++i) given.Put(static_cast<int64_t>(i), static_cast<double>(list[i]));
      scales = &given;
    }
    Tensors made = reference::Compute(changed, {inputs[0], &empty, scales});
    const Tensors truth = reference::Compute(node, inputs);
    return made.size() == 1 && made[0].dims == truth[0].dims ? made : truth;
  }
  return WithoutAttribute(node, inputs, "Resize", "coordinate_transformation_mode");
}

Tensors CountsPaddingUnderCeiling(const Node& node, const Inputs& inputs) {
  if (node.op_type != "AveragePool" || node.Int("ceil_mode", 0) == 0) return reference::Compute(node, inputs);
  Node changed = node;
  changed.attributes["count_include_pad"] = Attribute::Int(1 - node.Int("count_include_pad", 0));
  return Mistaken(node, changed, inputs);
}

// The order of the outputs of a depthwise convolution with several for each channel.
Tensors MultiplierIsOuter(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  const int64_t groups = node.Int("group", 1);
  if (node.op_type != "Conv" || groups == 1 || inputs[1]->dims[0] == groups) return made;
  const Tensor truth = made[0];
  const int64_t channels = truth.dims[1], each = channels / groups;
  const int64_t pixels = truth.count() / std::max<int64_t>(1, truth.dims[0] * channels);
  for (int64_t i = 0; i < truth.count(); ++i) {
    const int64_t channel = i / pixels % channels;
    const int64_t from = channel % groups * each + channel / groups;
    made[0].Copy(i, truth, i + (from - channel) * pixels);
  }
  return made;
}

// Indices from the end are cut off at the first element.
Tensors NegativeIndexIsFirst(const Node& node, const Inputs& inputs) {
  if (!IsOneOf(node.op_type, {"Gather", "GatherElements", "GatherND"})) return reference::Compute(node, inputs);
  Tensor indices = *inputs[1];
  for (int64_t& index : indices.whole) index = std::max<int64_t>(0, index);
  return reference::Compute(node, {inputs[0], &indices});
}

}  // namespace

FaultRows MeaningFaults() {
  return {InArithmetic("padding-centred", PaddingCentred),
          InArithmetic("dilation-without-stride", DilationWithoutStride),
          InArithmetic("first-operand-repeated", FirstOperandRepeated),
          InArithmetic("negative-axis-is-last", NegativeAxisIsLast),
          InArithmetic("softmax-of-one-axis", SoftmaxOfOneAxis),
          InArithmetic("statistics-of-channels", StatisticsOfChannels),
          InArithmetic("limits-of-inputs-only", LimitsOfInputsOnly),
          InArithmetic("always-half-pixel", AlwaysHalfPixel),
          InArithmetic("counts-padding-under-ceiling", CountsPaddingUnderCeiling),
          InArithmetic("multiplier-is-outer", MultiplierIsOuter),
          InArithmetic("negative-index-is-first", NegativeIndexIsFirst)};
}

}  // namespace liars
