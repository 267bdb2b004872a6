// Arithmetic of two inputs or of any number, and PRelu. A constant scalar makes an element-wise function of it, which
// fuses more easily.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "operators/operators.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

// Before 7 the second input could be aligned at an axis.
bool HasOldBroadcast(const sdk::NodeView& node) { return node.Int("broadcast", 0) != 0; }

sdk::Verdict SupportsBinary(const sdk::NodeView& node) {
  const memory::dims y = ToDims(node.output(0).dims());
  if (HasOldBroadcast(node)) return sdk::Verdict::No(sdk::Reason::kAttribute, "broadcast");
  const auto full = [&](size_t input) { return WithRank(ToDims(node.input(input).dims()), y.size()) == y; };
  if (full(0) || (full(1) && !node.Is("Div"))) return sdk::Verdict::Yes();
  return sdk::Verdict::No(sdk::Reason::kShape, node.Is("Div") ? "broadcasting of the dividend is not supported"
                                                              : "broadcasting of both inputs is not supported");
}

sdk::Verdict SupportsMany(const sdk::NodeView& node) {
  const memory::dims y = ToDims(node.output(0).dims());
  for (size_t i = 0; i < node.input_count(); ++i)
    if (WithRank(ToDims(node.input(i).dims()), y.size()) == y) return sdk::Verdict::Yes();
  return sdk::Verdict::No(sdk::Reason::kShape, "broadcasting of all inputs is not supported");
}

// `x how c` as a function of x alone.
std::optional<Eltwise> WithScalar(algorithm how, float c) {
  switch (how) {
    case algorithm::binary_add: return Eltwise{algorithm::eltwise_linear, 1, c};
    case algorithm::binary_sub: return Eltwise{algorithm::eltwise_linear, 1, -c};
    case algorithm::binary_mul: return Eltwise{algorithm::eltwise_linear, c, 0};
    case algorithm::binary_div:
      // The reciprocal of a very small or very large number is not exact enough.
      if (!std::isnormal(c) || !std::isnormal(1 / c)) return std::nullopt;
      return Eltwise{algorithm::eltwise_linear, 1 / c, 0};
    case algorithm::binary_max: return Eltwise{algorithm::eltwise_clip, c, std::numeric_limits<float>::infinity()};
    default: return Eltwise{algorithm::eltwise_clip, -std::numeric_limits<float>::infinity(), c};
  }
}

bool Commutes(algorithm how) { return how != algorithm::binary_sub && how != algorithm::binary_div; }

Value Combine(Program& program, algorithm how, Value a, Value b, const memory::dims& y) {
  a = program.AddReshape(a, WithRank(program.dims(a), y.size()));
  b = program.AddReshape(b, WithRank(program.dims(b), y.size()));
  const auto is_scalar = [&](Value v) { return program.constant(v) != nullptr && CountOf(program.dims(v)) == 1; };
  if (is_scalar(b) && program.dims(a) == y)
    if (const auto eltwise = WithScalar(how, program.constant(b)->floats()[0])) return program.Add(*eltwise, {a}, y);
  if (is_scalar(a) && program.dims(b) == y) {
    const float c = program.constant(a)->floats()[0];
    if (Commutes(how))
      if (const auto eltwise = WithScalar(how, c)) return program.Add(*eltwise, {b}, y);
    if (how == algorithm::binary_sub) return AddLinear(program, b, -1, c);
    if (how == algorithm::binary_div) return program.Add(Eltwise{algorithm::eltwise_pow, c, -1}, {b}, y);
  }
  const bool exchange = program.dims(a) != y || (Commutes(how) && program.constant(a) != nullptr);
  if (exchange && program.dims(b) == y) {
    if (how == algorithm::binary_sub) {
      how = algorithm::binary_add;
      b = AddLinear(program, b, -1, 0);
    }
    std::swap(a, b);
  }
  return program.Add(Binary{how}, {a, b}, y);
}

