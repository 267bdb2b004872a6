// Products with matrices of few bits, a few rows at once and many, against the definition in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/aligned.hpp"
#include "kernels/matrix_product.hpp"

namespace deputy::host {
namespace {

struct Parts {
  std::vector<uint8_t> bytes, zeros;
  std::vector<float> scales, x, bias;
  BlockMatrix<float> matrix;
};

Parts Draw(int64_t bits, int64_t rows_of_x, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> reals(-1, 1);
  Parts parts;
  BlockMatrix<float>& matrix = parts.matrix;
  matrix.rows = 77;  // neither whole blocks nor whole panels
  matrix.columns = 45;
  matrix.block = 16;
  matrix.bits = bits;
  parts.bytes.resize(static_cast<size_t>(matrix.columns * matrix.column_bytes()));
  parts.zeros.resize(static_cast<size_t>(matrix.columns * matrix.zero_bytes()));
  parts.scales.resize(static_cast<size_t>(matrix.columns * matrix.blocks()));
  parts.x.resize(static_cast<size_t>(rows_of_x * matrix.rows));
  parts.bias.resize(static_cast<size_t>(matrix.columns));
  for (std::vector<uint8_t>* list : {&parts.bytes, &parts.zeros})
    for (uint8_t& byte : *list) byte = static_cast<uint8_t>(random());
  for (std::vector<float>* list : {&parts.scales, &parts.x, &parts.bias})
    for (float& value : *list) value = reals(random);
  matrix.bytes = parts.bytes.data();
  matrix.scales = parts.scales.data();
  return parts;
}

double Weight(const Parts& parts, int64_t row, int64_t column, bool zeros) {
  const BlockMatrix<float>& matrix = parts.matrix;
  const auto unpacked = [&](const std::vector<uint8_t>& bytes, int64_t first, int64_t bit) {
    return bytes[static_cast<size_t>(first + bit / 8)] >> (bit % 8) & ((1 << matrix.bits) - 1);
  };
  const int64_t block = row / matrix.block;
  const int zero =
      zeros ? unpacked(parts.zeros, column * matrix.zero_bytes(), block * matrix.bits) : 1 << (matrix.bits - 1);
  const int number = unpacked(parts.bytes, column * matrix.column_bytes(), row * matrix.bits);
  return (number - zero) * double{parts.scales[static_cast<size_t>(column * matrix.blocks() + block)]};
}

void ExpectProduct(int64_t bits, int64_t rows, bool zeros) {
  SCOPED_TRACE(testing::Message() << bits << " bits, " << rows << " rows, zero points: " << zeros);
  Parts parts = Draw(bits, rows, 7);
  BlockMatrix<float>& matrix = parts.matrix;
  if (zeros) matrix.packed_zeros = parts.zeros.data();
  ThreadPool pool(3);
  const AlignedBytes memory = AllocateAligned(BlockProductWorkspace(matrix, rows, pool));
  std::vector<float> y(static_cast<size_t>(rows * matrix.columns), NAN);
  MultiplyBlocks(matrix, rows, parts.x.data(), parts.bias.data(), y.data(), memory.get(), pool);
  const double unit = std::ldexp(1.0, static_cast<int>(bits)) * 1e-5;
  for (int64_t i = 0; i < rows * matrix.columns; ++i) {
    const int64_t row = i / matrix.columns, column = i % matrix.columns;
    double sum = double{parts.bias[static_cast<size_t>(column)]};
    for (int64_t k = 0; k < matrix.rows; ++k)
      sum += double{parts.x[static_cast<size_t>(row * matrix.rows + k)]} * Weight(parts, k, column, zeros);
    ASSERT_NEAR(double{y[static_cast<size_t>(i)]}, sum, unit * (1 + std::fabs(sum))) << "at " << row << ", " << column;
  }
}

TEST(BlockMatrix, FewRowsMeetTheIntegersThemselves) {
  for (const int64_t bits : {2, 4, 8})
    for (const bool zeros : {false, true}) ExpectProduct(bits, kMostDirectRows, zeros);
}

TEST(BlockMatrix, MoreRowsMeetWidenedPanels) {
  for (const int64_t bits : {2, 4, 8})
    for (const int64_t rows : {kMostDirectRows + 1, int64_t{70}}) ExpectProduct(bits, rows, true);
}

}  // namespace
}  // namespace deputy::host
