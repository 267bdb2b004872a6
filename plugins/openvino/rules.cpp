#include "rules.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace openvino {
namespace {

struct Fault {
  std::string_view type, why;
};
constexpr std::string_view kExtents = "OpenVINO gives some of its results other extents";
// Regardless of attributes and types.
constexpr Fault kFaults[] = {
    {"AffineGrid", kExtents},
    {"Attention", "OpenVINO's differs with a past, with masks and windows, and writes to an input"},
    {"BitShift", "OpenVINO shifts negative numbers otherwise"},
    {"BlackmanWindow", kExtents},
    {"CenterCropPad", kExtents},
    {"Compress", "OpenVINO cannot compile it where extents are not known"},
    {"Constant", kExtents},
    {"ConvInteger", "OpenVINO sums integers in float32"},
    {"DFT", "OpenVINO's has other extents and other axes"},
    {"DynamicQuantizeLinear", "OpenVINO's is a step off for some elements"},
    {"Einsum", "OpenVINO does not read all equations"},
    {"HammingWindow", kExtents},
    {"HannWindow", kExtents},
    {"LRN", "OpenVINO's differs for windows of even sizes and of one"},
    {"LpNormalization", "OpenVINO's is not exact enough"},
    {"MatMulInteger", "OpenVINO sums integers in float32"},
    {"MaxRoiPool", "OpenVINO cannot compile it where extents are not known"},
    {"MeanVarianceNormalization", "OpenVINO divides by a variance of 0"},
    {"NegativeLogLikelihoodLoss", "OpenVINO's ignores some reductions"},
    {"QLinearConv", "OpenVINO lacks it for some element types"},
    {"QLinearMatMul", "OpenVINO lacks it for some element types"},
    {"Range", "OpenVINO divides by a step of 0, which ends the process"},
    {"ReduceLogSum", "OpenVINO gives float16 another type"},
    {"RoiAlign", "OpenVINO's samples other positions"},
    {"STFT", "OpenVINO's writes beyond its output"},
    {"SimplifiedLayerNormalization", "OpenVINO's is not exact enough"},
    {"SoftmaxCrossEntropyLoss", "OpenVINO's ignores some reductions"},
    {"Unique", "OpenVINO's gives another order"},
    {"Upsample", "OpenVINO resizes some dimensions only"},
};

// Operators that have integers of 8 bits as they are; others compute them as floats, and do not wrap around.
constexpr std::string_view kBytes[] = {
    "Cast",           "Concat",    "DepthToSpace", "DequantizeLinear", "Expand", "Flatten", "Identity",
    "QuantizeLinear", "Reshape",   "Slice",        "SpaceToDepth",     "Split",  "Squeeze", "Tile",
    "Transpose",      "Unsqueeze", "Where"};

// Numbers of elements and extents, which fit into 32 bits: OpenVINO's CPU device has no wider integers.
struct Operand {
  std::string_view type;
  size_t index;
};
constexpr Operand kIndexInputs[] = {
    {"Gather", 1}, {"GatherElements", 1}, {"GatherND", 1}, {"ScatterElements", 1}, {"ScatterND", 1}};
constexpr Operand kIndexOutputs[] = {{"ArgMax", 0}, {"ArgMin", 0}, {"NonZero", 0},
                                     {"Shape", 0},  {"Size", 0},   {"TopK", 1}};

template <class List>
bool IsIndex(const List& list, const sdk::NodeView& node, size_t index) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](const Operand& one) { return one.type == node.op_type() && one.index == index; });
}

template <class List>
bool Has(const List& list, std::string_view type) {
  return std::find(std::begin(list), std::end(list), type) != std::end(list);
}

sdk::Verdict No(sdk::Reason reason, std::string why) { return sdk::Verdict::No(reason, std::move(why)); }

