// Einsum as a node would run. Expected numbers are those of numpy.
#include "unit/cpu/expect_floats.hpp"

namespace deputy::host {
namespace {

PrimitiveBuilder Einsum(const char* equation) {
  return PrimitiveBuilder("", "Einsum", 12).Set("equation", std::string(equation));
}

Tensor Counting(Shape shape) {
  Tensor tensor = Tensor::Allocate(DType::kFloat32, std::move(shape)).value();
  float next = 0;
  for (float& value : tensor.mutable_values<float>()) value = next++;
  return tensor;
}

TEST(Einsum, ProductOfMatricesTransposed) {
  const std::vector<Tensor> out = RunNode(MakeEinsum, Einsum("ij,jk->ki"), {Counting({2, 3}), Counting({3, 4})});
  EXPECT_EQ(out[0].shape(), (Shape{4, 2}));
  ExpectFloats(out[0], {20, 56, 23, 68, 26, 80, 29, 92});
}

TEST(Einsum, WithoutAResultTheLettersStandInTheirOrder) {
  ExpectFloats(RunNode(MakeEinsum, Einsum("ba"), {Counting({2, 3})})[0], {0, 3, 1, 4, 2, 5});
  ExpectFloats(RunNode(MakeEinsum, Einsum("ij, jh"), {Counting({2, 3}), Counting({3, 4})})[0],
               {20, 56, 23, 68, 26, 80, 29, 92});
}

TEST(Einsum, EverythingSummed) {
  const std::vector<Tensor> out = RunNode(MakeEinsum, Einsum("ij,ij->"), {Counting({2, 3}), Counting({2, 3})});
  EXPECT_EQ(out[0].shape(), Shape{});
  ExpectFloats(out[0], {55});
}

TEST(Einsum, SmallTermsOfALongSumAddUp) {
  std::vector<float> terms(1001, 1);
  terms[0] = 1e8f;
  EXPECT_EQ(ValuesOf<float>(RunNode(MakeEinsum, Einsum("i->"), {TensorOf<float>({1001}, terms)})[0])[0], 100001000.0f);
}

TEST(Einsum, DiagonalsAndTraces) {
  ExpectFloats(RunNode(MakeEinsum, Einsum("ii->i"), {Counting({3, 3})})[0], {0, 4, 8});
  ExpectFloats(RunNode(MakeEinsum, Einsum("ii"), {Counting({3, 3})})[0], {12});
}

TEST(Einsum, DotsStandForTheRest) {
  ExpectFloats(RunNode(MakeEinsum, Einsum("...ij->...ji"), {Counting({2, 2, 2})})[0], {0, 2, 1, 3, 4, 6, 5, 7});
}

TEST(Einsum, DotsBroadcast) {
  const std::vector<Tensor> out =
      RunNode(MakeEinsum, Einsum("...ij,...jk->...ik"), {Counting({2, 1, 2, 2}), Counting({3, 2, 2})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3, 2, 2}));
  const std::vector<float> got = ValuesOf<float>(out[0]);
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 4), (std::vector<float>{2, 3, 6, 11}));
  EXPECT_EQ(std::vector<float>(got.end() - 4, got.end()), (std::vector<float>{82, 91, 118, 131}));
}

TEST(Einsum, BatchedProduct) {
  ExpectFloats(RunNode(MakeEinsum, Einsum("bij,bjk->bik"), {Counting({2, 2, 2}), Counting({2, 2, 2})})[0],
               {2, 3, 6, 11, 46, 55, 66, 79});
}

TEST(Einsum, ThreeOperands) {
  ExpectFloats(RunNode(MakeEinsum, Einsum("ab,bc,cd->ad"), {Counting({2, 2}), Counting({2, 2}), Counting({2, 2})})[0],
               {6, 11, 22, 39});
}

TEST(Einsum, Integers) {
  const std::vector<Tensor> out =
      RunNode(MakeEinsum, Einsum("i,j->ij"), {TensorOf<int64_t>({2}, {2, -3}), TensorOf<int64_t>({2}, {5, 7})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (std::vector<int64_t>{10, 14, -15, -21}));
}

TEST(Einsum, ExtentsThatClashAreRefused) {
  EXPECT_EQ(TryRunNode(MakeEinsum, Einsum("ij,jk->ik"), {Counting({2, 3}), Counting({2, 2})}).status().message(),
            "extents 3 and 2 have one label");
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
