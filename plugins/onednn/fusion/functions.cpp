#include <cmath>
#include <optional>

#include "fusion/fusion.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

constexpr float kCloseEnough = 1e-5f;
bool Near(float a, float b) { return std::fabs(a - b) <= kCloseEnough * std::max(1.0f, std::fabs(b)); }

const Operation* MakerOf(const Program& program, Value value) {
  const size_t producer = program.ProducerOf(value);
  return producer == kNoValue ? nullptr : &program.operations()[producer];
}

const Eltwise* MadeBy(const Program& program, Value value, algorithm how) {
  const Operation* maker = MakerOf(program, value);
  const Eltwise* eltwise = maker == nullptr ? nullptr : maker->As<Eltwise>();
  return eltwise != nullptr && eltwise->algorithm == how ? eltwise : nullptr;
}

Value OperandOf(const Program& program, Value value, size_t index = 0) {
  return MakerOf(program, value)->inputs[index];
}

// value = scale * of + shift, as far back as it goes.
struct Line {
  Value of;
  float scale = 1, shift = 0;
};
Line LineTo(const Program& program, Value value) {
  Line line{value};
  while (const Eltwise* step = MadeBy(program, line.of, algorithm::eltwise_linear)) {
    line.shift += line.scale * step->beta;
    line.scale *= step->alpha;
    line.of = OperandOf(program, line.of);
  }
  return line;
}
// The same, but ends at `end`.
std::optional<Line> LineFrom(const Program& program, Value value, Value end) {
  Line line{value};
  while (line.of != end) {
    const Eltwise* step = MadeBy(program, line.of, algorithm::eltwise_linear);
    if (step == nullptr) return std::nullopt;
    line.shift += line.scale * step->beta;
    line.scale *= step->alpha;
    line.of = OperandOf(program, line.of);
  }
  return line;
}

void Become(Program& program, size_t index, Parameters parameters, std::vector<Value> inputs) {
  Operation made{std::move(parameters), std::move(inputs), program.operations()[index].output};
  made.node = program.operations()[index].node;
  program.Replace(index, std::move(made));
}

bool IsMeanOfRows(const Program& program, Value mean, Value x) {
  const Operation* maker = MakerOf(program, mean);
  const Reduction* reduction = maker == nullptr ? nullptr : maker->As<Reduction>();
  memory::dims rows = program.dims(x);
  rows.back() = 1;
  return reduction != nullptr && reduction->algorithm == algorithm::reduction_mean && maker->inputs[0] == x &&
         program.dims(mean) == rows;
}

// x, if value = x - mean(x) along the last dimension.
std::optional<Value> Centred(const Program& program, Value value) {
  const Operation* maker = MakerOf(program, value);
  const Binary* binary = maker == nullptr ? nullptr : maker->As<Binary>();
  if (binary == nullptr || binary->algorithm != algorithm::binary_sub || !maker->post_ops.empty()) return std::nullopt;
  if (!IsMeanOfRows(program, maker->inputs[1], maker->inputs[0])) return std::nullopt;
  return maker->inputs[0];
}

// The epsilon, if value = mean((x - mean(x))^2) + epsilon.
std::optional<float> Variance(const Program& program, Value value, Value x) {
  const Line line = LineTo(program, value);
  const Operation* mean = MakerOf(program, line.of);
  if (line.scale != 1 || line.shift <= 0 || mean == nullptr || mean->As<Reduction>() == nullptr) return std::nullopt;
  const Value squares = mean->inputs[0];
  if (!IsMeanOfRows(program, line.of, squares)) return std::nullopt;
  const Operation* square = MakerOf(program, squares);
  if (square == nullptr) return std::nullopt;
  const Binary* product = square->As<Binary>();
  const bool is_square =
      MadeBy(program, squares, algorithm::eltwise_square) != nullptr ||
      (product != nullptr && product->algorithm == algorithm::binary_mul && square->inputs[0] == square->inputs[1]);
  if (!is_square || Centred(program, square->inputs[0]) != x) return std::nullopt;
  return line.shift;
}

// (x - mean) / sqrt(variance + epsilon).
bool FindNormalization(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Binary* binary = operation.As<Binary>();
  if (binary == nullptr) return false;
  const std::optional<Value> x = Centred(program, operation.inputs[0]);
  if (!x) return false;
  const Value deviation = operation.inputs[1];
  const Eltwise* power = MadeBy(program, deviation, algorithm::eltwise_pow);
  const bool divides =
      binary->algorithm == algorithm::binary_div && (MadeBy(program, deviation, algorithm::eltwise_sqrt) != nullptr ||
                                                     (power != nullptr && power->alpha == 1 && power->beta == 0.5f));
  Value variance = kNoValue;
  if (divides) variance = OperandOf(program, deviation);
  if (binary->algorithm == algorithm::binary_mul && power != nullptr && power->alpha == 1) {
    if (power->beta == -0.5f) variance = OperandOf(program, deviation);
    const Value root = OperandOf(program, deviation);
    if (power->beta == -1 && MadeBy(program, root, algorithm::eltwise_sqrt) != nullptr)
      variance = OperandOf(program, root);
  }
  if (variance == kNoValue) return false;
  const std::optional<float> epsilon = Variance(program, variance, *x);
  if (!epsilon) return false;
  Become(program, index, LayerNorm{*epsilon}, {*x, kNoValue, kNoValue});
  return true;
}

