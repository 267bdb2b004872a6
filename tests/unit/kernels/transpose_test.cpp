#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/copy.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// By definition: every index of the target, and where it comes from.
template <class T>
std::vector<T> Expected(const std::vector<int64_t>& dims, const std::vector<int64_t>& perm,
                        const std::vector<T>& source) {
  std::vector<T> target;
  std::vector<int64_t> index(dims.size(), 0);
  for (size_t i = 0; i < source.size(); ++i) {
    std::vector<int64_t> from(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) from[static_cast<size_t>(perm[d])] = index[d];
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); ++d) offset = offset * dims[d] + from[d];
    target.push_back(source[static_cast<size_t>(offset)]);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[static_cast<size_t>(perm[d])]) break;
      index[d] = 0;
    }
  }
  return target;
}

template <class T>
void Check(const std::vector<int64_t>& dims, const std::vector<int64_t>& perm) {
  std::vector<T> source(static_cast<size_t>(ElementCount(dims)));
  std::iota(source.begin(), source.end(), T{0});
  std::vector<T> target(source.size(), T(0xEE));
  ThreadPool pool(3);
  Transpose(dims, perm, source.data(), target.data(), sizeof(T), pool);
  EXPECT_EQ(target, Expected(dims, perm, source));
}

TEST(Transpose, MatrixThatFillsNoTile) { Check<uint32_t>({37, 53}, {1, 0}); }
TEST(Transpose, OneByteElements) { Check<uint8_t>({19, 33}, {1, 0}); }
TEST(Transpose, TwoByteElements) { Check<uint16_t>({4, 40, 33}, {0, 2, 1}); }
TEST(Transpose, EightByteElements) { Check<uint64_t>({3, 20, 17}, {2, 0, 1}); }
TEST(Transpose, ChannelsLast) { Check<uint32_t>({2, 3, 31, 41}, {0, 2, 3, 1}); }
TEST(Transpose, InnermostDimensionStays) { Check<uint32_t>({5, 6, 7, 8}, {2, 1, 0, 3}); }
TEST(Transpose, LargeEnoughForSeveralThreads) { Check<uint32_t>({2, 300, 5, 301}, {0, 3, 2, 1}); }
TEST(Transpose, PairsAreTakenApart) { Check<uint32_t>({3, 35, 2}, {0, 2, 1}); }
TEST(Transpose, SpaceToDepthOfBlocksOfTwo) { Check<uint32_t>({1, 3, 5, 2, 19, 2}, {0, 3, 5, 1, 2, 4}); }
TEST(Transpose, PairsOfBytes) { Check<uint8_t>({61, 2}, {1, 0}); }
TEST(Transpose, Scalar) { Check<uint32_t>({}, {}); }
TEST(Transpose, ZeroExtent) { Check<uint32_t>({3, 0, 2}, {2, 1, 0}); }
TEST(Transpose, RankNine) { Check<uint32_t>({2, 1, 3, 2, 1, 2, 2, 3, 2}, {8, 1, 6, 3, 0, 5, 2, 7, 4}); }

TEST(Transpose, RandomPermutations) {
  const uint32_t seed = 20240607;
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    std::vector<int64_t> dims(1 + random() % 6), perm(dims.size());
    for (int64_t& dim : dims) dim = 1 + random() % 7;
    std::iota(perm.begin(), perm.end(), 0);
    std::shuffle(perm.begin(), perm.end(), random);
    Check<uint32_t>(dims, perm);
  }
}

}  // namespace
}  // namespace deputy::host
