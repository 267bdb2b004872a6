#include <algorithm>
#include <set>
#include <string>

#include "case.hpp"

namespace deputy::conformance {
namespace {

const std::set<std::string>& Elementwise() {
  static const auto* const types = new std::set<std::string>{
      "Abs",   "Add",         "Ceil",     "Clip",      "Cos",       "Div",      "Elu",  "Erf",  "Exp",
      "Floor", "HardSigmoid", "Identity", "LeakyRelu", "Mul",       "Neg",      "Relu", "Selu", "Sin",
      "Sub",   "Max",         "Sqrt",     "Sigmoid",   "HardSwish", "Softplus", "Tanh", "Min"};
  return *types;
}
// The first axis of the first input is that of the output, and nothing else depends on it.
const std::set<std::string>& Batched() {
  static const auto* const types = new std::set<std::string>{
      "AveragePool", "BatchNormalization", "Conv",   "Flatten", "Gemm",   "GlobalAveragePool",
      "MaxPool",     "GlobalMaxPool",      "MatMul", "Softmax", "LpPool", "LayerNormalization"};
  return *types;
}
// The last axis of the first input as well.
const std::set<std::string>& Spatial() {
  static const auto* const types = new std::set<std::string>{
      "AveragePool", "Conv", "MaxPool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization", "Softmax"};
  return *types;
}

// The elements of `from` again and again, in another order.
Tensor Filled(const Tensor& from, Dims dims) {
  Tensor made(from.dtype, std::move(dims));
  for (int64_t i = 0; i < made.count(); ++i) made.Copy(i, from, (i * 7 + 3) % from.count());
  return made;
}

}  // namespace

std::vector<Case> OtherShapes(const Case& tested) {
  const std::string& type = tested.node.op_type;
  const bool elementwise = Elementwise().count(type) != 0;
  if ((!elementwise && Batched().count(type) == 0) || tested.inputs.empty()) return {};
  const Operand& first = tested.inputs[0];
  if (!first.present || first.constant || first.value.rank() == 0 || first.value.count() == 0) return {};
  const Dims& old = first.value.dims;
  for (size_t i = 1; i < tested.inputs.size(); ++i) {
    const Operand& operand = tested.inputs[i];
    if (!operand.present) continue;
    const bool follows = elementwise && !operand.constant && operand.value.dims == old;
    if (elementwise && operand.value.rank() != 0 && !follows) return {};
    if (type == "Gemm" && i == 2 && operand.value.rank() > 1) return {};
  }
  if (type == "Gemm" && tested.node.Int("transA", 0) != 0) return {};
  std::vector<Dims> shapes;
  const auto with = [&](size_t axis, int64_t extent) {
    shapes.push_back(old);
    shapes.back()[axis] = extent;
  };
  with(0, 2 * old[0] + 1);
  if (old[0] > 1) with(0, 1);
  const size_t last = old.size() - 1;
  const bool is_image = Spatial().count(type) != 0 && old.size() > 2;
  const bool any_extents = last > 0 && (elementwise || type == "Softmax" || type == "LogSoftmax");
  if (is_image || (elementwise && last > 0)) with(last, old.back() + 3);
  // As many elements as before: a plan for them must not stay.
  if ((any_extents || (is_image && old.size() > 3)) && old[last - 1] != old[last]) {
    shapes.push_back(old);
    std::swap(shapes.back()[last - 1], shapes.back()[last]);
  }
  for (const int64_t factor : {2, 3}) {
    if (!any_extents || old[last] % factor != 0) continue;
    with(last, old[last] / factor);
    shapes.back()[last - 1] *= factor;
    break;
  }
  std::vector<Case> others;
  for (const Dims& dims : shapes) {
    Case other = tested;
    for (Operand& operand : other.inputs)
      if (&operand == other.inputs.data() || (elementwise && operand.present && operand.value.dims == old))
        operand.value = Filled(operand.value, dims);
    other.label = "from " + TextOf(old) + " to " + TextOf(dims);
    others.push_back(std::move(other));
  }
  return others;
}

}  // namespace deputy::conformance
