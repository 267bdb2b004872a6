#include <gtest/gtest.h>

#include "graph/graph.hpp"

namespace deputy::host {
namespace {

TEST(TypeNotation, KindAndElementTypeComeBack) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kBool, DType::kBFloat16})
    for (const ValueKind kind :
         {ValueKind::kTensor, ValueKind::kSequence, ValueKind::kOptionalTensor, ValueKind::kOptionalSequence}) {
      const std::string text = NotationOf({dtype, false, {}, kind});
      const Result<ValueType> type = ParseNotation(text);
      ASSERT_TRUE(type.ok()) << text;
      EXPECT_EQ(type->dtype, dtype) << text;
      EXPECT_EQ(type->kind, kind) << text;
    }
}

TEST(TypeNotation, IsThatOfOnnx) {
  EXPECT_EQ(NotationOf({DType::kFloat32, false, {}, ValueKind::kSequence}), "seq(tensor(float))");
  EXPECT_EQ(NotationOf({DType::kFloat64, false, {}, ValueKind::kOptionalTensor}), "optional(tensor(double))");
}

TEST(TypeNotation, WhatIsNoTypeIsRefused) {
  for (const char* text :
       {"", "seq", "seq()", "tensor(float", "tensor()", "tensor(float32)", "tensor(unknown)",
        "map(int64,tensor(float))", "seq(seq(tensor(float)))", "seq(optional(tensor(float)))", "optional(float)"})
    EXPECT_EQ(ParseNotation(text).status().code(), StatusCode::kModel) << text;
}

}  // namespace
}  // namespace deputy::host
