// Delegates that accept little, and faults that show in few of the many forms of an operator.
#include <algorithm>

#include "liars.hpp"

namespace liars {
namespace {

int64_t Columns(const Tensor& tensor) { return tensor.rank() == 0 ? 1 : tensor.dims.back(); }
int64_t Rows(const Tensor& tensor) { return tensor.rank() < 2 ? 1 : tensor.dims[tensor.rank() - 2]; }
int64_t Area(const Tensor& tensor) {
  return tensor.rank() < 3 ? 0 : Columns(tensor) * (tensor.rank() > 3 ? Rows(tensor) : 1);
}

sdk::Verdict Refused() { return sdk::Verdict::No(sdk::Reason::kOther, "the accelerator has no kernel for this form"); }

bool IsFloat32(const sdk::NodeView& node) { return node.input(0).dtype() == sdk::DType::kFloat32; }

// Linear, with aligned corners, by constant factors; the last column of wide images is that in front of it.
struct NarrowResize final : Fault {
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    if (!node.Is("Resize") || !IsFloat32(node)) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    const sdk::op::Resize resize(node.primitive());
    const bool taken = resize.mode() == "linear" && resize.coordinate_transformation_mode() == "align_corners" &&
                       resize.antialias() == 0 && resize.axes().empty() && node.input(0).dims().size() == 4 &&
                       !node.input(3).exists() && node.input(2).is_constant();
    return taken ? honest : Refused();
  }
  Tensors Compute(Session&, const Step& step, const Inputs& inputs) override {
    Tensors made = reference::Compute(step.node, inputs);
    if (Columns(made[0]) < 200) return made;
    const int64_t row = Columns(made[0]);
    for (int64_t i = row - 1; i < made[0].count(); i += row) made[0].Copy(i, made[0], i - 2);
    return made;
  }
};

// Constant weights that are transposed, and a bias for each column; of an odd number of rows the last one has no bias
// behind column 256.
struct NarrowGemm final : Fault {
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    if (!node.Is("Gemm") || !IsFloat32(node)) return sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
    const sdk::op::Gemm gemm(node.primitive());
    const bool taken = gemm.transA() == 0 && gemm.transB() == 1 && gemm.alpha() >= 1 && gemm.alpha() <= 1 &&
                       gemm.beta() >= 1 && gemm.beta() <= 1 && node.input(1).is_constant() && node.input(2).exists() &&
                       node.input(2).is_constant() && node.input(2).dims().size() == 1;
    return taken ? honest : Refused();
  }
  Tensors Compute(Session&, const Step& step, const Inputs& inputs) override {
    Tensors made = reference::Compute(step.node, inputs);
    const int64_t row = Columns(made[0]), rows = Rows(made[0]);
    for (int64_t i = 256; rows % 2 == 1 && i < row; ++i) {
      const int64_t at = (rows - 1) * row + i;
      made[0].Put(at, made[0].Get(at) - inputs[2]->Get(i % inputs[2]->count()));
    }
    return made;
  }
};

// Takes LRN alone; values between the nodes of a partition are those of its first run.
struct NarrowPartition final : Fault {
  sdk::Verdict Answer(const sdk::NodeView& node, sdk::Verdict honest) override {
    return node.Is("LRN") ? honest : sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
  }
  Tensors Compute(Session& session, const Step& step, const Inputs& inputs) override {
    Tensors made = reference::Compute(step.node, inputs);
    if (session.program().IsOutput(step.outputs[0])) return made;
    return {session.state.values.emplace(step.outputs[0], made[0]).first->second};
  }
};

// A written axis of -1 is the second of four.
Tensors AxisOfFour(const Node& node, const Inputs& inputs) {
  if (!IsOneOf(node.op_type, {"LayerNormalization", "LogSoftmax", "Softmax"}) || inputs[0]->rank() != 4 ||
      node.attributes.count("axis") == 0 || node.Int("axis", 0) != -1 || node.since_version < 13)
    return reference::Compute(node, inputs);
  Node taken_for = node;
  taken_for.attributes["axis"] = reference::Attribute::Int(node.op_type == "LayerNormalization" ? 3 : 1);
  return Mistaken(node, taken_for, inputs);
}

// Two rows at a time; of an odd number the last one is computed in the columns of one tile.
Tensors OddRowsOfWideColumns(const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  const int64_t row = Columns(made[0]);
  if (!IsOneOf(node.op_type, {"Gemm", "MatMul"}) || Rows(made[0]) % 2 == 0 || row <= 256) return made;
  for (int64_t i = made[0].count() - row + 256; i < made[0].count(); ++i) made[0].Put(i, 0.0);
  return made;
}

// Positions in an image have 15 bits, or 16: those behind are the first ones again.
Tensors PositionsOf(int64_t most, const Node& node, const Inputs& inputs) {
  Tensors made = reference::Compute(node, inputs);
  if (!IsOneOf(node.op_type, {"AveragePool", "Conv", "MaxPool", "Relu", "Resize", "Softmax"})) return made;
  const int64_t area = Area(made[0]);
  for (int64_t i = 0; area > most && i < made[0].count(); ++i)
    if (i % area >= most) made[0].Copy(i, made[0], i - i % area + i % area % most);
  return made;
}
Tensors PositionsOf15Bits(const Node& node, const Inputs& inputs) { return PositionsOf(32768, node, inputs); }
Tensors PositionsOf16Bits(const Node& node, const Inputs& inputs) { return PositionsOf(65536, node, inputs); }

// Their first bytes, all but the last, or a sum.
struct WeightsByPrefix final : PackedWeights {
  std::string KeyOf(const Tensor& weights) const override {
    const std::vector<uint8_t> bytes = reference::Encode(weights);
    return std::string(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(std::min<size_t>(bytes.size(), 32)));
  }
};
struct WeightsButTheLast final : PackedWeights {
  std::string KeyOf(const Tensor& weights) const override {
    const std::vector<uint8_t> bytes = reference::Encode(weights);
    return std::string(bytes.begin(), bytes.end() - (bytes.size() > 4 ? 4 : 0));
  }
};
struct WeightsBySum final : PackedWeights {
  std::string KeyOf(const Tensor& weights) const override {
    uint64_t sum = 0;
    for (const uint8_t byte : reference::Encode(weights)) sum += byte;
    return std::to_string(sum);
  }
};

}  // namespace

FaultRows NarrowFaults() {
  return {Of<NarrowResize>("narrow-resize"),
          Of<NarrowGemm>("narrow-gemm"),
          Of<NarrowPartition>("narrow-partition"),
          InArithmetic("axis-of-four", AxisOfFour),
          InArithmetic("odd-rows-of-wide-columns", OddRowsOfWideColumns),
          InArithmetic("positions-of-15-bits", PositionsOf15Bits),
          InArithmetic("positions-of-16-bits", PositionsOf16Bits),
          Of<WeightsByPrefix>("weights-by-prefix"),
          Of<WeightsButTheLast>("weights-but-the-last"),
          Of<WeightsBySum>("weights-by-sum")};
}

}  // namespace liars
