#include "operators.hpp"

#include <string>

#include "constant.hpp"

namespace sim_npu {

using deputy::sdk::DType;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

namespace {

constexpr Operator kOperators[] = {
    {"Add", CheckBinary, MakeBinary},
    {"AveragePool", CheckPool, MakePool},
    {"BatchNormalization", CheckBatchNormalization, MakeBatchNormalization},
    {"Clip", CheckActivation, MakeActivation},
    {"Concat", CheckConcat, MakeConcat},
    {"Conv", CheckConv, MakeConv},
    {"Flatten", CheckCopy, MakeCopy},
    {"Gemm", CheckMatrix, MakeMatrix},
    {"GlobalAveragePool", CheckGlobalPool, MakeGlobalPool},
    {"GlobalMaxPool", CheckGlobalPool, MakeGlobalPool},
    {"Identity", CheckCopy, MakeCopy},
    {"LeakyRelu", CheckActivation, MakeActivation},
    {"MatMul", CheckMatrix, MakeMatrix},
    {"MaxPool", CheckPool, MakePool},
    {"Mul", CheckBinary, MakeBinary},
    {"Relu", CheckActivation, MakeActivation},
    {"Reshape", CheckCopy, MakeCopy},
    {"Sigmoid", CheckActivation, MakeActivation},
    {"Softmax", CheckSoftmax, MakeSoftmax},
    {"Sub", CheckBinary, MakeBinary},
    {"Tanh", CheckActivation, MakeActivation},
};

// What the device's memory can hold at all: images and matrices of known extents, in a float format.
Verdict CheckTensor(const ValueView& value) {
  const std::string name = "'" + std::string(value.name()) + "'";
  if (value.dtype() != DType::kFloat32 && value.dtype() != DType::kFloat16)
    return Verdict::No(Reason::kDType, name + " is " + NameOf(value.dtype()) + "; the device has float32 and float16");
  if (!value.rank_known()) return Verdict::No(Reason::kShapeDynamic, "the rank of " + name + " is not known");
  if (value.rank() != 2 && value.rank() != 4)
    return Verdict::No(Reason::kRank, name + " has rank " + std::to_string(value.rank()) +
                                          "; the device has matrices and images (2 and 4)");
  if (!value.shape_known()) return Verdict::No(Reason::kShapeDynamic, "the extents of " + name + " are not known");
  if (value.element_count() == 0) return Verdict::No(Reason::kShape, name + " has no elements");
  return Verdict::Yes();
}

}  // namespace

const Operator* FindOperator(const NodeView& node) {
  static constexpr Operator kGate = {"Gate", CheckGate, MakeGate};
  if (node.domain() == kOwnDomain && node.op_type() == kGate.type) return &kGate;
  if (!node.domain().empty()) return nullptr;
  for (const Operator& entry : kOperators)
    if (entry.type == node.op_type()) return &entry;
  return nullptr;
}

Verdict Check(const NodeView& node) {
  const Operator* entry = FindOperator(node);
  if (entry == nullptr) return Verdict::No(Reason::kOperatorUnknown);
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.output(i).exists()) return Verdict::No(Reason::kOther, "only the first output can be computed");
  if (const Verdict made = CheckTensor(node.output(0)); !made.supported()) return made;
  bool activation = false;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const ValueView input = node.input(i);
    if (!input.exists() || input.is_constant()) continue;
    if (const Verdict read = CheckTensor(input); !read.supported()) return read;
    activation = true;
  }
  if (!activation) return Verdict::No(Reason::kOther, "all inputs are constant");
  return entry->check(node);
}

}  // namespace sim_npu
