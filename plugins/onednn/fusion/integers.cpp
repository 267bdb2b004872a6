#include <algorithm>
#include <cmath>
#include <utility>

#include "fusion/fusion.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

// The integers of a value that holds their dequantized numbers.
struct Source {
  Value integers;
  Scaling scaling;
};
std::optional<Source> SourceOf(const Program& program, Value value) {
  const size_t producer = program.ProducerOf(value);
  if (producer == kNoValue) return std::nullopt;
  const Operation& maker = program.operations()[producer];
  const Dequantize* dequantize = maker.As<Dequantize>();
  if (dequantize == nullptr) return std::nullopt;
  return Source{maker.inputs[0], dequantize->scaling};
}

// Weights as int8 around zero, if they fit.
std::shared_ptr<const Constant> Signed(const Integers& weights) {
  const memory::desc desc = weights.values->desc();
  const size_t count = static_cast<size_t>(CountOf(desc.dims()));
  const bool is_signed = desc.data_type() == memory::data_type::s8;
  if (!is_signed && desc.data_type() != memory::data_type::u8) return nullptr;
  const bool at_zero = std::all_of(weights.zeros.begin(), weights.zeros.end(), [](int32_t zero) { return zero == 0; });
  if (is_signed && at_zero) return weights.values;
  const int32_t zero = weights.zeros[0];
  if (std::any_of(weights.zeros.begin(), weights.zeros.end(), [zero](int32_t other) { return other != zero; }))
    return nullptr;
  const auto* bytes = static_cast<const uint8_t*>(weights.values->data());
  std::vector<int8_t> moved;
  for (size_t i = 0; i < count; ++i) {
    const int32_t value = (is_signed ? static_cast<int8_t>(bytes[i]) : bytes[i]) - zero;
    if (value < -128 || value > 127) return nullptr;
    moved.push_back(static_cast<int8_t>(value));
  }
  return Constant::OfBytes("moved(" + weights.values->key() + "," + std::to_string(zero) + ")", desc.dims(),
                           std::move(moved));
}

// The bias in units of the sums of products.
std::shared_ptr<const Constant> InUnits(const std::shared_ptr<const Constant>& bias, float source,
                                        const std::vector<float>& weights) {
  std::string recipe = "units(" + bias->key() + "," + Exactly(source);
  for (const float scale : weights) recipe += "," + Exactly(scale);
  const memory::dims dims = bias->desc().dims();
  return std::make_shared<Constant>(recipe + ")", dims, [bias, source, weights, dims] {
    std::vector<float> values(bias->floats(), bias->floats() + CountOf(dims));
    for (size_t i = 0; i < values.size(); ++i) values[i] /= source * weights[weights.size() == 1 ? 0 : i];
    return values;
  });
}

// Whether one primitive computes all post-ops and the change of scale after them, so that its result is integers: none
// has an operand, and none is a linear function, of which a primitive has at most one (see PostOps::MostAtOnce).
bool EndsInIntegers(const std::vector<PostOp>& post_ops) {
  for (size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].operand != kNoValue || post_ops[i].algorithm == algorithm::eltwise_linear) return false;
    for (size_t j = 0; j < i; ++j)
      if (post_ops[i].algorithm == post_ops[j].algorithm) return false;
  }
  return true;
}

// The index of the operation that quantizes a result, if it is the only reader.
size_t QuantizedAt(const Program& program, const std::vector<size_t>& readers, Value value) {
  if (program.UsesOf(value) != 1 || readers[value] == kNoValue) return kNoValue;
  return program.operations()[readers[value]].As<Quantize>() != nullptr ? readers[value] : kNoValue;
}

