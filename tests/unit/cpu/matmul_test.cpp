// MatMul and Gemm, each as a node would run.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

PrimitiveBuilder MatMul() { return PrimitiveBuilder("", "MatMul", 13); }
PrimitiveBuilder Gemm() { return PrimitiveBuilder("", "Gemm", 13); }

TEST(MatMulOnCpu, Float16IsComputedInFloat32) {
  const auto y = RunNode(MakeMatMul, MatMul(),
                         {TensorOf<Half>({1, 3}, {ToHalf(2048.0f), ToHalf(1.0f), ToHalf(1.0f)}),
                          TensorOf<Half>({3, 1}, {ToHalf(1.0f), ToHalf(1.0f), ToHalf(1.0f)})});
  EXPECT_EQ(ToFloat(y[0].values<Half>()[0]), 2050.0f);
}

// A batch of more rows than the kernel reads with the matrix as it is stored.
TEST(MatMulOnCpu, ConstantMatricesGiveTheSameAsOthers) {
  std::vector<float> a(3 * 5 * 40), b(40 * 21);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) / 4 - 1;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) / 4 - 1;
  const std::vector<Tensor> inputs = {TensorOf<float>({3, 5, 40}, a), TensorOf<float>({40, 21}, b)};
  const auto expected = RunNode(MakeMatMul, MatMul(), inputs);
  for (const bool hidden : {false, true}) {
    const auto y = RunNode(MakeMatMul, MatMul(), inputs, {.constants = {1}, .hide_shapes = hidden});
    EXPECT_EQ(ValuesOf<float>(y[0]), ValuesOf<float>(expected[0]));
  }
}

TEST(GemmOnCpu, ConstantMatricesGiveTheSameAsOthers) {
  std::vector<float> a(20 * 40), b(40 * 21), c(21, 0.5f);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) / 4 - 1;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 11) / 4 - 1;
  const std::vector<Tensor> inputs = {TensorOf<float>({20, 40}, a), TensorOf<float>({21, 40}, b),
                                      TensorOf<float>({21}, c)};
  const PrimitiveBuilder gemm = Gemm().Set("transB", int64_t{1}).Set("alpha", 0.5f);
  const auto y = RunNode(MakeGemm, gemm, inputs, {.constants = {1}});
  EXPECT_EQ(ValuesOf<float>(y[0]), ValuesOf<float>(RunNode(MakeGemm, gemm, inputs)[0]));
}

TEST(MatMulOnCpu, BoolIsNotSupported) {
  EXPECT_EQ(TryRunNode(MakeMatMul, MatMul(),
                       {Tensor::Allocate(DType::kBool, {1, 1}).value(), Tensor::Allocate(DType::kBool, {1, 1}).value()})
                .status()
                .code(),
            StatusCode::kNotSupported);
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
