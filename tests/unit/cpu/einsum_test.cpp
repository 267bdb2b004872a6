// Einsum as a node would run. Expected numbers are those of numpy.
#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

PrimitiveBuilder Einsum(const char* equation) {
  return PrimitiveBuilder("", "Einsum", 12).Set("equation", std::string(equation));
}

TEST(Einsum, SmallTermsOfALongSumAddUp) {
  std::vector<float> terms(1001, 1);
  terms[0] = 1e8f;
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeEinsum, Einsum("i->"), {TensorOf<float>({1001}, terms)})[0])[0], 100001000.0f);
}

TEST(Einsum, ExtentsThatClashAreRefused) {
  EXPECT_EQ(TryRunNode(MakeEinsum, Einsum("ij,jk->ik"), {Counting({2, 3}), Counting({2, 2})}).status().message(),
            "axes with the same label have different extents: 3 and 2");
}

TEST(Einsum, EquationsThatAreNoneAreRefused) {
  const auto failure = [](const char* equation) {
    return TryRunNode(MakeEinsum, Einsum(equation), {Counting({2, 2})}).status().message();
  };
  EXPECT_EQ(failure("i1->i"), "equation 'i1->i' has the invalid character '1'");
  EXPECT_EQ(failure("ij->k"), "equation 'ij->k': each output label must be distinct and appear in an input");
  EXPECT_EQ(failure("i..j"), "equation 'i..j' may have dots only as one '...' per term");
  EXPECT_EQ(failure("ijk"), "operand 0 has rank 2, but its equation term has 3 labels");
  EXPECT_EQ(failure("i,j"), "the equation has 2 operands, the node has 1 inputs");
}

TEST(Einsum, SmallIntegersWrap) {
  const std::vector<Tensor> out =
      RunNode(MakeEinsum, Einsum("i,i->"), {TensorOf<int8_t>({2}, {100, 2}), TensorOf<int8_t>({2}, {2, 3})});
  EXPECT_EQ(ValuesOf<int8_t>(out[0]), (std::vector<int8_t>{-50}));
}

TEST(Einsum, ExtentsBesideAZeroMayHaveAnyProduct) {
  const Tensor a = Counting({8}), b = Zeros({int64_t{1} << 20, int64_t{1} << 20, 0});
  const Tensor out = RunNode(
      MakeEinsum, PrimitiveBuilder("", "Einsum", 12).Set("equation", std::string("a,bcz,a,bcz->")), {a, b, a, b})[0];
  EXPECT_EQ(ValuesOf<float>(out), std::vector<float>{0});
}

}  // namespace
}  // namespace deputy::host
