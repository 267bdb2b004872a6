// The operators whose result depends on what elements are, each as a node would run.
#include <cmath>

#include "unit/cpu/run_node.hpp"

namespace deputy::host {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

TEST(TopK, EqualElementsStandInTheirOrder) {
  const std::vector<Tensor> out =
      RunNode(MakeTopK, PrimitiveBuilder("", "TopK", 11),
              {TensorOf<float>({5}, {1, 3, 3, 2, 3}), TensorOf<int64_t>({1}, {4})}, {.outputs = 2});
  EXPECT_EQ(ValuesOf<float>(out[0]), (Floats{3, 3, 3, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{1, 2, 4, 3}));
}

TEST(TopK, NotANumberIsTheLargest) {
  const std::vector<Tensor> out =
      RunNode(MakeTopK, PrimitiveBuilder("", "TopK", 11),
              {TensorOf<float>({3}, {1, NAN, INFINITY}), TensorOf<int64_t>({1}, {3})}, {.outputs = 2});
  EXPECT_EQ(ValuesOf<int64_t>(out[1]), (Ints{1, 2, 0}));
}

TEST(NonZero, PositionsStandInColumns) {
  const std::vector<Tensor> out =
      RunNode(MakeNonZero, PrimitiveBuilder("", "NonZero", 13), {TensorOf<float>({2, 2}, {1, -0.0f, 2, 3})});
  EXPECT_EQ(out[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 1, 1, 0, 0, 1}));
}

TEST(ScatterElements, UpdatesThatDoNotFitAreRefused) {
  EXPECT_EQ(Failure(MakeScatterElements, PrimitiveBuilder("", "ScatterElements", 18),
                    {TensorOf<float>({2}, {1, 2}), TensorOf<int64_t>({1}, {0}), TensorOf<float>({2}, {3, 4})}),
            "input 'updates' has shape [2], expected [1]");
}

TEST(NonMaxSuppression, CornersMayBeSwappedAndEqualScoresKeepTheirOrder) {
  const std::vector<Tensor> out =
      RunNode(MakeNonMaxSuppression, PrimitiveBuilder("", "NonMaxSuppression", 11),
              {TensorOf<float>({1, 3, 4}, {1, 1, 0, 0, 0, 0, 1, 1, 5, 5, 6, 6}), TensorOf<float>({1, 1, 3}, {1, 1, 1}),
               TensorOf<int64_t>({1}, {3}), TensorOf<float>({1}, {0.5f})});
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (Ints{0, 0, 0, 0, 0, 2}));
}

}  // namespace
}  // namespace deputy::host
