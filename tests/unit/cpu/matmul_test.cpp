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
