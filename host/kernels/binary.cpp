// Selects the loop and conversions of an operation, and iterates over both operands in threads and runs.
#include "kernels/binary.hpp"

#include <algorithm>

#include "kernels/dispatch.hpp"
#include "kernels/grain.hpp"

namespace deputy::host {
namespace {

bool IsArithmetic(BinaryOp op) { return op <= BinaryOp::kPow; }

// Powers of integers by integers are exact; float32 is used where both operands fit into it, otherwise double.
DType PowComputeType(DType base, DType exponent) {
  if (!IsFloating(base) && !IsFloating(exponent)) return DType::kInt64;
  const bool narrow = ComputeType(base) == DType::kFloat32 && ComputeType(exponent) == DType::kFloat32;
  return narrow ? DType::kFloat32 : DType::kFloat64;
}

int64_t Grain(BinaryOp op) {
  switch (op) {
    case BinaryOp::kPow:
    case BinaryOp::kMod:
    case BinaryOp::kFMod: return 2048;
    default: return 16384;
  }
}

constexpr int64_t kBinaryBlock = 256;

struct Staging {
  alignas(64) char first[kBinaryBlock * 8], second[kBinaryBlock * 8], target[kBinaryBlock * 8];
};

// One run through the conversions, block by block. An operand with step 0 is converted once per block.
void RunConverted(const BinaryKernel& kernel, const char* first, int64_t first_step, const char* second,
                  int64_t second_step, char* target, int64_t count, Staging& staging) {
  while (count > 0) {
    const int64_t block = std::min(count, kBinaryBlock);
    const void *x = first, *y = second;
    if (kernel.convert_first != nullptr) {
      kernel.convert_first(first, staging.first, first_step == 0 ? 1 : block);
      x = staging.first;
    }
    if (kernel.convert_second != nullptr) {
      kernel.convert_second(second, staging.second, second_step == 0 ? 1 : block);
      y = staging.second;
    }
    kernel.loop(x, first_step, y, second_step, kernel.convert_target != nullptr ? staging.target : target, block);
    if (kernel.convert_target != nullptr) kernel.convert_target(staging.target, target, block);
    first += static_cast<size_t>(block * first_step) * kernel.first_size;
    second += static_cast<size_t>(block * second_step) * kernel.second_size;
    target += static_cast<size_t>(block) * kernel.target_size;
    count -= block;
  }
}

template <class T>
void WhereLoop(const uint8_t* condition, int64_t condition_step, const T* first, int64_t first_step, const T* second,
               int64_t second_step, T* target, int64_t count) {
  if (condition_step == 0) {
    const T* from = *condition != 0 ? first : second;
    const int64_t step = *condition != 0 ? first_step : second_step;
    for (int64_t i = 0; i < count; ++i) target[i] = from[i * step];
  } else if (first_step != 0 && second_step != 0) {
    // Both are read for any condition: a choice between values becomes vector code.
    for (int64_t i = 0; i < count; ++i) {
      const T a = first[i], b = second[i];
      target[i] = condition[i] != 0 ? a : b;
    }
  } else if (first_step != 0) {
    const T b = *second;
    for (int64_t i = 0; i < count; ++i) {
      const T a = first[i];
      target[i] = condition[i] != 0 ? a : b;
    }
  } else if (second_step != 0) {
    const T a = *first;
    for (int64_t i = 0; i < count; ++i) {
      const T b = second[i];
      target[i] = condition[i] != 0 ? a : b;
    }
  } else {
    const T a = *first, b = *second;
    for (int64_t i = 0; i < count; ++i) target[i] = condition[i] != 0 ? a : b;
  }
}

}  // namespace

DType ResultOf(BinaryOp op, DType dtype) { return IsArithmetic(op) ? dtype : DType::kBool; }

std::optional<BinaryKernel> FindBinary(BinaryOp op, DType first, DType second) {
  if (op == BinaryOp::kPow) {
    if (FindArithmeticLoop(BinaryOp::kAdd, ComputeType(first)) == nullptr ||
        FindArithmeticLoop(BinaryOp::kAdd, ComputeType(second)) == nullptr)
      return std::nullopt;
  } else if (first != second) {
    return std::nullopt;
  }
  const DType compute = op == BinaryOp::kPow ? PowComputeType(first, second) : ComputeType(first);
  BinaryKernel kernel;
  kernel.loop = IsArithmetic(op) ? FindArithmeticLoop(op, compute) : FindComparisonLoop(op, compute);
  if (kernel.loop == nullptr) return std::nullopt;
  const DType result = ResultOf(op, first), computed = ResultOf(op, compute);
  if (first != compute) kernel.convert_first = FindConvert(first, compute);
  if (second != compute) kernel.convert_second = FindConvert(second, compute);
  if (result != computed) kernel.convert_target = FindConvert(computed, result);
  kernel.first_size = SizeOf(first);
  kernel.second_size = SizeOf(second);
  kernel.target_size = SizeOf(result);
  kernel.grain = Grain(op);
  return kernel;
}

void Binary(const BinaryKernel& kernel, const BroadcastPlan<2>& plan, const void* first, const void* second,
            void* target, ThreadPool& pool) {
  const bool converts =
      kernel.convert_first != nullptr || kernel.convert_second != nullptr || kernel.convert_target != nullptr;
  const int64_t first_step = plan.inner_stride(0), second_step = plan.inner_stride(1);
  pool.ParallelFor(plan.count, kernel.grain, [&](int64_t begin, int64_t end) {
    Staging staging;
    ForEachRun(plan, begin, end, [&](int64_t at, const std::array<int64_t, 2>& offsets, int64_t count) {
      const char* x = static_cast<const char*>(first) + static_cast<size_t>(offsets[0]) * kernel.first_size;
      const char* y = static_cast<const char*>(second) + static_cast<size_t>(offsets[1]) * kernel.second_size;
      char* to = static_cast<char*>(target) + static_cast<size_t>(at) * kernel.target_size;
      if (converts)
        RunConverted(kernel, x, first_step, y, second_step, to, count, staging);
      else
        kernel.loop(x, first_step, y, second_step, to, count);
    });
  });
}

bool Where(size_t element_size, const BroadcastPlan<3>& plan, const void* condition, const void* first,
           const void* second, void* target, ThreadPool& pool) {
  return DispatchSize(element_size, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    pool.ParallelFor(plan.count, kGrainElements, [&](int64_t begin, int64_t end) {
      ForEachRun(plan, begin, end, [&](int64_t at, const std::array<int64_t, 3>& offsets, int64_t count) {
        WhereLoop(static_cast<const uint8_t*>(condition) + offsets[0], plan.inner_stride(0),
                  static_cast<const T*>(first) + offsets[1], plan.inner_stride(1),
                  static_cast<const T*>(second) + offsets[2], plan.inner_stride(2), static_cast<T*>(target) + at,
                  count);
      });
    });
  });
}

}  // namespace deputy::host
