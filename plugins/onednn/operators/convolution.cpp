// Conv and ConvTranspose: 1 to 3 spatial dimensions, groups, dilation. Constant weights are packed once, others in each
// run.
#include <algorithm>

#include "deputy/sdk/operators.hpp"
#include "operators/operators.hpp"

namespace onednn {
namespace {

memory::dims KernelOf(const sdk::NodeView& node) {
  const memory::dims weights = ToDims(node.input(1).dims());
  return memory::dims(weights.begin() + 2, weights.end());
}

void ReadConv(const sdk::NodeView& node, Program& program) {
  const Convolution convolution{ReadWindow(node, KernelOf(node)), sdk::op::Conv(node.primitive()).group()};
  program.Bind(
      node.output(0),
      program.Add(convolution, {program.Find(node.input(0)), program.Find(node.input(1)), program.Find(node.input(2))},
                  ToDims(node.output(0).dims())));
}

sdk::Verdict SupportsConvTranspose(const sdk::NodeView& node) {
  const std::string_view auto_pad = node.String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return sdk::Verdict::No(sdk::Reason::kAttribute, "auto_pad");
  if (node.has_attribute("output_shape")) return sdk::Verdict::No(sdk::Reason::kAttribute, "output_shape");
  // oneDNN has no dilated kernel whose result goes beyond the reach of the last window by a stride.
  const memory::dims kernel = KernelOf(node), ones(kernel.size(), 1);
  const memory::dims more = node.Ints("output_padding", memory::dims(kernel.size(), 0));
  const memory::dims strides = node.Ints("strides", ones), dilations = node.Ints("dilations", ones);
  const bool dilated = std::any_of(dilations.begin(), dilations.end(), [](int64_t step) { return step != 1; });
  for (size_t i = 0; dilated && i < kernel.size(); ++i)
    if (more[i] >= strides[i])
      return sdk::Verdict::No(sdk::Reason::kAttribute, "output_padding of a stride, with dilations");
  return sdk::Verdict::Yes();
}

void ReadConvTranspose(const sdk::NodeView& node, Program& program) {
  const memory::dims kernel = KernelOf(node), ones(kernel.size(), 1);
  const memory::dims x = ToDims(node.input(0).dims()), y = ToDims(node.output(0).dims());
  const memory::dims pads = node.Ints("pads", memory::dims(2 * kernel.size(), 0));
  Window window;
  window.strides = node.Ints("strides", ones);
  window.dilations = node.Ints("dilations", ones);
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t covered = (x[i + 2] - 1) * window.strides[i] + (kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t before = node.String("auto_pad", "NOTSET") == "NOTSET" ? pads[i] : 0;
    window.pads_before.push_back(before);
    window.pads_after.push_back(covered - before - y[i + 2]);  // negative: output_padding
    window.dilations[i] -= 1;
  }
  const Convolution convolution{window, node.Int("group", 1), true};
  Value result = program.Add(convolution, {program.Find(node.input(0)), program.Find(node.input(1)), kNoValue}, y);
  if (node.input(2).exists()) {
    const Value bias = program.AddReshape(program.Find(node.input(2)), PerChannel(y[1], y.size()));
    result = program.Add(Binary{dnnl::algorithm::binary_add}, {result, bias}, y);
  }
  program.Bind(node.output(0), result);
}

constexpr Operator kConvolutionOperators[] = {
    {"Conv", kAllInputs, SupportsAll, ReadConv, {3, 5}},
    {"ConvTranspose", kAllInputs, SupportsConvTranspose, ReadConvTranspose, {3, 5}, "padding written out"}};

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
    // The extent that the windows cover; the output's extent already includes ceil_mode and auto_pad.
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

sdk::Span<const Operator> ConvolutionOperators() { return {kConvolutionOperators, std::size(kConvolutionOperators)}; }

}  // namespace onednn