sdk::Verdict CheckType(const sdk::NodeView& node, const sdk::ValueView& value, bool is_index) {
  switch (value.dtype()) {
    case sdk::DType::kFloat32:
    case sdk::DType::kFloat16:
    case sdk::DType::kBool:
    case sdk::DType::kInt32: return sdk::Verdict::Yes();
    case sdk::DType::kInt8:
    case sdk::DType::kUint8:
      if (Has(kBytes, node.op_type())) return sdk::Verdict::Yes();
      return No(sdk::Reason::kDType, "OpenVINO computes integers of 8 bits as floats, which do not wrap around");
    case sdk::DType::kInt64:
      if (is_index || value.is_constant()) return sdk::Verdict::Yes();  // also extents, axes and limits
      break;
    default: break;
  }
  return No(sdk::Reason::kDType,
            std::string("OpenVINO computes ") + sdk::NameOf(value.dtype()) + " in fewer bits, or not at all");
}

// The last axis, written down: what Softmax 11 and 13 both mean by it.
bool HasLastAxis(const sdk::NodeView& node) {
  const sdk::ValueView x = node.input(0);
  if (!x.rank_known() || x.rank() == 0) return false;
  const auto rank = static_cast<int64_t>(x.rank());
  const int64_t axis = node.Int("axis", 1);
  return (axis == rank - 1 || axis == -1) && (node.has_attribute("axis") || rank == 2);
}

sdk::Verdict CheckResize(const sdk::NodeView& node) {
  if (node.Int("exclude_outside", 0) != 0 || node.Int("antialias", 0) != 0 ||
      node.String("keep_aspect_ratio_policy", "stretch") != "stretch")
    return No(sdk::Reason::kAttribute, "OpenVINO ignores exclude_outside, antialias and keep_aspect_ratio_policy");
  for (size_t i = 1; i < node.input_count(); ++i)
    if (node.input(i).exists() && !node.input(i).is_constant())
      return No(sdk::Reason::kNotConstant, "OpenVINO compiles constant scales and extents only");
  const sdk::ValueView x = node.input(0), y = node.output(0);
  for (size_t axis = 0; axis < 2; ++axis)
    if (x.rank() <= 2 || y.rank() != x.rank() || x.dims()[axis] != y.dims()[axis])
      return No(sdk::Reason::kShape, "OpenVINO resizes spatial dimensions only");
  return sdk::Verdict::Yes();
}

// Faults that depend on attributes and types.
sdk::Verdict CheckAttributes(const sdk::NodeView& node) {
  const sdk::ValueView x = node.input(0);
  const bool is_integer = x.exists() && x.dtype() == sdk::DType::kInt32;
  if ((node.Is("Div") || node.Is("Mod")) && is_integer)
    return No(sdk::Reason::kDType, "OpenVINO divides integers by 0, which ends the process");
  if ((node.Is("Equal") || node.Is("Greater") || node.Is("GreaterOrEqual") || node.Is("Less") ||
       node.Is("LessOrEqual")) &&
      is_integer)
    return No(sdk::Reason::kDType, "OpenVINO compares integers as floats");
  if (node.op_type().substr(0, 6) == "Reduce") {
    if (is_integer) return No(sdk::Reason::kDType, "OpenVINO reduces integers as floats");
    if (node.Int("noop_with_empty_axes", 0) != 0)
      return No(sdk::Reason::kAttribute, "OpenVINO does nothing where noop_with_empty_axes still computes a function");
  }
  if (node.Is("ReverseSequence") && is_integer) return No(sdk::Reason::kDType, "OpenVINO moves integers as floats");
  if (node.Is("Resize")) return CheckResize(node);
  if (node.has_attribute("broadcast"))
    return No(sdk::Reason::kAttribute, "OpenVINO knows no broadcasting along given axes");
  if ((node.Is("MaxPool") || node.Is("LpPool")) && node.Int("ceil_mode", 0) != 0)
    return No(sdk::Reason::kAttribute, std::string(kExtents));
  if (node.Is("Gather") && !x.is_constant() && sdk::SizeOf(x.dtype()) < 4)
    return No(sdk::Reason::kDType, "OpenVINO reads beyond the end of elements of less than 4 bytes");
  if (node.Is("GRU") || node.Is("LSTM") || node.Is("RNN")) {
    if (node.Int("layout", 0) != 0) return No(sdk::Reason::kAttribute, std::string(kExtents));
    if (node.has_attribute("activations") || node.has_attribute("activation_alpha") || node.has_attribute("clip"))
      return No(sdk::Reason::kAttribute, "OpenVINO lacks some functions of recurrent networks");
  }
  if (node.Is("LSTM") && (node.input(7).exists() || node.Int("input_forget", 0) != 0))
    return No(sdk::Reason::kAttribute, "OpenVINO ignores peepholes and input_forget");
  if (node.Is("Selu") && node.since_version() < 6 && !(node.has_attribute("alpha") && node.has_attribute("gamma")))
    return No(sdk::Reason::kAttribute, "OpenVINO does not know the defaults of definition 1");
  if ((node.Is("Softmax") || node.Is("LogSoftmax") || node.Is("Hardmax")) && node.since_version() < 13 &&
      !HasLastAxis(node))
    return No(sdk::Reason::kAttribute, "OpenVINO takes other rows than the older definitions");
  if (node.Is("Slice"))
    for (size_t i = 1; i < node.input_count(); ++i)
      if (node.input(i).exists() && !node.input(i).is_constant())
        return No(sdk::Reason::kNotConstant, "OpenVINO compiles constant limits only");
  if (node.Is("SpaceToDepth") && node.String("mode", "DCR") != "DCR")
    return No(sdk::Reason::kAttribute, "OpenVINO ignores the mode");
  if (node.Is("ScatterElements") && node.String("reduction", "none") != "none")
    return No(sdk::Reason::kAttribute, "OpenVINO reduces NaN otherwise");
  return sdk::Verdict::Yes();
}

