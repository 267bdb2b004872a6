#include <gtest/gtest.h>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;

PrimitiveBuilder MatMul() { return PrimitiveBuilder("", "MatMul", 13); }
PrimitiveBuilder Gemm() { return PrimitiveBuilder("", "Gemm", 13); }

Tensor A() { return TensorOf<float>({2, 3}, {1, 2, 3, 4, 5, 6}); }
Tensor B() { return TensorOf<float>({3, 2}, {1, 0, 0, 1, 10, 100}); }
const Floats kProduct = {31, 302, 64, 605};

TEST(MatMulOnCpu, MultipliesMatrices) {
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeMatMul, MatMul(), {A(), B()})[0]), kProduct);
}

TEST(MatMulOnCpu, VectorOnTheLeftIsARow) {
  const auto y = RunNode(MakeMatMul, MatMul(), {TensorOf<float>({3}, {1, 2, 3}), B()});
  EXPECT_EQ(y[0].shape(), (Shape{2}));
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{31, 302}));
}

TEST(MatMulOnCpu, VectorOnTheRightIsAColumn) {
  const auto y = RunNode(MakeMatMul, MatMul(), {A(), TensorOf<float>({3}, {1, 10, 100})});
  EXPECT_EQ(y[0].shape(), (Shape{2}));
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{321, 654}));
}

TEST(MatMulOnCpu, TwoVectorsGiveAScalar) {
  const auto y = RunNode(MakeMatMul, MatMul(), {TensorOf<float>({2}, {1, 2}), TensorOf<float>({2}, {3, 4})});
  EXPECT_EQ(y[0].shape(), Shape{});
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{11}));
}

TEST(MatMulOnCpu, BatchesBroadcast) {
  const auto y =
      RunNode(MakeMatMul, MatMul(), {TensorOf<float>({2, 1, 1, 1}, {1, 2}), TensorOf<float>({3, 1, 1}, {10, 20, 30})});
  EXPECT_EQ(y[0].shape(), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{10, 20, 30, 20, 40, 60}));
}

TEST(MatMulOnCpu, ProductOverNothingIsZero) {
  const auto y =
      RunNode(MakeMatMul, MatMul(),
              {Tensor::Allocate(DType::kFloat32, {2, 0}).value(), Tensor::Allocate(DType::kFloat32, {0, 2}).value()});
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{0, 0, 0, 0}));
}

template <class T>
class MatMulOfType : public ::testing::Test {};
using ProductTypes = ::testing::Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(MatMulOfType, ProductTypes);

TYPED_TEST(MatMulOfType, MultipliesMatrices) {
  const auto y =
      RunNode(MakeMatMul, MatMul(), {TensorOf<TypeParam>({2, 2}, {1, 2, 3, 4}), TensorOf<TypeParam>({2, 1}, {5, 6})});
  EXPECT_EQ(ValuesOf<TypeParam>(y[0]), (std::vector<TypeParam>{17, 39}));
}

TEST(MatMulOnCpu, Float16IsComputedInFloat32) {
  const auto y = RunNode(MakeMatMul, MatMul(),
                         {TensorOf<Half>({1, 3}, {ToHalf(2048.0f), ToHalf(1.0f), ToHalf(1.0f)}),
                          TensorOf<Half>({3, 1}, {ToHalf(1.0f), ToHalf(1.0f), ToHalf(1.0f)})});
  EXPECT_EQ(ToFloat(y[0].values<Half>()[0]), 2050.0f);
}

TEST(MatMulOnCpu, BoolIsNotSupported) {
  EXPECT_EQ(TryRunNode(MakeMatMul, MatMul(),
                       {Tensor::Allocate(DType::kBool, {1, 1}).value(), Tensor::Allocate(DType::kBool, {1, 1}).value()})
                .status()
                .code(),
            StatusCode::kNotSupported);
}

TEST(GemmOnCpu, MultipliesTransposedInputs) {
  const auto y = RunNode(MakeGemm, Gemm().Set("transA", int64_t{1}).Set("transB", int64_t{1}),
                         {TensorOf<float>({3, 2}, {1, 4, 2, 5, 3, 6}), TensorOf<float>({2, 3}, {1, 0, 10, 0, 1, 100})});
  EXPECT_EQ(ValuesOf<float>(y[0]), kProduct);
}

struct BroadcastCase {
  const char* name;
  Shape shape;
  Floats values, expected;
};
class GemmWithC : public ::testing::TestWithParam<BroadcastCase> {};
INSTANTIATE_TEST_SUITE_P(Shapes, GemmWithC,
                         ::testing::Values(BroadcastCase{"Scalar", {}, {2}, {35, 306, 68, 609}},
                                           BroadcastCase{"One", {1}, {2}, {35, 306, 68, 609}},
                                           BroadcastCase{"Row", {2}, {1, 2}, {33, 306, 66, 609}},
                                           BroadcastCase{"RowOfRankTwo", {1, 2}, {1, 2}, {33, 306, 66, 609}},
                                           BroadcastCase{"Column", {2, 1}, {1, 2}, {33, 304, 68, 609}},
                                           BroadcastCase{"Whole", {2, 2}, {1, 2, 3, 4}, {33, 306, 70, 613}}),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST_P(GemmWithC, AddsBetaTimesC) {
  const auto y =
      RunNode(MakeGemm, Gemm().Set("beta", 2.0f), {A(), B(), TensorOf<float>(GetParam().shape, GetParam().values)});
  EXPECT_EQ(ValuesOf<float>(y[0]), GetParam().expected);
}

TEST(GemmOnCpu, AlphaScalesTheProductOnly) {
  const auto y = RunNode(MakeGemm, Gemm().Set("alpha", 2.0f), {A(), B(), TensorOf<float>({1}, {1})});
  EXPECT_EQ(ValuesOf<float>(y[0]), (Floats{63, 605, 129, 1211}));
}

TEST(GemmOnCpu, NegativeFactorsOfUnsignedIntegersWrapAround) {
  const auto y =
      RunNode(MakeGemm, Gemm().Set("alpha", -1.0f), {TensorOf<uint32_t>({1, 1}, {2}), TensorOf<uint32_t>({1, 1}, {3})});
  EXPECT_EQ(y[0].values<uint32_t>()[0], 0u - 6u);
}

TEST(GemmOnCpu, FractionalFactorsOfIntegersAreNotSupported) {
  EXPECT_EQ(
      TryRunNode(MakeGemm, Gemm().Set("alpha", 0.5f), {TensorOf<int32_t>({1, 1}, {2}), TensorOf<int32_t>({1, 1}, {3})})
          .status()
          .code(),
      StatusCode::kNotSupported);
}

}  // namespace
}  // namespace deputy::host
