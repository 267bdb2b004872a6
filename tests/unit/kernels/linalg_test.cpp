#include "kernels/linalg/linalg.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "base/cancellation.hpp"
#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host::linalg {
namespace {

template <class T>
void Multiply(const GemmArgs<T>& args) {
  const size_t bytes = GemmWorkspace(args);
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (bytes / 64 + 1) * 64), std::free);
  Gemm(args, workspace.get());
}

class LinalgTest : public LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, LinalgTest, ::testing::ValuesIn(AvailableLevels()), LevelName);

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
  Multiply(problem.args);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(problem.c[i], expected[i], 1e-4) << "element " << i;
}

// Attention plans for the longest of its sequences.
TEST_P(LinalgTest, ASmallerProductNeedsNoMoreMemory) {
  for (const bool transposed : {false, true}) {
    size_t before = 0;
    for (int64_t k = 1; k < 800; ++k) {
      const Problem<float> problem(64, 64, k, false, transposed, 0, 1);
      EXPECT_GE(GemmWorkspace(problem.args), before) << "at " << k;
      before = GemmWorkspace(problem.args);
    }
  }
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
    Multiply(problem.args);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(problem.c[i], expected[i], 1e-4);
  }
}

TEST_P(LinalgTest, ProductOverNothingLeavesBetaTimesC) {
  Problem<float> problem(3, 4, 0, false, false, 0, 3);
  problem.args.beta = 0.5f;
  const std::vector<float> before = problem.c;
  Multiply(problem.args);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(problem.c[i], before[i] * 0.5f);
}

TEST_P(LinalgTest, GapsBetweenRowsOfCStayAsTheyAre) {
  Problem<float> problem(8, 20, 30, false, false, 3, 5);
  const std::vector<float> before = problem.c;
  Multiply(problem.args);
  for (int64_t i = 0; i < 8; ++i)
    for (int64_t j = 20; j < 23; ++j)
      EXPECT_EQ(problem.c[static_cast<size_t>(i * 23 + j)], before[static_cast<size_t>(i * 23 + j)]);
}

TEST_P(LinalgTest, ProductsDeeperAndWiderThanOneBlockAgreeWithTheDefinition) {
  Problem<float> deep(250, 40, 700, false, true, 1, 11);
  ExpectProduct(deep);
  Problem<float> wide(30, 1100, 200, true, false, 0, 12);
  ExpectProduct(wide);
}

TEST_P(LinalgTest, RowBiasIsAddedToEachRow) {
  for (const int64_t m : {2, 20})
    for (const int64_t n : {1, 24}) {
      Problem<float> problem(m, n, 400, false, false, 0, 3);
      std::vector<float> bias(static_cast<size_t>(m)), expected = problem.Expected();
      for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i / static_cast<size_t>(n)];
      problem.args.row_bias = bias.data();
      Multiply(problem.args);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(problem.c[i], expected[i], 1e-4);
    }
}

// Rows and columns of one matrix are alike: so must be the results, whatever tile and tail they fall into.
TEST_P(LinalgTest, EqualRowsAndColumnsGiveEqualResults) {
  Problem<float> problem(37, 71, 300, false, false, 0, 9);
  for (int64_t i = 0; i < 37; ++i)
    for (int64_t p = 0; p < 300; ++p) problem.a[static_cast<size_t>(i * 300 + p)] = problem.a[static_cast<size_t>(p)];
  for (int64_t p = 0; p < 300; ++p)
    for (int64_t j = 0; j < 71; ++j)
      problem.b[static_cast<size_t>(p * 71 + j)] = problem.b[static_cast<size_t>(p * 71)];
  Multiply(problem.args);
  for (const float value : problem.c) ASSERT_EQ(value, problem.c[0]);
}

TEST_P(LinalgTest, NanAndInfinityReachOnlyTheirRowAndColumn) {
  Problem<float> problem(15, 45, 33, false, false, 0, 9);
  problem.a[7 * 33 + 2] = std::nanf("");
  problem.b[5 * 45 + 44] = HUGE_VALF;
  Multiply(problem.args);
  for (size_t i = 0; i < 15; ++i)
    for (size_t j = 0; j < 45; ++j)
      ASSERT_EQ(std::isfinite(problem.c[i * 45 + j]), i != 7 && j != 44) << i << ", " << j;
}

