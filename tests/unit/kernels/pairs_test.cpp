// Products of pairs of 16-bit integers, against sums of 64 bits.
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "kernels/linalg/linalg.hpp"
#include "kernels/quantize.hpp"
#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host::linalg {
namespace {

class PairsTest : public LevelTest {};
INSTANTIATE_TEST_SUITE_P(Levels, PairsTest, ::testing::ValuesIn(AvailableLevels()), LevelName);

struct Extents {
  int64_t m, n, k;
};

std::vector<int16_t> Draw(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int16_t> values(static_cast<size_t>(count));
  for (int16_t& value : values) value = static_cast<int16_t>(static_cast<int>(random() % 511) - 255);
  return values;
}

// rows x columns, `by_rows`: neighbours in a row are a pair, otherwise in a column.
std::vector<Int16Pair> Paired(const std::vector<int16_t>& values, int64_t rows, int64_t columns, bool by_rows) {
  ThreadPool pool(1);
  std::vector<Int16Pair> pairs(static_cast<size_t>(by_rows ? rows * ((columns + 1) / 2) : (rows + 1) / 2 * columns));
  if (by_rows)
    PairUp(rows, columns, 1, values.data(), pairs.data(), pool);
  else
    PairUp(1, rows, columns, values.data(), pairs.data(), pool);
  return pairs;
}

TEST_P(PairsTest, ProductsOfManyShapesAreExact) {
  for (const Extents& e : {Extents{1, 1, 1},
                           {3, 5, 7},
                           {12, 32, 64},
                           {13, 33, 65},
                           {25, 70, 801},
                           {300, 17, 31},
                           {5, 600, 3},
                           {2, 40, 0}}) {
    const std::vector<int16_t> a = Draw(e.m * e.k, 1), b = Draw(e.k * e.n, 2), drawn = Draw(e.m, 3);
    const std::vector<int32_t> bias(drawn.begin(), drawn.end());
    const std::vector<Int16Pair> left = Paired(a, e.m, e.k, true), right = Paired(b, e.k, e.n, false);
    std::vector<int32_t> c(static_cast<size_t>(e.m * e.n), -99);
    GemmArgs<Int16Pair> args;
    args.m = e.m;
    args.n = args.ldb = args.ldc = e.n;
    args.k = args.lda = (e.k + 1) / 2;
    args.a = left.data();
    args.b = right.data();
    args.c = reinterpret_cast<Int16Pair*>(c.data());
    args.row_bias = reinterpret_cast<const Int16Pair*>(bias.data());
    const size_t bytes = GemmWorkspace(args);
    const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (bytes / 64 + 1) * 64), std::free);
    for (const int times : {1, 2}) {  // the second time added to the first
      Gemm(args, workspace.get());
      args.beta = Int16Pair{1};
      for (int64_t i = 0; i < e.m; ++i)
        for (int64_t j = 0; j < e.n; ++j) {
          int64_t sum = 0;
          for (int64_t p = 0; p < e.k; ++p)
            sum += int64_t{a[static_cast<size_t>(i * e.k + p)]} * b[static_cast<size_t>(p * e.n + j)];
          ASSERT_EQ(c[static_cast<size_t>(i * e.n + j)], times * sum + bias[static_cast<size_t>(i)])
              << e.m << "x" << e.n << "x" << e.k << " at " << i << ", " << j << ", time " << times;
        }
    }
  }
}

TEST_P(PairsTest, SumsWrapAround) {
  const std::vector<int16_t> a(70000, 255), b(70000, 255);
  const std::vector<Int16Pair> left = Paired(a, 1, 70000, true), right = Paired(b, 70000, 1, false);
  int32_t c = 0;
  GemmArgs<Int16Pair> args;
  args.m = args.n = args.ldb = args.ldc = 1;
  args.k = args.lda = 35000;
  args.a = left.data();
  args.b = right.data();
  args.c = reinterpret_cast<Int16Pair*>(&c);
  const size_t bytes = GemmWorkspace(args);
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (bytes / 64 + 1) * 64), std::free);
  Gemm(args, workspace.get());
  EXPECT_EQ(c, static_cast<int32_t>(static_cast<uint32_t>(int64_t{70000} * 255 * 255)));
}

}  // namespace
}  // namespace deputy::host::linalg
