// Products of quads of 8-bit integers, against sums of 64 bits; the parts of factors that do not fit; planes of quads.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "kernels/convolution.hpp"
#include "kernels/linalg/linalg.hpp"
#include "kernels/quantize.hpp"
#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host::linalg {
namespace {

class QuadsTest : public LevelTest {};
// Others multiply pairs.
std::vector<Level> LevelsWithQuads() {
  std::vector<Level> levels = AvailableLevels();
  std::erase_if(levels, [](Level level) {
    const ForcedLevel forced(level);
    return !HasQuads();
  });
  return levels;
}
INSTANTIATE_TEST_SUITE_P(Levels, QuadsTest, ::testing::ValuesIn(LevelsWithQuads()), LevelName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QuadsTest);  // on processors without AVX2

struct ProductExtents {
  int64_t m, n, k;
};

// Quads [lines, k / 4] or, `turned`, [k / 4, lines], of bytes that are given by line and place.
template <class F>
std::vector<Int8Quad> QuadsOf(int64_t lines, int64_t k, bool turned, F byte) {
  std::vector<Int8Quad> quads(static_cast<size_t>(lines * k / 4));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t p = 0; p < k; ++p) {
      const int64_t at = turned ? p / 4 * lines + line : line * (k / 4) + p / 4;
      reinterpret_cast<uint8_t*>(quads.data())[4 * at + p % 4] = static_cast<uint8_t>(byte(line, p));
    }
  return quads;
}

TEST_P(QuadsTest, ProductsOfFactorsThatFitAreExact) {
  // Also the largest sums of two products.
  const int extremes[][2] = {{64, 64}, {127, 1}, {-64, -64}, {-128, 0}, {127, -128}, {0, 3}};
  std::mt19937 random(5);
  for (const ProductExtents& e :
       {ProductExtents{1, 1, 4}, {3, 5, 8}, {12, 32, 64}, {13, 33, 68}, {25, 70, 1600}, {2, 40, 0}})
    for (const bool b_is_signed : {false, true}) {
      SCOPED_TRACE(testing::Message() << e.m << "x" << e.n << "x" << e.k << ", signed B " << b_is_signed);
      const int64_t signed_lines = b_is_signed ? e.n : e.m, other_lines = b_is_signed ? e.m : e.n;
      std::vector<int> factor(static_cast<size_t>(signed_lines * e.k)), bytes(static_cast<size_t>(other_lines * e.k));
      for (size_t i = 0; i < factor.size(); i += 2)
        std::copy_n(extremes[random() % std::size(extremes)], 2, factor.begin() + static_cast<ptrdiff_t>(i));
      for (int& byte : bytes) byte = random() % 3 == 0 ? 255 : static_cast<int>(random() % 256);
      const auto signed_at = [&](int64_t line, int64_t p) { return factor[static_cast<size_t>(line * e.k + p)]; };
      const auto byte_at = [&](int64_t line, int64_t p) { return bytes[static_cast<size_t>(line * e.k + p)]; };
      const std::vector<Int8Quad> a = b_is_signed ? QuadsOf(e.m, e.k, false, byte_at)
                                                  : QuadsOf(e.m, e.k, false, signed_at),
                                  b = b_is_signed ? QuadsOf(e.n, e.k, true, signed_at)
                                                  : QuadsOf(e.n, e.k, true, byte_at);
      std::vector<int32_t> c(static_cast<size_t>(e.m * e.n), 7);
      GemmArgs<Int8Quad> args;
      args.m = e.m;
      args.n = args.ldb = args.ldc = e.n;
      args.k = args.lda = e.k / 4;
      args.a = a.data();
      args.b = b.data();
      args.c = reinterpret_cast<Int8Quad*>(c.data());
      args.beta = Int8Quad{1};
      args.b_is_signed = b_is_signed;
      const size_t size = GemmWorkspace(args);
      const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (size / 64 + 1) * 64), std::free);
      Gemm(args, workspace.get());
      for (int64_t i = 0; i < e.m; ++i)
        for (int64_t j = 0; j < e.n; ++j) {
          int64_t sum = 7;
          for (int64_t p = 0; p < e.k; ++p)
            sum += b_is_signed ? byte_at(i, p) * signed_at(j, p) : signed_at(i, p) * byte_at(j, p);
          ASSERT_EQ(c[static_cast<size_t>(i * e.n + j)], sum) << i << ", " << j;
        }
    }
}

TEST(SplitQuad, ThePartsFitAndAddUp) {
  for (int a = -255; a <= 255; ++a)
    for (int b = -255; b <= 255; ++b) {
      const int16_t integers[4] = {static_cast<int16_t>(a), static_cast<int16_t>(b), 0, static_cast<int16_t>(a)};
      std::vector<QuadRest> parts;
      const int32_t first = SplitQuad(integers, 3, 5, parts);
      parts.push_back({3, 5, first});
      int sums[4] = {};
      for (const QuadRest& part : parts) {
        int8_t bytes[4];
        std::memcpy(bytes, &part.quad, sizeof bytes);
        ASSERT_TRUE(QuadFits(bytes)) << a << ", " << b;
        ASSERT_TRUE(part.line == 3 && part.step == 5);
        for (size_t i = 0; i < 4; ++i) sums[i] += bytes[i];
      }
      ASSERT_TRUE(std::equal(sums, sums + 4, integers)) << a << ", " << b;
      const bool is_one = a >= -128 && a <= 127 && b >= -128 && b <= 127 && (a < 0) != (b < 0);
      ASSERT_TRUE(!is_one || parts.size() == 1) << "products of both signs do not exceed 16 bits: " << a << ", " << b;
    }
}

TEST_P(QuadsTest, PlanesHaveTheirPaddingAroundThem) {
  const int8_t x[] = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6};  // two channels of 2 x 3
  WindowAxis padding[2];
  padding[0].pad_begin = padding[1].pad_end = 1;
  QuadPlanes planes{1, 2, {2, 3}, padding, 9};
  ThreadPool pool(2);
  std::vector<uint32_t> quads(3 * 4);
  QuadUp(planes, DType::kInt8, x, reinterpret_cast<Int8Quad*>(quads.data()), pool);
  for (size_t i = 0; i < quads.size(); ++i) {
    const bool inside = i / 4 >= 1 && i % 4 < 3;
    const size_t at = inside ? (i / 4 - 1) * 3 + i % 4 : 0;
    const auto byte = [&](size_t channel) { return static_cast<uint32_t>(x[channel * 6 + at] + 128); };
    EXPECT_EQ(quads[i] & 0xffff, inside ? byte(0) | byte(1) << 8 : 0x0909u) << i;
  }
}

}  // namespace
}  // namespace deputy::host::linalg
