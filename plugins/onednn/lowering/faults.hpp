// The list of faults of oneDNN 2.6. The lowering calls these functions and takes another path where an entry applies;
// tests/unit/onednn/faults_test.cpp has a test for each that fails without it. Slow implementations are not listed
// here, and stale data in descriptors of another rank is removed in Reshaped (layout.cpp).
#pragma once

#include <string_view>

#include "program.hpp"

namespace onednn {

// Reference implementations, written for readability. Their post-ops are not used: `simple:any` of resampling reads the
// operand of a binary one at the wrong place unless the tensor is row-major.
bool IsReference(std::string_view implementation);

// The first post-op of an operation that its primitive computes wrongly in every implementation; their number if
// there is none. `result` is the primitive's result, of layout `any` if the primitive chooses it.
//  - Of two functions of one kind in a primitive the second gets the parameters of the first.
//  - Binary primitives compute post-ops wrongly over padded channels and over blocks smaller than a vector.
//  - Binary primitives misread an operand that broadcasts over a tensor of no ordinary order (see below).
//  - Where there is nothing but channels, binary primitives misread an operand per channel and resampling one that has
//    the extents of the result.
size_t FirstMisreadPostOp(const Operation& operation, const Program& program, const memory::desc& result);

// May the result lie where the second operand does? Over padded channels binary primitives clear the result before
// they read that.
bool CanOverwriteSecondOperand(const memory::desc& result);

// May the result of a matrix product lie transposed? Its binary post-ops would read beyond their operands.
bool MayLieTransposed(const Operation& product);

// Row-major, channels last, or in blocks. Over other orders, which transposition makes, PReLU reads and writes other
// elements than it should.
bool HasOrdinaryOrder(const memory::desc& desc);

// The same elements with strides of extents of 1, on which no element depends, as in a row-major tensor. `desc` is
// strided. By other strides of such extents binary primitives take one order for another: they write nothing where a
// single channel has a larger one than the batch, and misread operands where a single image has a smaller one than the
// channels.
memory::desc WithOrdinaryOnes(memory::desc desc);

}  // namespace onednn
