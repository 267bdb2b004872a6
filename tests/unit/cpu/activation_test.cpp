// Gelu and Shrink, each as a node would run. Expected numbers are those of the ONNX reference implementation.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

Tensor Numbers() { return TensorOf<float>({5}, {-2, -0.5f, 0, 1, 3}); }

TEST(Gelu, ByTheErrorFunction) {
  ExpectFloats(RunNode(MakeGelu, PrimitiveBuilder("", "Gelu", 20), {Numbers()})[0],
               {-0.04550028f, -0.1542688f, 0, 0.8413447f, 2.99595f});
}

TEST(Gelu, ByTheHyperbolicTangent) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Gelu", 20).Set("approximate", std::string("tanh"));
  ExpectFloats(RunNode(MakeGelu, builder, {Numbers()})[0], {-0.04540235f, -0.154286f, 0, 0.841192f, 2.996363f});
}

TEST(Gelu, UnknownApproximationIsRefused) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Gelu", 20).Set("approximate", std::string("erf"));
  EXPECT_EQ(TryRunNode(MakeGelu, builder, {Numbers()}).status().message(), "there is no approximation 'erf'");
}

TEST(Shrink, SmallNumbersVanish) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Shrink", 9).Set("lambd", 0.75f).Set("bias", 0.5f);
  ExpectFloats(RunNode(MakeShrink, builder, {Numbers()})[0], {-1.5f, 0, 0, 0.5f, 2.5f});
}

TEST(Shrink, OfIntegersIsCutOff) {
  const PrimitiveBuilder builder = PrimitiveBuilder("", "Shrink", 9).Set("lambd", 0.75f).Set("bias", 0.5f);
  const Tensor x = TensorOf<int8_t>({4}, {-3, 0, 1, 4});
  EXPECT_EQ(ValuesOf<int8_t>(RunNode(MakeShrink, builder, {x})[0]), (std::vector<int8_t>{-2, 0, 0, 3}));
}

}  // namespace
}  // namespace deputy::host
