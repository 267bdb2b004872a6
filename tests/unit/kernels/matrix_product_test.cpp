#include "kernels/matrix_product.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "unit/kernels/linalg_levels.hpp"

namespace deputy::host {
namespace {

template <class T>
linalg::GemmArgs<T> Matrices(int64_t m, int64_t n, int64_t k, const std::vector<T>& a, const std::vector<T>& b,
                             std::vector<T>& c) {
  linalg::GemmArgs<T> args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a.data();
  args.lda = k;
  args.b = b.data();
  args.ldb = n;
  args.c = c.data();
  args.ldc = n;
  return args;
}

template <class T>
void Multiply(const BatchedProduct<T>& product, ThreadPool& pool) {
  const size_t bytes = BatchWorkspace(product, pool);
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, (bytes / 64 + 1) * 64), std::free);
  MultiplyBatch(product, workspace.get(), pool);
}
template <class T>
void Multiply(const linalg::GemmArgs<T>& product, ThreadPool& pool) {
  Multiply(BatchedProduct<T>{product, {}, {}, {}}, pool);
}

TEST(MatrixProduct, IntegersWrapAround) {
  const std::vector<int32_t> a = {2147483647, 1}, b = {2, 5};
  std::vector<int32_t> c(1);
  ThreadPool pool(1);
  Multiply(Matrices(1, 1, 2, a, b, c), pool);
  EXPECT_EQ(c[0], 3);  // 2^32 - 2 + 5, modulo 2^32
}

TEST(MatrixProduct, IntegersMultiplyTransposed) {
  const std::vector<int64_t> a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  std::vector<int64_t> c(4);
  ThreadPool pool(1);
  linalg::GemmArgs<int64_t> args = Matrices(2, 2, 2, a, b, c);
  args.transpose_a = args.transpose_b = true;
  Multiply(args, pool);
  EXPECT_EQ(c, (std::vector<int64_t>{1 * 5 + 3 * 6, 1 * 7 + 3 * 8, 2 * 5 + 4 * 6, 2 * 7 + 4 * 8}));
}

TEST(MatrixProduct, CutsOverThreadsGiveTheSame) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{300, 40}, {40, 300}, {1, 500}, {500, 1}}) {
    const int64_t k = 64;
    std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
    std::vector<float> one(static_cast<size_t>(m * n)), four(one.size());
    ThreadPool single(1), pool(4);
    Multiply(Matrices(m, n, k, a, b, one), single);
    Multiply(Matrices(m, n, k, a, b, four), pool);
    EXPECT_EQ(one, four) << m << "x" << n;
  }
}

// The order of the sums is the same.
TEST(MatrixProduct, PackedMatrixGivesTheSameAtEveryLevel) {
  for (const linalg::Level level : linalg::AvailableLevels()) {
    SCOPED_TRACE(NameOf(level));
    const linalg::ForcedLevel forced(level);
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{70, 40}, {40, 131}, {300, 7}}) {
      const int64_t k = 300;
      std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) / 3 - 1;
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) / 3 - 2;
      for (const bool transposed : {false, true})
        for (const uint32_t threads : {1u, 3u}) {
          std::vector<float> plain(static_cast<size_t>(m * n)), packed(plain.size());
          ThreadPool pool(threads);
          linalg::GemmArgs<float> product = Matrices(m, n, k, a, b, plain);
          product.transpose_b = transposed;
          product.ldb = transposed ? k : n;
          Multiply(product, pool);
          const PackedMatrix matrix = PackMatrix(product);
          ASSERT_TRUE(TakePacked(matrix, product));
          product.c = packed.data();
          Multiply(product, pool);
          EXPECT_EQ(packed, plain) << m << "x" << n << (transposed ? " transposed, " : ", ") << threads << " threads";
        }
    }
  }
}

TEST(MatrixProduct, MatrixPackedForAnotherLevelIsNotTaken) {
  const std::vector<float> a(8), b(16);
  std::vector<float> c(32);
  linalg::GemmArgs<float> product = Matrices(8, 4, 1, a, b, c);
  PackedMatrix packed = PackMatrix(product);
  packed.level = linalg::ActiveLevel() == linalg::Level::kBaseline ? linalg::Level::kV3 : linalg::Level::kBaseline;
  EXPECT_FALSE(TakePacked(packed, product));
  EXPECT_EQ(product.b, b.data());
}

TEST(MatrixProduct, EmptyBatchTouchesNothing) {
  const std::vector<float> a, b = {1};
  std::vector<float> c = {5};
  ThreadPool pool(1);
  const int64_t a_batch[] = {0}, c_batch[] = {0};
  Multiply(BatchedProduct<float>{Matrices(1, 1, 1, a, b, c), a_batch, {}, c_batch}, pool);
  EXPECT_EQ(c[0], 5);
}

}  // namespace
}  // namespace deputy::host
