// BatchNormalization as at inference, LayerNormalization, LRN, Softmax and LogSoftmax.
#include <cmath>
#include <numeric>
#include <utility>

#include "deputy/sdk/operators.hpp"
#include "operators/operators.hpp"

namespace onednn {
namespace {

sdk::Verdict SupportsBatchNormalization(const sdk::NodeView& node) {
  if (node.output(1).exists() || node.Int("training_mode", 0) != 0)
    return sdk::Verdict::No(sdk::Reason::kAttribute, "training");
  // Before 9 `spatial` could request statistics per element.
  if (node.Int("spatial", 1) != 1) return sdk::Verdict::No(sdk::Reason::kAttribute, "spatial");
  if (node.since_version() < 7 && node.Int("is_test", 0) == 0)
    return sdk::Verdict::No(sdk::Reason::kAttribute, "training");
  for (size_t i = 1; i < 5; ++i)
    if (!node.input(i).is_constant()) return sdk::Verdict::No(sdk::Reason::kNotConstant, "statistics");
  return sdk::Verdict::Yes();
}

// With constant statistics it is a multiplication and an addition per channel, which fold and fuse as such.
void ReadBatchNormalization(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  const memory::dims y = program.dims(x);
  const float epsilon = sdk::op::BatchNormalization(node.primitive()).epsilon();
  std::vector<std::shared_ptr<const Constant>> given;  // scale, shift, mean, variance
  std::string recipe = "(" + Exactly(epsilon);
  for (size_t i = 1; i < 5; ++i) {
    given.push_back(program.shared_constant(program.Find(node.input(i))));
    recipe += "," + given.back()->key();
  }
  const auto scale_of = [given, epsilon](int64_t c) {
    return static_cast<double>(given[0]->floats()[c]) /
           std::sqrt(static_cast<double>(given[3]->floats()[c]) + static_cast<double>(epsilon));
  };
  const int64_t channels = y[1];
  const memory::dims dims = PerChannel(channels, y.size());
  const Value scale = program.AddConstant(std::make_shared<Constant>("norm_scale" + recipe + ")", dims, [=] {
    std::vector<float> values;
    for (int64_t c = 0; c < channels; ++c) values.push_back(static_cast<float>(scale_of(c)));
    return values;
  }));
  const Value shift = program.AddConstant(std::make_shared<Constant>("norm_shift" + recipe + ")", dims, [=] {
    std::vector<float> values;
    for (int64_t c = 0; c < channels; ++c)
      values.push_back(static_cast<float>(static_cast<double>(given[1]->floats()[c]) -
                                          scale_of(c) * static_cast<double>(given[2]->floats()[c])));
    return values;
  }));
  const Value scaled = program.Add(Binary{dnnl::algorithm::binary_mul}, {x, scale}, y);
  program.Bind(node.output(0), program.Add(Binary{dnnl::algorithm::binary_add}, {scaled, shift}, y));
}

// Extents before and from the axis on.
memory::dims InTwo(const memory::dims& dims, int64_t axis) {
  const auto at = dims.begin() + axis;
  return {CountOf(memory::dims(dims.begin(), at)), CountOf(memory::dims(at, dims.end()))};
}

sdk::Verdict SupportsLayerNormalization(const sdk::NodeView& node) {
  if (node.output(1).exists() || node.output(2).exists())
    return sdk::Verdict::No(sdk::Reason::kAttribute, "the outputs Mean and InvStdDev");
  const memory::dims x = ToDims(node.input(0).dims());
  const memory::dims rows = InTwo(x, FromFront(node.Int("axis", -1), x.size()));
  for (size_t i = 1; i < 3; ++i)
    if (node.input(i).exists() && node.input(i).element_count() != rows[1])
      return sdk::Verdict::No(sdk::Reason::kShape, "broadcasting of scale or bias is not supported");
  return sdk::Verdict::Yes();
}

void ReadLayerNormalization(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  const memory::dims y = program.dims(x);
  const memory::dims rows = InTwo(y, FromFront(node.Int("axis", -1), y.size()));
  const Value source = rows[1] == y.back() ? x : program.AddReshape(x, rows);
  std::vector<Value> inputs = {source};
  for (size_t i = 1; i < 3; ++i)
    inputs.push_back(node.input(i).exists() ? program.AddReshape(program.Find(node.input(i)), {rows[1]}) : kNoValue);
  const LayerNorm norm{sdk::op::LayerNormalization(node.primitive()).epsilon()};
  program.Bind(node.output(0), program.AddReshape(program.Add(norm, inputs, program.dims(source)), y));
}

template <bool kLog>
void ReadSoftmax(const sdk::NodeView& node, Program& program) {
  const Value x = program.Find(node.input(0));
  const memory::dims y = program.dims(x);
  // Before 13 everything from the axis on was one row, and the axis was 1 by default.
  const bool one_row = node.since_version() < 13;
  const int64_t axis = FromFront(node.Int("axis", one_row ? 1 : -1), y.size());
  if (!one_row || axis + 1 == static_cast<int64_t>(y.size())) {
    program.Bind(node.output(0), program.Add(Softmax{static_cast<int>(axis), kLog}, {x}, y));
    return;
  }
  const Value rows = program.AddReshape(x, InTwo(y, axis));
  program.Bind(node.output(0), program.AddReshape(program.Add(Softmax{1, kLog}, {rows}, program.dims(rows)), y));
}

sdk::Verdict SupportsLrn(const sdk::NodeView& node) {
  if (node.Int("size", 1) % 2 == 0) return sdk::Verdict::No(sdk::Reason::kAttribute, "an even size");
  return sdk::Verdict::Yes();
}

void ReadLrn(const sdk::NodeView& node, Program& program) {
  const sdk::op::LRN lrn(node.primitive());
  const Value x = program.Find(node.input(0));
  program.Bind(node.output(0), program.Add(Lrn{lrn.size(), lrn.alpha(), lrn.beta(), lrn.bias()}, {x}, program.dims(x)));
}

constexpr Operator kNormalizationOperators[] = {
    {"BatchNormalization",
     kAllInputs,
     SupportsBatchNormalization,
     ReadBatchNormalization,
     {2, 5},
     "inference, constant parameters"},
    {"LayerNormalization",
     kAllInputs,
     SupportsLayerNormalization,
     ReadLayerNormalization,
     {1, 5},
     "the first output alone, parameters as large as the normalized extents"},
    {"LRN", 1, SupportsLrn, ReadLrn, {4, 4}, "odd sizes"},
    {"Softmax", 1, SupportsAll, ReadSoftmax<false>, {1, 6}},
    {"LogSoftmax", 1, SupportsAll, ReadSoftmax<true>, {1, 6}},
};

}  // namespace

sdk::Span<const Operator> NormalizationOperators() {
  return {kNormalizationOperators, std::size(kNormalizationOperators)};
}

}  // namespace onednn
