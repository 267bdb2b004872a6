#include "probing/values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "random/draft.hpp"
#include "tolerance.hpp"

namespace deputy::conformance {
namespace {

using Names = std::set<std::string>;

bool IsOneOf(const reference::Node& node, const Names& names) {
  return node.domain.empty() && names.count(node.op_type) != 0;
}

// Floats that are positions, flags or limits, or whose remainders jump.
bool DependsOnExactValues(const Case& tested) {
  static const auto* const names = new Names{
      "GridSample", "IsInf",    "IsNaN",  "MaxRoiPool",        "MaxUnpool", "Mod",         "NonZero",  "OneHot",
      "Unique",     "RoiAlign", "Shrink", "NonMaxSuppression", "Range",     "Multinomial", "Bernoulli"};
  const reference::Node& node = tested.node;
  if (IsOneOf(node, *names)) return true;
  if (node.op_type == "MaxPool" && node.output_count > 1) return true;
  if (node.Has("clip")) return true;
  return node.String("reduction", "none") != "none";
}

// With few bits two values are soon equal, and definitions differ about the order of equal ones.
bool DependsOnOrder(const reference::Node& node) { return IsOneOf(node, {"ArgMax", "ArgMin", "Hardmax", "TopK"}); }

struct Range {
  double low = 0, high = 0;
};

Range RangeOf(const Tensor& tensor) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : tensor.real) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

bool IsFewBits(deputy_dtype dtype) { return dtype == kF16 || dtype == kBF16; }

void AddNote(Case& tested, const std::string& note) {
  tested.label = (tested.label == "plain" ? "" : tested.label + " ") + note;
}

// A copy whose variable inputs of `wanted` types have every second element, beginning with the first, from `make`.
template <class Wanted, class Make>
std::optional<Case> Sprinkled(const Case& tested, const std::string& note, size_t most_inputs, Wanted wanted,
                              Make make) {
  Case other = tested;
  bool any = false;
  for (size_t i = 0; i < std::min(most_inputs, other.inputs.size()); ++i) {
    Operand& input = other.inputs[i];
    if (!input.present || input.constant || !wanted(input.value.dtype)) continue;
    for (int64_t at = 0; at < input.value.count(); at += 2) {
      make(input.value, at);
      any = true;
    }
  }
  if (!any) return std::nullopt;
  AddNote(other, note);
  return other;
}

// Functions of floats whose results for NaN and infinities are those of IEEE 754.
const Names& Arithmetic() {
  static const auto* const names =
      new Names{"Abs",   "Add",  "Ceil", "Div", "Exp", "Floor", "LeakyRelu", "Mul",  "Neg", "Relu",
                "Round", "Sqrt", "Sub",  "Sum", "Max", "Min",   "Sigmoid",   "Tanh", "Erf", "Reciprocal"};
  return *names;
}

const Names& Comparing() {
  static const auto* const names =
      new Names{"Equal",     "Greater",   "GreaterOrEqual", "Less",   "LessOrEqual", "Max",     "Min",
                "ReduceMax", "ReduceMin", "ArgMax",         "ArgMin", "TopK",        "MaxPool", "Clip"};
  return *names;
}

size_t DataInputs(const reference::Node& node) {
  static const auto* const several =
      new Names{"Add", "Concat", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                "Max", "Min",    "Mul", "Sub",   "Sum",     "Where"};
  return IsOneOf(node, *several) ? 8 : 1;
}

// Functions of exponentials that are finite where the exponentials are not.
const Names& Saturating() {
  static const auto* const names =
      new Names{"Celu", "Elu",     "Erf",     "Gelu",     "HardSigmoid", "HardSwish", "LogSoftmax",     "Mish",
                "Selu", "Sigmoid", "Softmax", "Softplus", "Softsign",    "Tanh",      "ReduceLogSumExp"};
  return *names;
}

void AddFloats(const Case& tested, uint64_t seed, std::vector<Case>& all) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  RandomSource random(seed);
  const auto real = [](deputy_dtype dtype) { return reference::IsReal(dtype); };
  const auto add = [&](std::optional<Case> made) {
    if (made) all.push_back(std::move(*made));
  };
  const bool moves = OnlyMoves(tested.node), computes = IsOneOf(tested.node, Arithmetic());
  const size_t inputs = DataInputs(tested.node);
  if (IsOneOf(tested.node, Saturating()))
    add(Sprinkled(tested, "values=large", 1, real, [&](Tensor& tensor, int64_t at) {
      tensor.Put(at, static_cast<double>(random.Between(100, 300)) * (random.Half() ? 1 : -1));
    }));
  if (moves || computes) {
    // One input at a time, so that the other one of a sum shows that it is read.
    add(Sprinkled(tested, "values=nan", moves ? inputs : 1, real,
                  [](Tensor& tensor, int64_t at) { tensor.Put(at, std::nan("")); }));
    add(Sprinkled(tested, "values=infinite", moves ? inputs : 1, real,
                  [&](Tensor& tensor, int64_t at) { tensor.Put(at, random.Half() ? kInfinite : -kInfinite); }));
    add(Sprinkled(tested, "values=zero", inputs, real,
                  [&](Tensor& tensor, int64_t at) { tensor.Put(at, random.Half() ? 0.0 : -0.0); }));
  }
  if (!moves) return;
  add(Sprinkled(tested, "values=subnormal", inputs, real, [&](Tensor& tensor, int64_t at) {
    const double smallest = tensor.dtype == kF16   ? std::ldexp(1.0, -24)
                            : tensor.dtype == kF64 ? std::ldexp(1.0, -1074)
                            : tensor.dtype == kF32 ? std::ldexp(1.0, -149)
                                                   : std::ldexp(1.0, -133);
    tensor.Put(at, smallest * static_cast<double>(random.Between(1, 100)));
  }));
}

