#include "kernels/linalg/linalg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/linalg/level.hpp"

namespace deputy::host::linalg {
namespace {

// Forces one instruction set; levels that this machine lacks are not in the list of parameters.
class LinalgTest : public ::testing::TestWithParam<Level> {
 protected:
  void SetUp() override { ASSERT_TRUE(Select(GetParam())); }
  void TearDown() override { Select(before_); }

 private:
  Level before_ = ActiveLevel();
};

std::vector<Level> AvailableLevels() {
  std::vector<Level> levels;
  for (const Level level : {Level::kBaseline, Level::kV3, Level::kV4})
    if (Available(level)) levels.push_back(level);
  return levels;
}

INSTANTIATE_TEST_SUITE_P(Levels, LinalgTest, ::testing::ValuesIn(AvailableLevels()),
                         [](const auto& level) { return std::string(NameOf(level.param)); });

template <class T>
struct Problem {
  GemmArgs<T> args;
  std::vector<T> a, b, c;

  Problem(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, int64_t gap, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    args.m = m;
    args.n = n;
    args.k = k;
    args.transpose_a = transpose_a;
    args.transpose_b = transpose_b;
    args.lda = (transpose_a ? m : k) + gap;
    args.ldb = (transpose_b ? k : n) + gap;
    args.ldc = n + gap;
    a.resize(static_cast<size_t>((transpose_a ? k : m) * args.lda));
    b.resize(static_cast<size_t>((transpose_b ? n : k) * args.ldb));
    c.resize(static_cast<size_t>(m * args.ldc));
    for (auto* matrix : {&a, &b, &c})
      for (T& value : *matrix) value = static_cast<T>(values(random));
    args.a = a.data();
    args.b = b.data();
    args.c = c.data();
  }

  std::vector<T> Expected() const {
    std::vector<T> result = c;
    for (int64_t i = 0; i < args.m; ++i)
      for (int64_t j = 0; j < args.n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < args.k; ++p) {
          const int64_t at_a = args.transpose_a ? p * args.lda + i : i * args.lda + p;
          const int64_t at_b = args.transpose_b ? j * args.ldb + p : p * args.ldb + j;
          sum += static_cast<double>(a[static_cast<size_t>(at_a)]) * static_cast<double>(b[static_cast<size_t>(at_b)]);
        }
        T& value = result[static_cast<size_t>(i * args.ldc + j)];
        const double old = args.beta == T(0) ? 0 : static_cast<double>(args.beta) * static_cast<double>(value);
        value = static_cast<T>(static_cast<double>(args.alpha) * sum + old);
      }
    return result;
  }
};

template <class T>
void ExpectProduct(Problem<T>& problem) {
  const std::vector<T> expected = problem.Expected();
  Gemm(problem.args);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(problem.c[i], expected[i], 1e-4) << "element " << i;
}

TEST_P(LinalgTest, ProductsOfManyShapesAgreeWithTheDefinition) {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 7, 16, 33, 100};
  uint32_t seed = 1;
  for (const int64_t m : kSizes)
    for (const int64_t n : kSizes)
      for (const int64_t k : {1, 5, 48, 130}) {
        ++seed;
        SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k << ", seed " << seed);
        Problem<float> problem(m, n, k, (seed & 1) != 0, (seed & 2) != 0, seed % 3, seed);
        ExpectProduct(problem);
      }
}

TEST_P(LinalgTest, ProductOfDoubles) {
  Problem<double> problem(40, 30, 50, false, true, 1, 7);
  ExpectProduct(problem);
}

TEST_P(LinalgTest, AlphaAndBetaScaleBothParts) {
  for (const int64_t m : {1, 20}) {
    Problem<float> problem(m, 24, 18, false, false, 0, 3);
    problem.args.alpha = -0.5f;
    problem.args.beta = 2;
    ExpectProduct(problem);
  }
}

TEST_P(LinalgTest, BetaOfZeroDoesNotReadC) {
  for (const int64_t m : {1, 20}) {
    Problem<float> problem(m, 24, 18, false, false, 0, 3);
    const std::vector<float> expected = problem.Expected();
    for (float& value : problem.c) value = std::nanf("");
    Gemm(problem.args);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(problem.c[i], expected[i], 1e-4);
  }
}

TEST_P(LinalgTest, ProductOverNothingLeavesBetaTimesC) {
  Problem<float> problem(3, 4, 0, false, false, 0, 3);
  problem.args.beta = 0.5f;
  const std::vector<float> before = problem.c;
  Gemm(problem.args);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(problem.c[i], before[i] * 0.5f);
}

TEST_P(LinalgTest, GapsBetweenRowsOfCStayAsTheyAre) {
  Problem<float> problem(8, 20, 30, false, false, 3, 5);
  const std::vector<float> before = problem.c;
  Gemm(problem.args);
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 20; j < 23; ++j)
      EXPECT_EQ(problem.c[static_cast<size_t>(i * 23 + j)], before[static_cast<size_t>(i * 23 + j)]);
}

TEST_P(LinalgTest, SumOfTapsAgreesWithTheDefinition) {
  std::vector<float> x(400);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8;
  const int64_t offsets[] = {0, 3, 50};
  const float weights[] = {0.5f, -2, 3};
  for (int64_t count = 1; count <= 70; ++count) {
    TapsArgs<float> args;
    args.rows = 2;
    args.count = count;
    args.taps = 3;
    args.x = x.data();
    args.x_step = 90;
    args.offsets = offsets;
    args.weights = weights;
    args.bias = 1;
    std::vector<float> y(static_cast<size_t>(2 * count + 1), -99);
    args.y = y.data();
    args.y_step = count;
    SumTaps(args);
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t i = 0; i < count; ++i) {
        float expected = 1;
        for (size_t t = 0; t < 3; ++t) expected += weights[t] * x[static_cast<size_t>(r * 90 + offsets[t] + i)];
        ASSERT_FLOAT_EQ(y[static_cast<size_t>(r * count + i)], expected) << count << " elements, row " << r;
      }
    ASSERT_EQ(y.back(), -99);
  }
}

TEST(LinalgLevel, BaselineIsAlwaysThere) { EXPECT_TRUE(Available(Level::kBaseline)); }

TEST(LinalgLevel, TheBestAvailableLevelIsChosen) { EXPECT_EQ(ActiveLevel(), AvailableLevels().back()); }

}  // namespace
}  // namespace deputy::host::linalg
