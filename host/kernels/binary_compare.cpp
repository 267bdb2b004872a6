// Comparison and logic of two elements; both give bool.
#include <functional>

#include "kernels/binary_loop.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

// Results are bytes, so that no loop forms a bool from memory with other values than 0 and 1.
template <class Predicate, class T>
struct Compare {
  uint8_t operator()(T x, T y) const { return Predicate()(x, y) ? 1 : 0; }
};

struct And {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) & (y != 0)); }
};
struct Or {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) | (y != 0)); }
};
struct Xor {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) ^ (y != 0)); }
};
struct SameTruth {
  uint8_t operator()(uint8_t x, uint8_t y) const { return static_cast<uint8_t>((x != 0) == (y != 0)); }
};

template <template <class> class Predicate>
BinaryLoop FindCompare(DType dtype) {
  BinaryLoop found = nullptr;
  DispatchNumeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    found = RunBinaryLoop<Compare<Predicate<T>, T>, T>;
  });
  return found;
}

}  // namespace

BinaryLoop FindComparisonLoop(BinaryOp op, DType dtype) {
  const bool is_bool = dtype == DType::kBool;
  switch (op) {
    case BinaryOp::kAnd: return is_bool ? RunBinaryLoop<And, uint8_t> : nullptr;
    case BinaryOp::kOr: return is_bool ? RunBinaryLoop<Or, uint8_t> : nullptr;
    case BinaryOp::kXor: return is_bool ? RunBinaryLoop<Xor, uint8_t> : nullptr;
    case BinaryOp::kEqual: return is_bool ? RunBinaryLoop<SameTruth, uint8_t> : FindCompare<std::equal_to>(dtype);
    case BinaryOp::kGreater: return FindCompare<std::greater>(dtype);
    case BinaryOp::kGreaterOrEqual: return FindCompare<std::greater_equal>(dtype);
    case BinaryOp::kLess: return FindCompare<std::less>(dtype);
    case BinaryOp::kLessOrEqual: return FindCompare<std::less_equal>(dtype);
    default: return nullptr;
  }
}

}  // namespace deputy::host
