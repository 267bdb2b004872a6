// The operators of com.microsoft on floats, but for attention, each as a node would run. More numbers of ONNX Runtime
// are drawn and compared by tests/integration/microsoft_operators_test.py.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

TEST(MicrosoftQuickGelu, HasAFactorOfItsOwn) {
  const PrimitiveBuilder builder = PrimitiveBuilder("com.microsoft", "QuickGelu", 1).Set("alpha", 0.5f);
  const std::vector<Tensor> out =
      RunNode(MakeMicrosoft_QuickGelu, builder, {TensorOf<float>({4}, {-1.25f, 0.5f, -0.5f, 1.25f})});
  EXPECT_EQ(out[0].shape(), (Shape{4}));
  ExpectFloats(out[0], {-0.43580645f, 0.28108823f, -0.21891175f, 0.81419355f});
}

TEST(MicrosoftMatMulNBits, RefusesThreeBitsAndPackedWeightsByName) {
  const PrimitiveBuilder plain = PrimitiveBuilder("com.microsoft", "MatMulNBits", 1)
                                     .Set("K", int64_t{16})
                                     .Set("N", int64_t{1})
                                     .Set("block_size", int64_t{16});
  const std::vector<Tensor> inputs = {*Tensor::Allocate(DType::kFloat32, {1, 16}),
                                      *Tensor::Allocate(DType::kUint8, {1, 1, 8}),
                                      *Tensor::Allocate(DType::kFloat32, {1, 1})};
  for (const char* name : {"bits", "weight_prepacked"}) {
    const Status status =
        TryRunNode(MakeMicrosoft_MatMulNBits, PrimitiveBuilder(plain).Set(name, int64_t{3}), inputs).status();
    EXPECT_EQ(status.code(), StatusCode::kNotSupported);
    EXPECT_NE(status.ToString().find(name), std::string::npos) << status.ToString();
  }
}

TEST(MicrosoftFusedGemm, RefusesAnActivationItDoesNotKnowByName) {
  const std::vector<Tensor> inputs = {TensorOf<float>({1, 1}, {1}), TensorOf<float>({1, 1}, {1})};
  const Status status = TryRunNode(MakeMicrosoft_FusedGemm,
                                   PrimitiveBuilder("com.microsoft", "FusedGemm", 1).Set("activation", "Cosh"), inputs)
                            .status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_NE(status.ToString().find("Cosh"), std::string::npos) << status.ToString();
}

TEST(MicrosoftEmbedLayerNormalization, AWordOutsideOfItsTableIsAnError) {
  const Tensor row = TensorOf<float>({1, 2}, {1, 2}), vector = TensorOf<float>({2}, {1, 2});
  const Status status =
      TryRunNode(MakeMicrosoft_EmbedLayerNormalization, PrimitiveBuilder("com.microsoft", "EmbedLayerNormalization", 1),
                 {TensorOf<int32_t>({1, 1}, {-1}), kNoInput, row, row, kNoInput, vector, vector})
          .status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host
