// MaxPool, AveragePool and the global pools.
#include <algorithm>

#include "deputy/sdk/operators.hpp"
#include "operators/operators.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

// oneDNN's kernels may visit every place of a window, also outside of the input.
constexpr int64_t kMostBeyond = 256;

memory::dims Spatial(const sdk::NodeView& node) {
  const memory::dims x = ToDims(node.input(0).dims());
  return memory::dims(x.begin() + 2, x.end());
}

sdk::Verdict SupportsPool(const sdk::NodeView& node) {
  const memory::dims kernel = node.Ints("kernel_shape", {});
  if (kernel.size() != node.input(0).rank() - 2) return sdk::Verdict::No(sdk::Reason::kAttribute, "kernel_shape");
  const memory::dims y = ToDims(node.output(0).dims());
  if (std::find(y.begin() + 2, y.end(), 0) != y.end())
    return sdk::Verdict::No(sdk::Reason::kAttribute, "the window is larger than the input");
  const memory::dims x = ToDims(node.input(0).dims());
  for (size_t i = 0; i < kernel.size(); ++i)
    if (kernel[i] > kMostBeyond + 2 * x[i + 2])
      return sdk::Verdict::No(sdk::Reason::kAttribute, "the window is far larger than the input");
  const Window window = ReadWindow(node, kernel);
  if (HasEmptyWindow(window, kernel)) return sdk::Verdict::No(sdk::Reason::kAttribute, "a window covers only padding");
  return sdk::Verdict::Yes();
}

sdk::Verdict SupportsMaxPool(const sdk::NodeView& node) {
  if (node.output(1).exists()) return sdk::Verdict::No(sdk::Reason::kAttribute, "the output Indices");
  if (node.Int("storage_order", 0) != 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "storage_order 1");
  return SupportsPool(node);
}

// Whether the windows cover more than the input and its padding, so that one is larger than both.
bool ReachesBehindPadding(const sdk::NodeView& node, const Window& window) {
  const std::string_view auto_pad = node.String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return false;
  const size_t rank = window.pads_after.size();
  const memory::dims none(2 * rank, 0), pads = auto_pad == "VALID" ? none : node.Ints("pads", none);
  for (size_t i = 0; i < rank; ++i)
    if (window.pads_after[i] > pads[i + rank]) return true;
  return false;
}

sdk::Verdict SupportsAveragePool(const sdk::NodeView& node) {
  // Rounding up adds columns that ONNX does not count and oneDNN would.
  if (node.Int("ceil_mode", 0) != 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "ceil_mode");
  const memory::dims dilations = node.Ints("dilations", {});
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; }))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "dilations");
  const sdk::Verdict verdict = SupportsPool(node);
  if (!verdict.supported() || node.Int("count_include_pad", 0) == 0) return verdict;
  const Window window = ReadWindow(node, node.Ints("kernel_shape", {}));
  if (std::any_of(window.pads_after.begin(), window.pads_after.end(), [](int64_t pad) { return pad < 0; }))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "count_include_pad with input columns outside of every window");
  if (ReachesBehindPadding(node, window))
    return sdk::Verdict::No(sdk::Reason::kAttribute, "count_include_pad with a window larger than the padded input");
  return verdict;
}

void ReadPool(const sdk::NodeView& node, Program& program, algorithm algorithm) {
  const memory::dims kernel = node.Ints("kernel_shape", {});
  program.Bind(node.output(0), program.Add(Pool{algorithm, kernel, ReadWindow(node, kernel)},
                                           {program.Find(node.input(0))}, ToDims(node.output(0).dims())));
}

void ReadMaxPool(const sdk::NodeView& node, Program& program) { ReadPool(node, program, algorithm::pooling_max); }

void ReadAveragePool(const sdk::NodeView& node, Program& program) {
  const bool include = node.Int("count_include_pad", 0) != 0;
  ReadPool(node, program, include ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding);
}

template <algorithm kAlgorithm>
void ReadGlobal(const sdk::NodeView& node, Program& program) {
  const memory::dims kernel = Spatial(node), ones(kernel.size(), 1), zeros(kernel.size(), 0);
  program.Bind(node.output(0), program.Add(Pool{kAlgorithm, kernel, {ones, zeros, zeros, zeros}},
                                           {program.Find(node.input(0))}, ToDims(node.output(0).dims())));
}

constexpr Operator kPoolingOperators[] = {
    {"MaxPool", 1, SupportsMaxPool, ReadMaxPool, {3, 5}, "the first output alone"},
    {"AveragePool", 1, SupportsAveragePool, ReadAveragePool, {3, 5}, "no ceil_mode, no dilations"},
    {"GlobalAveragePool", 1, SupportsAll, ReadGlobal<algorithm::pooling_avg_exclude_padding>, {3, 5}},
    {"GlobalMaxPool", 1, SupportsAll, ReadGlobal<algorithm::pooling_max>, {3, 5}}};

}  // namespace

bool HasEmptyWindow(const Window& window, const memory::dims& kernel) {
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t reach = (kernel[i] - 1) * (window.dilations[i] + 1) + 1;
    if (window.pads_before[i] >= reach || window.pads_after[i] >= reach) return true;
  }
  return false;
}

sdk::Span<const Operator> PoolingOperators() { return {kPoolingOperators, std::size(kPoolingOperators)}; }

}  // namespace onednn
