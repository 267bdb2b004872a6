#include <algorithm>

#include "lowering/lowering.hpp"

namespace onednn {
namespace {

using dnnl::algorithm;

bool IsArithmetic(const Operation& operation) {
  if (operation.As<Binary>() != nullptr) return true;
  const Eltwise* eltwise = operation.As<Eltwise>();
  if (eltwise == nullptr) return false;
  constexpr algorithm kPlain[] = {algorithm::eltwise_relu, algorithm::eltwise_linear, algorithm::eltwise_clip,
                                  algorithm::eltwise_abs,  algorithm::eltwise_square, algorithm::eltwise_round,
                                  algorithm::eltwise_sqrt};
  return std::find(std::begin(kPlain), std::end(kPlain), eltwise->algorithm) != std::end(kPlain);
}

bool OnlyMoves(const Operation& operation) {
  return operation.As<Reshape>() != nullptr || operation.As<Transpose>() != nullptr ||
         operation.As<Slice>() != nullptr || operation.As<Concat>() != nullptr || operation.As<Pad>() != nullptr ||
         operation.As<Quantize>() != nullptr || operation.As<Dequantize>() != nullptr ||
         operation.As<Cast>() != nullptr;
}

// Nanoseconds of good kernels on one core; measured, and only for comparison with the constants below.
int64_t TimeOf(const Operation& operation, const Program& program) {
  constexpr int64_t kMultiplications = 16, kSums = 8, kFunctions = 2, kPrepared = 2000, kRows = 200;  // per ns; ns
  const int64_t made = CountOf(program.dims(operation.output));
  if (OnlyMoves(operation)) return 0;
  const int64_t after = static_cast<int64_t>(operation.post_ops.size()) * made / kSums;
  if (operation.As<Convolution>() != nullptr) return kPrepared + WorkOf(operation, program) / kMultiplications + after;
  if (operation.As<Matmul>() != nullptr) return WorkOf(operation, program) / kMultiplications + after;
  if (IsArithmetic(operation)) return made / kSums + after;
  if (operation.As<Eltwise>() != nullptr || operation.As<Erf>() != nullptr) return made / kFunctions + after;
  return kRows + CountOf(program.dims(operation.inputs[0])) / kFunctions + after;
}

bool IsElementwise(const Operation& operation) {
  return operation.As<Eltwise>() != nullptr || operation.As<Binary>() != nullptr || operation.As<Prelu>() != nullptr ||
         operation.As<Erf>() != nullptr || operation.As<Reduction>() != nullptr;
}

}  // namespace

bool IsOneElementwiseFunction(const Program& program, size_t nodes) {
  const auto& operations = program.operations();
  return nodes == 1 && std::all_of(operations.begin(), operations.end(), [](const Operation& operation) {
           return IsElementwise(operation) || OnlyMoves(operation);
         });
}

int64_t WorkOf(const Operation& operation, const Program& program) {
  const int64_t made = CountOf(program.dims(operation.output));
  if (operation.As<Convolution>() != nullptr || operation.As<Matmul>() != nullptr) {
    const memory::dims x = program.dims(operation.inputs[0]), weights = program.dims(operation.inputs[1]);
    const Convolution* convolution = operation.As<Convolution>();
    if (convolution == nullptr) return made * x.back();
    return convolution->transposed ? CountOf(x) * CountOf(weights) / weights[0] : made * CountOf(weights) / weights[0];
  }
  constexpr int64_t kPerElement = 8;
  int64_t read = 0;
  for (const Value value : ReadBy(operation)) read = std::max(read, CountOf(program.dims(value)));
  return kPerElement * std::max(made, read);
}

bool IsWorthCalling(const Program& program, const Analysis& analysis, size_t saved) {
  // ns more than another delegate's; a saved kernel saves a step's.
  constexpr int64_t kCall = 400, kStep = 300, kReorder = 500, kTimes = 2;
  int64_t time = 0;
  constexpr int64_t kLong = int64_t{1} << 60;  // sums of more would overflow
  for (const Operation& operation : program.operations()) time = std::min(kLong, time + TimeOf(operation, program));
  const int64_t steps = static_cast<int64_t>(analysis.steps) - static_cast<int64_t>(saved);
  return time >= kTimes * (kCall + kStep * steps + kReorder * static_cast<int64_t>(analysis.reorders));
}

}  // namespace onednn