// Does this node mean the same by a definition that has another meaning for others?
bool IsUnchangedBy(const sdk::NodeView& node, int32_t definition) {
  if (node.Is("Pow") && definition == 12) return node.input(0).dtype() == node.input(1).dtype();
  if (node.Is("MaxPool") && definition == 8) return !node.output(1).exists();
  if (node.Is("BatchNormalization") && definition == 14) return !node.output(1).exists();
  if ((node.Is("Softmax") || node.Is("LogSoftmax") || node.Is("Hardmax")) && definition == 13) return HasLastAxis(node);
  return false;
}

}  // namespace

bool IsDefinitionIn(const sdk::NodeView& node, int32_t version) {
  const std::vector<int32_t> changed = sdk::ChangedDefinitions(node, version);
  return std::all_of(changed.begin(), changed.end(),
                     [&](int32_t definition) { return IsUnchangedBy(node, definition); });
}

sdk::Verdict CheckNode(const sdk::NodeView& node) {
  if (node.has_regions()) return No(sdk::Reason::kOperatorUnknown, "nodes with graphs are not converted");
  if (!node.domain().empty())
    return No(sdk::Reason::kOperatorUnknown, "only ONNX's own operators: OpenVINO's of other domains differ from them");
  for (const Fault& fault : kFaults)
    if (fault.type == node.op_type()) return No(sdk::Reason::kOther, std::string(fault.why));
  for (size_t i = 0; i < node.input_count() + node.output_count(); ++i) {
    const bool is_output = i >= node.input_count();
    const sdk::ValueView value = is_output ? node.output(i - node.input_count()) : node.input(i);
    if (!value.exists()) continue;
    const bool is_index =
        is_output ? IsIndex(kIndexOutputs, node, i - node.input_count()) : IsIndex(kIndexInputs, node, i);
    if (sdk::Verdict verdict = CheckType(node, value, is_index); !verdict.supported()) return verdict;
    if (!value.rank_known()) return No(sdk::Reason::kShapeDynamic, "the rank must be known");
    // Resize has such constants in place of operands that are left out.
    const bool is_left_out = node.Is("Resize") && value.is_constant();
    if (!is_left_out && value.shape_known() && value.element_count() == 0)
      return No(sdk::Reason::kShape, "a tensor has no elements");
  }
  if (sdk::Verdict verdict = CheckAttributes(node); !verdict.supported()) return verdict;
  return node.input(0).exists() && node.input(0).shape_known() && node.output(0).shape_known()
             ? sdk::CheckOperator(node)
             : sdk::Verdict::Yes();
}

}  // namespace openvino
