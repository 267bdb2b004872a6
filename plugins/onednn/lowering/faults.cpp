#include "lowering/faults.hpp"

#include <algorithm>

namespace onednn {
namespace {

bool IsSecondOfItsKind(const Operation& operation, size_t index) {
  const PostOp& second = operation.post_ops[index];
  if (second.operand != kNoValue) return false;
  return std::any_of(operation.post_ops.begin(), operation.post_ops.begin() + static_cast<std::ptrdiff_t>(index),
                     [&](const PostOp& first) {
                       return first.operand == kNoValue && first.algorithm == second.algorithm &&
                              (first.alpha != second.alpha || first.beta != second.beta);
                     });
}

bool IsOverPartsOfVectors(const Operation& operation, const memory::desc& result) {
  if (operation.As<Binary>() == nullptr || (operation.integers && operation.integers->result)) return false;
  constexpr int64_t kVector = 16;
  const auto& blocking = result.data.format_desc.blocking;
  return IsPadded(result) || (blocking.inner_nblks > 0 && blocking.inner_blks[0] < kVector);
}

bool BroadcastsOverAnotherOrder(const Operation& operation, const Program& program, const memory::desc& result,
                                size_t index) {
  const Value operand = operation.post_ops[index].operand;
  if (operand == kNoValue || operation.As<Binary>() == nullptr || HasOrdinaryOrder(result)) return false;
  const int64_t count = CountOf(program.dims(operand));
  return count != 1 && count != CountOf(result.dims());
}

bool IsOverChannelsAlone(const Operation& operation, const Program& program, const memory::desc& result, size_t index) {
  const Value operand = operation.post_ops[index].operand;
  const memory::dims dims = result.dims();
  if (operand == kNoValue || dims.size() < 3 || CountOf(memory::dims(dims.begin() + 2, dims.end())) != 1) return false;
  const int64_t count = CountOf(program.dims(operand));
  if (operation.As<Resample>() != nullptr) return count == CountOf(dims);
  if (operation.As<Binary>() == nullptr || (operation.integers && operation.integers->result)) return false;
  return count != 1 && count != CountOf(dims);
}

}  // namespace

bool IsReference(std::string_view implementation) {
  const auto begins = [&](std::string_view word) { return implementation.substr(0, word.size()) == word; };
  return begins("simple") || implementation.find("ref") != std::string_view::npos;  // "ref:any", "lrn_ref:any"
}

size_t FirstMisreadPostOp(const Operation& operation, const Program& program, const memory::desc& result) {
  for (size_t i = 0; i < operation.post_ops.size(); ++i)
    if (IsSecondOfItsKind(operation, i) || IsOverPartsOfVectors(operation, result) ||
        BroadcastsOverAnotherOrder(operation, program, result, i) || IsOverChannelsAlone(operation, program, result, i))
      return i;
  return operation.post_ops.size();
}

bool CanOverwriteSecondOperand(const memory::desc& result) { return !IsPadded(result); }

bool MayLieTransposed(const Operation& product) {
  return std::none_of(product.post_ops.begin(), product.post_ops.end(),
                      [](const PostOp& post_op) { return post_op.operand != kNoValue; });
}

bool HasOrdinaryOrder(const memory::desc& desc) { return !IsStrided(desc) || IsPlain(desc) || IsChannelsLast(desc); }

memory::desc WithOrdinaryOnes(memory::desc desc) {
  dnnl_memory_desc_t& data = desc.data;
  auto& strides = data.format_desc.blocking.strides;
  for (int i = data.ndims - 1; i >= 0; --i) {
    if (data.dims[i] != 1) continue;
    strides[i] = 1;
    for (int j = i + 1; j < data.ndims; ++j) strides[i] = std::max(strides[i], strides[j] * data.dims[j]);
  }
  return desc;
}

}  // namespace onednn
