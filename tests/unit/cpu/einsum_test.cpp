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
            "extents 3 and 2 of one label differ");
}

TEST(Einsum, EquationsThatAreNoneAreRefused) {
  const auto failure = [](const char* equation) {
    return TryRunNode(MakeEinsum, Einsum(equation), {Counting({2, 2})}).status().message();
  };
  EXPECT_EQ(failure("i1->i"), "the equation 'i1->i' has a '1'");
  EXPECT_EQ(failure("ij->k"), "the equation 'ij->k' has a label in its result that no operand has");
  EXPECT_EQ(failure("i..j"), "the equation 'i..j' has dots other than '...'");
  EXPECT_EQ(failure("ijk"), "operand 0 has rank 2, the equation names 3 axes");
  EXPECT_EQ(failure("i,j"), "the equation has 2 operands, the node 1");
}

TEST(Einsum, SmallIntegersWrap) {
  const std::vector<Tensor> out =
      RunNode(MakeEinsum, Einsum("i,i->"), {TensorOf<int8_t>({2}, {100, 2}), TensorOf<int8_t>({2}, {2, 3})});
  EXPECT_EQ(ValuesOf<int8_t>(out[0]), (std::vector<int8_t>{-50}));
}

}  // namespace
}  // namespace deputy::host