template <algorithm kAlgorithm>
void ReadBinary(const sdk::NodeView& node, Program& program) {
  program.Bind(node.output(0), Combine(program, kAlgorithm, program.Find(node.input(0)), program.Find(node.input(1)),
                                       ToDims(node.output(0).dims())));
}

// From the first input that has the extents of the result on; the rest joins it.
Value Join(const sdk::NodeView& node, Program& program, algorithm how) {
  const memory::dims y = ToDims(node.output(0).dims());
  std::vector<Value> rest;
  for (size_t i = 0; i < node.input_count(); ++i) rest.push_back(program.Find(node.input(i)));
  const auto first =
      std::find_if(rest.begin(), rest.end(), [&](Value value) { return WithRank(program.dims(value), y.size()) == y; });
  Value joined = program.AddReshape(*first, y);
  rest.erase(first);
  for (const Value value : rest) joined = Combine(program, how, joined, value, y);
  return joined;
}

template <algorithm kAlgorithm>
void ReadMany(const sdk::NodeView& node, Program& program) {
  program.Bind(node.output(0), Join(node, program, kAlgorithm));
}

void ReadMean(const sdk::NodeView& node, Program& program) {
  const Value sum = Join(node, program, algorithm::binary_add);
  program.Bind(node.output(0), AddLinear(program, sum, 1.0f / static_cast<float>(node.input_count()), 0));
}

sdk::Verdict SupportsPRelu(const sdk::NodeView& node) {
  // Before 7 a vector was meant per channel.
  if (node.since_version() < 7 && node.input(1).element_count() != 1)
    return sdk::Verdict::No(sdk::Reason::kAttribute, "a slope per channel before version 7");
  if (!BroadcastsTo(ToDims(node.input(1).dims()), ToDims(node.input(0).dims())))
    return sdk::Verdict::No(sdk::Reason::kShape, "slope cannot be broadcast to the input");
  return sdk::Verdict::Yes();
}

void ReadPRelu(const sdk::NodeView& node, Program& program) {
  const memory::dims y = ToDims(node.output(0).dims());
  const Value x = program.Find(node.input(0));
  if (const auto slope = ConstantScalar(node.input(1)))
    return program.Bind(node.output(0), program.Add(Eltwise{algorithm::eltwise_relu, *slope}, {x}, y));
  const Value found = program.Find(node.input(1));
  const Value slope = program.AddReshape(found, WithRank(program.dims(found), y.size()));
  program.Bind(node.output(0), program.Add(Prelu{}, {x, slope}, y));
}

constexpr const char* kOneFull = "one input as large as the result";

constexpr Operator kBinaryOperators[] = {
    {"Add", kAllInputs, SupportsBinary, ReadBinary<algorithm::binary_add>, {}, kOneFull},
    {"Sub", kAllInputs, SupportsBinary, ReadBinary<algorithm::binary_sub>, {}, kOneFull},
    {"Mul", kAllInputs, SupportsBinary, ReadBinary<algorithm::binary_mul>, {}, kOneFull},
    {"Div",
     kAllInputs,
     SupportsBinary,
     ReadBinary<algorithm::binary_div>,
     {},
     "the first input as large as the result"},
    {"Sum", kAllInputs, SupportsMany, ReadMany<algorithm::binary_add>, {}, kOneFull},
    {"Max", kAllInputs, SupportsMany, ReadMany<algorithm::binary_max>, {}, kOneFull},
    {"Min", kAllInputs, SupportsMany, ReadMany<algorithm::binary_min>, {}, kOneFull},
    {"Mean", kAllInputs, SupportsMany, ReadMean, {}, kOneFull},
    {"PRelu", kAllInputs, SupportsPRelu, ReadPRelu, {0, 5}},
};

}  // namespace

sdk::Span<const Operator> BinaryOperators() { return {kBinaryOperators, std::size(kBinaryOperators)}; }

}  // namespace onednn