TEST_P(LinalgTest, RightSideInPanelsGivesTheSame) {
  for (const int64_t m : {1, 3, 29})
    for (const int64_t n : {1, 31, 32, 33, 100}) {
      Problem<float> problem(m, n, 210, false, false, 0, 3);
      const std::vector<float> expected = problem.Expected();
      const int64_t width = PanelWidth<float>(), panels = (n + width - 1) / width;
      std::vector<float> packed(static_cast<size_t>(panels * width * 210), std::nanf(""));
      for (int64_t p = 0; p < 210; ++p)
        for (int64_t j = 0; j < n; ++j)
          packed[static_cast<size_t>((j / width * 210 + p) * width + j % width)] =
              problem.b[static_cast<size_t>(p * n + j)];
      problem.args.b = packed.data();
      problem.args.ldb = width * 210;
      problem.args.b_in_panels = true;
      Multiply(problem.args);
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(problem.c[i], expected[i], 1e-4);
    }
}

TEST_P(LinalgTest, GatheredRowsHaveZerosAroundWhatIsInside) {
  std::vector<float> x(400);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  for (const int64_t stride : {1, 2, 3})
    for (int64_t count = 1; count <= PanelWidth<float>(); ++count)
      for (int64_t first = 0; first <= count; first += 3)
        for (int64_t stop = first; stop <= count; stop += 5) {
          std::vector<float> y(100, -99);
          GatherArgs<float> args;
          args.rows = 2;
          args.count = count;
          args.first = first;
          args.stop = stop;
          args.stride = stride;
          args.from = x.data() - first * stride;  // nothing before the first element inside may be read
          args.from_step = 200;
          args.to = y.data();
          args.to_step = 50;
          GatherRows(args);
          for (int64_t r = 0; r < 2; ++r)
            for (int64_t i = 0; i < 50; ++i) {
              const float inside = static_cast<float>(r * 200 + (i - first) * stride + 1);
              const float expected = i >= count ? -99.0f : i >= first && i < stop ? inside : 0.0f;
              ASSERT_EQ(y[static_cast<size_t>(r * 50 + i)], expected) << count << " by " << stride << ", element " << i;
            }
        }
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

#if defined(__x86_64__)
TEST(LinalgLevel, TheLibrariesOfTheCpusLevelsAreOpened) {
  EXPECT_EQ(Available(Level::kV3), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(Available(Level::kV4), Available(Level::kV3) && __builtin_cpu_supports("avx512bw") &&
                                       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}
#endif

TEST(LinalgLevel, TheBestAvailableLevelIsChosen) { EXPECT_EQ(ActiveLevel(), AvailableLevels().back()); }

TEST_P(LinalgTest, ALongProductEndsBetweenTwoOfItsBlocks) {
  Problem<float> problem(1000, 100, 300, false, false, 0, 1);
  const std::vector<float> expected = problem.Expected(), before = problem.c;
  int asked = 0;
  problem.args.ends = [](void* self) { return ++*static_cast<int*>(self) == 3; };
  problem.args.ends_self = &asked;
  Multiply(problem.args);
  EXPECT_EQ(asked, 3);
  EXPECT_NEAR(problem.c.front(), expected.front(), 100);  // a part of the sum, or all of it
  EXPECT_NE(problem.c.front(), before.front());
  EXPECT_EQ(problem.c.back(), before.back());
  asked = 3;  // never
  Multiply(problem.args);
  EXPECT_NEAR(problem.c.back(), expected.back(), 1e-3);
}

template <class T>
bool IsComputed(int64_t m) {
  Problem<T> problem(m, 300, 400, false, false, 0, 2);
  const T before = problem.c.back();
  Multiply(problem.args);
  return problem.c.back() != before;
}

TEST_P(LinalgTest, ALongProductOfARunThatHasToEndIsLeftOut) {
  const std::atomic<uint64_t> cancelled{1};
  const CancellationToken stop{0, &cancelled};
  {
    CancellationScope scope(&stop);
    EXPECT_TRUE(IsComputed<float>(10));  // soon done
    EXPECT_FALSE(scope.stopped());
    EXPECT_FALSE(IsComputed<float>(1000));
    EXPECT_FALSE(IsComputed<double>(1000));
    EXPECT_TRUE(scope.stopped());
  }
  EXPECT_TRUE(IsComputed<float>(1000));
  const CancellationToken endless{0, nullptr};
  const CancellationScope scope(&endless);
  EXPECT_TRUE(IsComputed<float>(1000));
}

}  // namespace
}  // namespace deputy::host::linalg