// Scale and shift after a normalization.
bool FindScaleAndShift(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Binary* binary = operation.As<Binary>();
  if (binary == nullptr) return false;
  size_t before = 0;
  const LayerNorm* norm = MadeOnlyHere<LayerNorm>(program, operation.inputs[0], &before);
  if (norm == nullptr) return false;
  const Value factor = operation.inputs[1];
  const int64_t length = program.dims(operation.output).back();
  if (program.dims(factor).back() != length || CountOf(program.dims(factor)) != length) return false;
  std::vector<Value> inputs = program.operations()[before].inputs;
  if (binary->algorithm == algorithm::binary_mul && inputs[1] == kNoValue && inputs[2] == kNoValue)
    inputs[1] = factor;
  else if (binary->algorithm == algorithm::binary_add && inputs[2] == kNoValue)
    inputs[2] = factor;
  else
    return false;
  const LayerNorm same = *norm;
  program.Drop(before);
  Become(program, index, same, std::move(inputs));
  return true;
}

// The product `scale * a * b`, a candidate for one function of x.
struct Product {
  Value a, b;
  float scale = 1;
};

std::optional<Product> ProductAt(const Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  if (const Binary* binary = operation.As<Binary>())
    if (binary->algorithm == algorithm::binary_mul) return Product{operation.inputs[0], operation.inputs[1]};
  const Eltwise* line = operation.As<Eltwise>();
  if (line == nullptr || line->algorithm != algorithm::eltwise_linear || line->beta != 0) return std::nullopt;
  size_t before = 0;
  const Binary* binary = MadeOnlyHere<Binary>(program, operation.inputs[0], &before);
  if (binary == nullptr || binary->algorithm != algorithm::binary_mul) return std::nullopt;
  const Operation& product = program.operations()[before];
  return Product{product.inputs[0], product.inputs[1], line->alpha};
}

// scale * x * gate(x), the gate being `value`.
std::optional<Eltwise> GatedFunction(const Program& program, Value x, Value value, float scale) {
  const Line gate = LineTo(program, value);
  const Operation* maker = MakerOf(program, gate.of);
  if (maker == nullptr || program.UsesOf(gate.of) != 1) return std::nullopt;
  const float p = scale * gate.scale, q = scale * gate.shift;
  if (maker->As<Erf>() != nullptr) {
    const auto inner = LineFrom(program, maker->inputs[0], x);
    if (inner && inner->shift == 0 && Near(inner->scale, std::sqrt(0.5f)) && Near(p, 0.5f) && Near(q, 0.5f))
      return Eltwise{algorithm::eltwise_gelu_erf};
    return std::nullopt;
  }
  const Eltwise* eltwise = maker->As<Eltwise>();
  if (eltwise == nullptr || q != 0) return std::nullopt;
  if (eltwise->algorithm == algorithm::eltwise_tanh && p == 1) {
    const Value inner = maker->inputs[0];
    if (MadeBy(program, inner, algorithm::eltwise_soft_relu) && OperandOf(program, inner) == x)
      return Eltwise{algorithm::eltwise_mish};
    return std::nullopt;
  }
  const auto inner = LineFrom(program, maker->inputs[0], x);
  if (!inner) return std::nullopt;
  if (eltwise->algorithm == algorithm::eltwise_logistic && p == 1 && inner->shift == 0)
    return Eltwise{algorithm::eltwise_swish, inner->scale};
  if (eltwise->algorithm == algorithm::eltwise_clip && eltwise->alpha == 0 && Near(p * eltwise->beta, 1) &&
      Near(p * inner->scale, 1.0f / 6) && Near(p * inner->shift, 0.5f))
    return Eltwise{algorithm::eltwise_hardswish};
  return std::nullopt;
}

bool FindGate(Program& program, size_t index) {
  const std::optional<Product> product = ProductAt(program, index);
  if (!product || program.dims(product->a) != program.dims(product->b)) return false;
  for (const bool exchange : {false, true}) {
    const Value factor = exchange ? product->b : product->a, gate = exchange ? product->a : product->b;
    // The factor may be scaled itself (0.5 * x); any point on the way back can be the x of the gate.
    Line line{factor};
    while (true) {
      if (line.shift == 0)
        if (const auto found = GatedFunction(program, line.of, gate, product->scale * line.scale)) {
          Become(program, index, *found, {line.of});
          return true;
        }
      const Eltwise* step = MadeBy(program, line.of, algorithm::eltwise_linear);
      if (step == nullptr || step->beta != 0) break;
      line.scale *= step->alpha;
      line.of = OperandOf(program, line.of);
    }
  }
  return false;
}

// Two consecutive linear functions are one.
bool JoinLines(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Eltwise* second = operation.As<Eltwise>();
  if (second == nullptr || second->algorithm != algorithm::eltwise_linear) return false;
  size_t before = 0;
  const Eltwise* first = MadeOnlyHere<Eltwise>(program, operation.inputs[0], &before);
  if (first == nullptr || first->algorithm != algorithm::eltwise_linear) return false;
  const Eltwise joined{algorithm::eltwise_linear, first->alpha * second->alpha,
                       first->beta * second->alpha + second->beta};
  const Value x = program.operations()[before].inputs[0];
  program.Drop(before);
  Become(program, index, joined, {x});
  return true;
}

}  // namespace

void FindFunctions(Program& program) {
  for (size_t i = 0; i < program.operations().size(); ++i)
    FindNormalization(program, i) || FindScaleAndShift(program, i) || FindGate(program, i);
  program.Sweep();
  for (size_t i = 0; i < program.operations().size(); ++i) JoinLines(program, i);
  program.Sweep();
}

}  // namespace onednn
