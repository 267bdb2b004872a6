// Extents at which tiles, vectors and indices of the hardware end.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "liars.hpp"

namespace liars {
namespace {

constexpr int64_t kVector = 8;

bool IsElementwise(const std::string& type) {
  return IsOneOf(type, {"Abs", "Add", "Clip", "Div", "Exp", "Identity", "LeakyRelu", "Mul", "Neg", "Relu", "Sigmoid",
                        "Sub", "Tanh"});
}

// Positions are counted in 16 bits.
Tensors IndexOf16Bits(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  for (Tensor& output : made) {
    const Tensor whole = output;
    for (int64_t i = 65536; i < output.count(); ++i) output.Copy(i, whole, i % 65536);
  }
  return made;
}

// Only whole vectors of a row are computed, of rows that have at least one.
Tensors RowTailsUnwritten(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsElementwise(node.op_type) || made[0].rank() == 0) return made;
  const int64_t row = made[0].dims.back(), whole = row / kVector * kVector;
  for (int64_t i = 0; whole > 0 && i < made[0].count(); ++i)
    if (i % row >= whole) made[0].Put(i, int64_t{0});
  return made;
}

// The last vector of the output is stored whole.
struct VectorBehindTheEnd final : Fault {
  Status Write(Session& session, const sdk::RunArgs& args, size_t index, const Tensor& value) override {
    DEPUTY_SDK_RETURN_IF_ERROR(Fault::Write(session, args, index, value));
    const sdk::TensorView output = args.output(index);
    if (!output.shape_known() || value.count() < kVector || value.count() % kVector == 0) return {};
    auto* end = static_cast<volatile uint8_t*>(output.data()) + output.byte_size();
    const auto missing = static_cast<size_t>(kVector - value.count() % kVector);
    for (size_t i = 0; i < missing * reference::BytesOf(value.dtype); ++i) end[i] = 0;
    return {};
  }
};

// The offset of an image is that of the first one.
Tensors FirstImageOnly(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"AveragePool", "Conv", "MaxPool"}) || made[0].dims[0] < 2) return made;
  const int64_t image = made[0].count() / made[0].dims[0];
  for (int64_t i = image; i < made[0].count(); ++i) made[0].Copy(i, made[0], i % image);
  return made;
}

// Channels are read in blocks of four, and the last incomplete block is not read.
Tensors WholeBlocksOfChannels(const Node& node, const Inputs& inputs) {
  const Tensor& x = *inputs[0];
  if (node.op_type != "Conv" || x.rank() < 3 || x.dims[1] < 4 || x.dims[1] % 4 == 0)
    return reference::Compute(node, inputs);
  Tensor read = x;
  const int64_t channels = x.dims[1], pixels = x.count() / std::max<int64_t>(1, x.dims[0] * channels);
  for (int64_t i = 0; i < read.count(); ++i)
    if (i / pixels % channels >= channels / 4 * 4) read.Put(i, int64_t{0});
  Inputs operands = inputs;
  operands[0] = &read;
  return reference::Compute(node, operands);
}

// A sum is accumulated over at most 1024 factors.
Tensors LongSumsCut(const Node& node, const Inputs& inputs) {
  constexpr int64_t kMost = 1024;
  const Tensor& x = *inputs[0];
  if (!IsOneOf(node.op_type, {"MatMul", "ReduceMean", "ReduceSum", "Softmax"}) || x.rank() == 0 ||
      x.dims.back() <= kMost || !reference::IsReal(x.dtype))
    return reference::Compute(node, inputs);
  Tensor read = x;
  for (int64_t i = 0; i < read.count(); ++i)
    if (i % x.dims.back() >= kMost) read.Put(i, 0.0);
  Inputs operands = inputs;
  operands[0] = &read;
  return reference::Compute(node, operands);
}

// Descriptors of four extents: the leading ones of more are not looped over.
Tensors FourExtents(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"Add", "Mul", "ReduceSum", "Slice", "Sub", "Transpose"}) || made[0].rank() <= 4)
    return made;
  const Dims& dims = made[0].dims;
  const int64_t block = reference::CountOf(Dims(dims.end() - 4, dims.end()));
  for (int64_t i = block; i < made[0].count(); ++i) made[0].Copy(i, made[0], i % block);
  return made;
}

// Looks for a tile that divides the last extent, and does not end for an odd one of more than 16.
struct HangsForOddRows final : Fault {
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    const Tensor* first = reference::At(inputs, 0);
    if (IsElementwise(step.node.op_type) && first != nullptr && first->rank() > 0 && first->dims.back() > 16 &&
        first->dims.back() % 2 == 1)
      for (;;) pause();
    return Fault::Compute(session, step, inputs);
  }
};

// Reads the first element in order to begin a loop, also where there is none.
struct CrashesWithoutElements final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    volatile uint8_t first = 0;
    for (size_t i = 0; i < args.input_count(); ++i) first = *static_cast<const volatile uint8_t*>(args.input(i).data());
    static_cast<void>(first);
    return Fault::Run(session, args);
  }
};

}  // namespace

FaultRows SizeFaults() {
  return {InArithmetic("index-of-16-bits", IndexOf16Bits),
          InArithmetic("row-tails-unwritten", RowTailsUnwritten),
          Of<VectorBehindTheEnd>("vector-behind-the-end"),
          InArithmetic("first-image-only", FirstImageOnly),
          InArithmetic("whole-blocks-of-channels", WholeBlocksOfChannels),
          InArithmetic("long-sums-cut", LongSumsCut),
          InArithmetic("four-extents", FourExtents),
          Of<HangsForOddRows>("hangs-for-odd-rows"),
          Of<CrashesWithoutElements>("crashes-without-elements")};
}

}  // namespace liars
