// Conv: float, 1 to 3 spatial dimensions, groups, dilation; weights constant, so that they are packed once.
#include "deputy/sdk/operators.hpp"
#include "lowering.hpp"

namespace onednn {
namespace {

sdk::Verdict SupportsConv(const sdk::NodeView& node) {
  const size_t rank = node.input(0).rank();
  if (rank < 3 || rank > 5) return sdk::Verdict::No(sdk::Reason::kRank, "one to three spatial dimensions");
  if (!node.input(1).is_constant()) return sdk::Verdict::No(sdk::Reason::kNotConstant, "weights");
  if (node.input(2).exists() && !node.input(2).is_constant())
    return sdk::Verdict::No(sdk::Reason::kNotConstant, "bias");
  return sdk::Verdict::Yes();
}

void LowerConv(const sdk::NodeView& node, ProgramBuilder& builder) {
  const memory::dims x = ToDims(node.input(0).dims()), y = ToDims(node.output(0).dims());
  memory::dims w = ToDims(node.input(1).dims());
  const Window window = ReadWindow(node, memory::dims(w.begin() + 2, w.end()));
  const int64_t groups = sdk::op::Conv(node.primitive()).group();
  Slot weights = builder.Find(node.input(1));
  if (groups != 1) {
    w.insert(w.begin(), groups);
    w[1] /= groups;
    weights = builder.Reshaped(weights, w);
  }
  const auto any = [](const memory::dims& dims) {
    return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
  };
  const bool has_bias = node.input(2).exists();
  const memory::desc bias = has_bias ? PlainDesc({y[1]}) : memory::desc();
  const dnnl::convolution_forward::desc wanted(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                               any(x), any(w), bias, any(y), window.strides, window.dilations,
                                               window.pads_before, window.pads_after);
  const dnnl::convolution_forward::primitive_desc chosen(wanted, builder.engine());
  const Slot source = builder.Reordered(builder.Find(node.input(0)), chosen.src_desc());
  weights = builder.Reordered(weights, chosen.weights_desc());
  const Slot result = builder.Result(node.output(0), chosen.dst_desc());
  std::vector<std::pair<int, Slot>> arguments = {
      {DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, result}};
  if (has_bias) arguments.emplace_back(DNNL_ARG_BIAS, builder.Find(node.input(2)));
  builder.Add(dnnl::convolution_forward(chosen), std::move(arguments));
}

constexpr Operator kOperators[] = {{"Conv", SupportsConv, LowerConv}};

}  // namespace

Window ReadWindow(const sdk::NodeView& node, const memory::dims& kernel) {
  const memory::dims ones(kernel.size(), 1);
  Window window;
  window.strides = node.Ints("strides", ones);
  window.dilations = node.Ints("dilations", ones);
  const memory::dims pads = node.Ints("pads", memory::dims(2 * kernel.size(), 0));
  const std::string_view auto_pad = node.String("auto_pad", "NOTSET");
  const memory::dims x = ToDims(node.input(0).dims()), y = ToDims(node.output(0).dims());
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t reach = (kernel[i] - 1) * window.dilations[i] + 1;
    // What the windows cover; ceil_mode and auto_pad have already decided the output's extent.
    const int64_t covered = (y[i + 2] - 1) * window.strides[i] + reach;
    int64_t before = auto_pad == "NOTSET" ? pads[i] : 0;
    if (auto_pad == "SAME_UPPER") before = std::max<int64_t>(0, covered - x[i + 2]) / 2;
    if (auto_pad == "SAME_LOWER") before = (std::max<int64_t>(0, covered - x[i + 2]) + 1) / 2;
    window.pads_before.push_back(before);
    window.pads_after.push_back(covered - x[i + 2] - before);  // negative: the last columns are not used
    window.dilations[i] -= 1;
  }
  return window;
}

sdk::Span<const Operator> ConvolutionOperators() { return {kOperators, std::size(kOperators)}; }

}  // namespace onednn
