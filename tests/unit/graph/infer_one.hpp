// Infers one node from the types of its inputs and the values of those that are known, without a graph around it.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/inference.hpp"
#include "graph/inference/partial.hpp"

namespace deputy::host {

struct Operand {
  ValueType type;
  Tensor constant;
  bool left_out = false;
  std::optional<PartialInts> partial = {};
};

inline Operand Typed(std::vector<int64_t> dims, DType dtype = DType::kFloat32) { return {{dtype, true, dims}, {}}; }
inline Operand Unranked(DType dtype = DType::kFloat32) { return {{dtype, false, {}}, {}}; }
inline Operand LeftOut() { return {{}, {}, true}; }
// A known list of int64.
inline Operand Known(const std::vector<int64_t>& values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return {{DType::kInt64, true, shape},
          Tensor::FromValues<int64_t>(DType::kInt64, shape, std::span<const int64_t>(values)).value()};
}
// A list of int64 of which not every element is known.
inline Operand KnownInts(const std::vector<PartialInt>& elements) {
  return {{DType::kInt64, true, {static_cast<int64_t>(elements.size())}}, {}, false, PartialInts{false, elements}};
}
template <class T>
Operand KnownScalar(DType dtype, T value) {
  return {{dtype, true, {}}, Tensor::FromValues<T>(dtype, {}, std::span<const T>(&value, 1)).value()};
}

// The extents of the symbol N in types.
inline constexpr int64_t kN = SymbolDim(0);

inline Result<std::vector<ValueType>> TryInfer(const PrimitiveBuilder& builder, const std::vector<Operand>& operands,
                                               size_t outputs = 1) {
  Node node;
  node.primitive = builder.Finish();
  std::vector<ValueType> types;
  std::vector<Tensor> constants;
  std::vector<const PartialInts*> partial;
  for (const Operand& operand : operands) {
    partial.push_back(operand.partial ? &*operand.partial : nullptr);
    node.inputs.push_back(operand.left_out ? kNone : static_cast<ValueId>(types.size()));
    types.push_back(operand.type);
    constants.push_back(operand.constant);
  }
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(types.size() + i));
  InferenceContext context(node, types, constants, partial);
  DEPUTY_RETURN_IF_ERROR(InferNode(context));
  return context.outputs();
}

inline std::vector<ValueType> Infer(const PrimitiveBuilder& builder, const std::vector<Operand>& operands,
                                    size_t outputs = 1) {
  Result<std::vector<ValueType>> types = TryInfer(builder, operands, outputs);
  if (types.ok()) return std::move(types).value();
  ADD_FAILURE() << types.status().ToString();
  return std::vector<ValueType>(outputs);
}

// Extents of the only output.
inline std::vector<int64_t> InferDims(const PrimitiveBuilder& builder, const std::vector<Operand>& operands) {
  const ValueType type = Infer(builder, operands)[0];
  EXPECT_TRUE(type.ranked);
  return type.dims;
}

// What is said when it cannot be; empty when it can.
inline std::string InferError(const PrimitiveBuilder& builder, const std::vector<Operand>& operands,
                              size_t outputs = 1) {
  const Result<std::vector<ValueType>> types = TryInfer(builder, operands, outputs);
  return types.ok() ? std::string() : types.status().message();
}

}  // namespace deputy::host