bool UseInProduct(Program& program, const std::vector<size_t>& readers, size_t index) {
  const Operation& operation = program.operations()[index];
  const Convolution* convolution = operation.As<Convolution>();
  const Matmul* matmul = operation.As<Matmul>();
  if ((convolution == nullptr || convolution->transposed) && (matmul == nullptr || matmul->transpose_a)) return false;
  const std::optional<Source> source = SourceOf(program, operation.inputs[0]);
  const std::shared_ptr<const Integers> weights = program.facts(operation.inputs[1]).integers;
  if (!source || weights == nullptr) return false;
  if (operation.Has(2) && program.constant(operation.inputs[2]) == nullptr) return false;
  const size_t rank = weights->values->desc().dims().size();
  const size_t outputs = convolution != nullptr ? 0 : rank - (matmul->transpose_b ? 2 : 1);
  if (weights->scales.size() > 1 && weights->axis != outputs) return false;
  if (matmul != nullptr && rank != 2) return false;
  const auto moved = Signed(*weights);
  if (moved == nullptr) return false;

  Operation made = operation;
  made.integers = IntegerForm{{source->scaling}, weights->scales, std::nullopt};
  made.inputs[0] = source->integers;
  made.inputs[1] = program.AddConstant(moved);
  if (made.Has(2))
    made.inputs[2] =
        program.AddConstant(InUnits(program.shared_constant(made.inputs[2]), source->scaling.scale, weights->scales));
  const size_t after = EndsInIntegers(operation.post_ops) ? QuantizedAt(program, readers, operation.output) : kNoValue;
  if (after == kNoValue) {
    program.Replace(index, std::move(made));
    return true;
  }
  const Scaling result = program.operations()[after].As<Quantize>()->scaling;
  made.integers->result = result;
  // A rectifier is independent of the scale; all other functions need the real numbers.
  const bool homogeneous = std::all_of(made.post_ops.begin(), made.post_ops.end(), [](const PostOp& post_op) {
    return post_op.algorithm == algorithm::eltwise_relu;
  });
  if (homogeneous)
    for (float& scale : made.integers->weights) scale /= result.scale;
  else
    made.post_ops.push_back({algorithm::eltwise_linear, 1 / result.scale, 0});
  made.output = program.operations()[after].output;
  program.Drop(index);
  program.Replace(after, std::move(made));
  return true;
}

bool UseInSum(Program& program, const std::vector<size_t>& readers, size_t index) {
  const Operation& operation = program.operations()[index];
  const Binary* binary = operation.As<Binary>();
  if (binary == nullptr || binary->algorithm != algorithm::binary_add) return false;
  if (program.dims(operation.inputs[0]) != program.dims(operation.inputs[1])) return false;
  const std::optional<Source> a = SourceOf(program, operation.inputs[0]), b = SourceOf(program, operation.inputs[1]);
  const size_t after = QuantizedAt(program, readers, operation.output);
  if (!a || !b || after == kNoValue || operation.post_ops.size() > 1) return false;
  const bool rectified = operation.post_ops.size() == 1;
  if (rectified && (operation.post_ops[0].algorithm != algorithm::eltwise_relu || operation.post_ops[0].alpha != 0))
    return false;
  const Scaling result = program.operations()[after].As<Quantize>()->scaling;
  Operation made = operation;
  made.integers = IntegerForm{{a->scaling, b->scaling}, {}, result};
  made.inputs = {a->integers, b->integers};
  // oneDNN's sum has no zero points: one added number replaces all of them.
  const float zeros =
      a->scaling.scale * static_cast<float>(a->scaling.zero) + b->scaling.scale * static_cast<float>(b->scaling.zero);
  const float zero = static_cast<float>(result.zero);
  made.post_ops = {{algorithm::eltwise_linear, 1 / result.scale, zero - zeros / result.scale}};
  if (rectified) made.post_ops.push_back({algorithm::eltwise_clip, zero, 1024});
  made.output = program.operations()[after].output;
  program.Drop(index);
  program.Replace(after, std::move(made));
  return true;
}

// Processors without instructions for products of 8-bit integers (VNNI) add two products in 16 bits: oneDNN's sums
// saturate there, or it halves the weights and rounds them (its developer guide, "Nuances of int8 computations").
bool SumsProductsExactly() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx:
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx512_mic:
    case dnnl::cpu_isa::avx512_mic_4ops:
    case dnnl::cpu_isa::avx512_core: return false;
    default: return true;
  }
}

}  // namespace

void UseIntegers(Program& program) {
  const bool products = SumsProductsExactly();
  std::vector<size_t> readers(program.value_count(), kNoValue);  // the last one, which is the only one if there is one
  for (size_t i = 0; i < program.operations().size(); ++i)
    for (const Value value : ReadBy(program.operations()[i])) readers[value] = i;
  const size_t values = program.value_count();
  for (size_t i = 0; i < program.operations().size(); ++i) {
    if (program.operations()[i].dropped || program.operations()[i].output >= values) continue;
    (products && UseInProduct(program, readers, i)) || UseInSum(program, readers, i);
  }
  program.Sweep();
}

}  // namespace onednn