// The largest numbers whose sum, or product, the type still holds: what happens on overflow is not defined.
int64_t LargestOperand(const reference::Node& node, deputy_dtype dtype) {
  const auto bits = static_cast<int>(8 * reference::BytesOf(dtype)) - (reference::IsUnsigned(dtype) ? 0 : 1);
  if (IsOneOf(node, {"Add", "Sub"})) return (int64_t{1} << (bits - (bits == 64 ? 2 : 1))) - 1;
  return (int64_t{1} << (bits / 2)) - 1;
}

void AddIntegers(const Case& tested, uint64_t seed, std::vector<Case>& all) {
  RandomSource random(seed);
  const auto whole = [](deputy_dtype dtype) { return !reference::IsReal(dtype) && dtype != kBool; };
  const bool moves = OnlyMoves(tested.node) || IsOneOf(tested.node, Comparing());
  const bool computes = IsOneOf(tested.node, {"Add", "Sub", "Mul"});
  if (!moves && !computes) return;
  const auto made = Sprinkled(
      tested, "values=extreme",
      IsOneOf(tested.node, {"TopK", "Gather", "GatherElements", "GatherND"}) ? 1 : DataInputs(tested.node), whole,
      [&](Tensor& tensor, int64_t at) {
        const deputy_dtype dtype = tensor.dtype;
        if (moves)
          return tensor.Put(at, random.Pick<int64_t>({reference::Least(dtype), reference::Most(dtype),
                                                      reference::Most(dtype) - 1, reference::Least(dtype) + 1}));
        const int64_t most = LargestOperand(tested.node, dtype);
        // The second operand of a difference may not be larger than the first where there are no negative numbers.
        const bool may_be_negative = !reference::IsUnsigned(dtype);
        if (!may_be_negative && tested.node.op_type == "Sub") return tensor.Put(at, most);
        tensor.Put(at, (most - random.Between(0, std::min<int64_t>(most / 2, 9))) *
                           (may_be_negative && random.Half() ? -1 : 1));
      });
  if (made) all.push_back(*made);
}

}  // namespace

std::optional<Case> WithFullMantissas(const Case& tested, uint64_t seed) {
  if (DependsOnExactValues(tested)) return std::nullopt;
  RandomSource random(seed);
  Case other = tested;
  bool any = false;
  const bool first_alone = IsOneOf(tested.node, {"Resize", "Upsample", "Clip", "Pad", "Range", "CenterCropPad"});
  for (size_t i = 0; i < (first_alone ? 1 : other.inputs.size()); ++i) {
    Operand& input = other.inputs[i];
    if (i >= other.inputs.size() || !input.present || !reference::IsReal(input.value.dtype)) continue;
    if (input.value.count() < 2) continue;
    if (IsFewBits(input.value.dtype) && DependsOnOrder(tested.node)) return std::nullopt;
    const Range range = RangeOf(input.value);
    if (!(range.low < range.high)) continue;
    for (int64_t at = 0; at < input.value.count(); ++at) {
      const double part = static_cast<double>(random.Next() >> 11) * std::ldexp(1.0, -53);
      input.value.Put(at, std::clamp(range.low + part * (range.high - range.low), range.low, range.high));
    }
    any = true;
  }
  if (!any) return std::nullopt;
  AddNote(other, "values=full");
  return other;
}

std::vector<Case> WithSpecialValues(const Case& tested, uint64_t seed) {
  std::vector<Case> all;
  AddFloats(tested, seed, all);
  AddIntegers(tested, seed, all);
  return all;
}

}  // namespace deputy::conformance
