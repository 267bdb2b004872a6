#include <utility>

#include "fusion/fusion.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;
using SharedConstant = std::shared_ptr<const Constant>;

// Are `dims` exactly one value for each output channel?
bool IsPerOutput(const memory::dims& dims, const Operation& producer, const memory::dims& result) {
  const size_t at = producer.As<Matmul>() != nullptr ? result.size() - 1 : 1;
  return dims.size() == result.size() && dims[at] == result[at] && CountOf(dims) == result[at];
}

// The output channel to which each weight belongs.
std::vector<int64_t> ChannelsOf(const Operation& producer, const memory::dims& weights) {
  const int64_t count = CountOf(weights);
  std::vector<int64_t> channels(static_cast<size_t>(count));
  const auto fill = [&](auto channel_at) {
    for (int64_t i = 0; i < count; ++i) channels[static_cast<size_t>(i)] = channel_at(i);
  };
  if (const Matmul* matmul = producer.As<Matmul>()) {
    const int64_t last = weights.back(), rows = weights[weights.size() - 2];
    if (matmul->transpose_b)
      fill([=](int64_t i) { return i / last % rows; });
    else
      fill([=](int64_t i) { return i % last; });
    return channels;
  }
  const Convolution& convolution = *producer.As<Convolution>();
  const int64_t kernel = count / (weights[0] * weights[1]);
  if (!convolution.transposed) {
    fill([=](int64_t i) { return i / (kernel * weights[1]); });
  } else {
    const int64_t inputs = weights[0] / convolution.groups, outputs = weights[1];
    fill([=](int64_t i) { return i / (kernel * outputs) / inputs * outputs + i / kernel % outputs; });
  }
  return channels;
}

SharedConstant ScaledWeights(const SharedConstant& weights, const SharedConstant& scale, const Operation& producer) {
  const memory::dims dims = weights->desc().dims();
  std::string how = producer.As<Matmul>() != nullptr ? "matmul" : "convolution";
  if (const Matmul* matmul = producer.As<Matmul>()) how += matmul->transpose_b ? "-t" : "";
  if (const Convolution* convolution = producer.As<Convolution>())
    how += (convolution->transposed ? "-t" : "-") + std::to_string(convolution->groups);
  for (const int64_t extent : dims) how += "." + std::to_string(extent);
  return std::make_shared<Constant>(how + "(" + weights->key() + "*" + scale->key() + ")", dims,
                                    [weights, scale, dims, producer] {
                                      const std::vector<int64_t> channels = ChannelsOf(producer, dims);
                                      std::vector<float> values(weights->floats(), weights->floats() + CountOf(dims));
                                      for (size_t i = 0; i < values.size(); ++i)
                                        values[i] *= scale->floats()[channels[i]];
                                      return values;
                                    });
}

// a * b or a + b, element by element.
SharedConstant Combined(const SharedConstant& a, const SharedConstant& b, bool product) {
  const int64_t count = CountOf(a->desc().dims());
  return std::make_shared<Constant>("(" + a->key() + (product ? "*" : "+") + b->key() + ")", memory::dims{count},
                                    [a, b, count, product] {
                                      std::vector<float> values(a->floats(), a->floats() + count);
                                      for (size_t i = 0; i < values.size(); ++i)
                                        values[i] = product ? values[i] * b->floats()[i] : values[i] + b->floats()[i];
                                      return values;
                                    });
}

bool Fold(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Binary* binary = operation.As<Binary>();
  if (binary == nullptr || !operation.post_ops.empty() || program.constant(operation.inputs[1]) == nullptr)
    return false;
  const bool product = binary->algorithm == algorithm::binary_mul;
  if (!product && binary->algorithm != algorithm::binary_add) return false;
  size_t before = 0;
  const Value result = operation.inputs[0];
  if (MadeOnlyHere<Convolution>(program, result, &before) == nullptr &&
      MadeOnlyHere<Matmul>(program, result, &before) == nullptr)
    return false;
  const Operation& producer = program.operations()[before];
  const SharedConstant factor = program.shared_constant(operation.inputs[1]);
  // oneDNN's deconvolution adds a bias very slowly.
  const Convolution* convolution = producer.As<Convolution>();
  if (!product && convolution != nullptr && convolution->transposed && !IsBlockwise(producer, program)) return false;
  if (!producer.post_ops.empty() || !IsPerOutput(factor->desc().dims(), producer, program.dims(result))) return false;
  const Value weights = producer.inputs[1];
  if (program.facts(weights).type != memory::data_type::f32) return false;
  if (product && program.constant(weights) == nullptr) return false;
  if (producer.Has(2) && program.constant(producer.inputs[2]) == nullptr) return false;

  Operation folded = producer;
  folded.inputs.resize(3, kNoValue);
  folded.output = operation.output;
  if (product)
    folded.inputs[1] = program.AddConstant(ScaledWeights(program.shared_constant(weights), factor, producer));
  if (producer.Has(2))
    folded.inputs[2] = program.AddConstant(Combined(program.shared_constant(producer.inputs[2]), factor, product));
  else if (!product)
    folded.inputs[2] = program.AddConstant(Constant::Reshaped(factor, {CountOf(factor->desc().dims())}));
  program.Drop(before);
  program.Replace(index, std::move(folded));
  return true;
}

// A transposed convolution keeps its bias as an addition of its own; a factor or summand behind the addition moves in
// front of it.
bool FoldBehindBias(Program& program, size_t index) {
  const Operation& operation = program.operations()[index];
  const Binary* binary = operation.As<Binary>();
  size_t between = 0, before = 0;
  if (binary == nullptr || program.constant(operation.inputs[1]) == nullptr) return false;
  const bool product = binary->algorithm == algorithm::binary_mul;
  const Binary* bias = MadeOnlyHere<Binary>(program, operation.inputs[0], &between);
  if (bias == nullptr || bias->algorithm != algorithm::binary_add || (!product && binary->algorithm != bias->algorithm))
    return false;
  const Operation& addition = program.operations()[between];
  const Convolution* convolution = MadeOnlyHere<Convolution>(program, addition.inputs[0], &before);
  if (convolution == nullptr || !convolution->transposed || program.constant(addition.inputs[1]) == nullptr)
    return false;
  Operation producer = program.operations()[before];
  const SharedConstant factor = program.shared_constant(operation.inputs[1]);
  const memory::dims y = program.dims(operation.output);
  if (!IsPerOutput(factor->desc().dims(), producer, y)) return false;
  if (!IsPerOutput(program.dims(addition.inputs[1]), producer, y) || program.constant(producer.inputs[1]) == nullptr)
    return false;

  Operation shifted = addition;
  shifted.output = operation.output;
  shifted.inputs[1] = program.AddConstant(Constant::Reshaped(
      Combined(program.shared_constant(addition.inputs[1]), factor, product), factor->desc().dims()));
  if (product)
    producer.inputs[1] =
        program.AddConstant(ScaledWeights(program.shared_constant(producer.inputs[1]), factor, producer));
  program.Replace(before, std::move(producer));
  program.Drop(between);
  program.Replace(index, std::move(shifted));
  return true;
}

}  // namespace

void FoldIntoWeights(Program& program) {
  for (size_t i = 0; i < program.operations().size(); ++i) Fold(program, i) || FoldBehindBias(program, i);
  program.Sweep();
}

}  // namespace onednn
