// A random node under construction: its definition, random values and shapes, and the inputs and attributes so far. All
// choices are valid by construction.
#pragma once

#include <string>
#include <vector>

#include "case.hpp"
#include "definitions.hpp"
#include "random/source.hpp"

namespace deputy::conformance {

class Draft : public RandomSource {
 public:
  Draft(const OperatorFacts& facts, uint64_t seed);

  int32_t since() const { return tested_.node.since_version; }
  const std::string& op_type() const { return tested_.node.op_type; }
  // Whether the definition has the attribute.
  bool Has(const std::string& attribute) const;

  // An element type of the definition's main variable; a float type of it; any type of tensors of that time.
  deputy_dtype Type();
  deputy_dtype RealType();
  deputy_dtype AnyType();
  const std::vector<deputy_dtype>& types() const { return definition_->types; }

  // Extents with few elements in total. In one model of twelve extents may be 0.
  reference::Dims Shape(size_t least_rank, size_t most_rank);
  // No extent is 0.
  reference::Dims FullShape(size_t least_rank, size_t most_rank);
  // An axis attribute, also counted from the end where the definition allows that.
  int64_t Axis(size_t rank) { return Axis(rank, since() >= 11); }
  int64_t Axis(size_t rank, bool from_end);
  // Different axes, in any order.
  std::vector<int64_t> Axes(size_t rank, size_t count);
  std::vector<int64_t> Axes(size_t rank, size_t count, bool from_end);
  // A shape that broadcasts to `dims`.
  reference::Dims BroadcastableTo(const reference::Dims& dims);

  // Multiples of 1/32 in [low, high] that every float type holds; whole numbers in the integer types, three times as
  // large, from 0 on in the unsigned ones.
  reference::Tensor Values(deputy_dtype dtype, reference::Dims dims, double low = -2, double high = 2);
  // Whole numbers in [low, high], so that some are equal.
  reference::Tensor Ties(deputy_dtype dtype, reference::Dims dims, int64_t low = -2, int64_t high = 2);
  // With the ends of the type among them; infinities and NaN in floats.
  reference::Tensor Wild(deputy_dtype dtype, reference::Dims dims);
  // Values or, one time in four, Wild.
  reference::Tensor Any(deputy_dtype dtype, reference::Dims dims);
  reference::Tensor Distinct(deputy_dtype dtype, reference::Dims dims);
  // An element type for indices, and positions in [-extent, extent), or [0, extent).
  deputy_dtype IndexType() { return Half() ? DEPUTY_DTYPE_INT64 : DEPUTY_DTYPE_INT32; }
  reference::Tensor Indices(deputy_dtype dtype, reference::Dims dims, int64_t extent, bool from_end);

  // The next input: given at run time or a constant; always one of the two; left out.
  Draft& In(reference::Tensor value);
  Draft& RunTime(reference::Tensor value);
  Draft& Constant(reference::Tensor value);
  Draft& None();
  Draft& Set(const std::string& name, reference::Attribute value);
  // Sets the attribute half of the time, where the definition has it.
  Draft& Maybe(const std::string& name, reference::Attribute value);
  void Outputs(size_t count) { tested_.node.output_count = count; }

  // The node is complete.
  Case Finish();

 private:
  const OperatorFacts& facts_;
  const Definition* definition_;
  bool may_be_empty_;
  Case tested_;
};

constexpr deputy_dtype kF32 = DEPUTY_DTYPE_FLOAT32, kF64 = DEPUTY_DTYPE_FLOAT64, kF16 = DEPUTY_DTYPE_FLOAT16,
                       kI64 = DEPUTY_DTYPE_INT64, kI32 = DEPUTY_DTYPE_INT32, kU8 = DEPUTY_DTYPE_UINT8,
                       kI8 = DEPUTY_DTYPE_INT8, kBool = DEPUTY_DTYPE_BOOL;

using reference::IsUnsigned;
inline reference::Attribute Int(int64_t value) { return reference::Attribute::Int(value); }
inline reference::Attribute Ints(std::vector<int64_t> values) { return reference::Attribute::Ints(std::move(values)); }
inline reference::Attribute Text(std::string value) { return reference::Attribute::String(std::move(value)); }
// A multiple of 1/32.
inline reference::Attribute Number(RandomSource& random, double low, double high) {
  const int64_t steps = random.Between(static_cast<int64_t>(low * 32), static_cast<int64_t>(high * 32));
  return reference::Attribute::Float(static_cast<float>(steps) / 32);
}

}  // namespace deputy::conformance
