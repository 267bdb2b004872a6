// Gemm and MatMul of two matrices, on the matrix unit.
#include <algorithm>
#include <array>

#include "constant.hpp"
#include "fp16.hpp"
#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

constexpr int64_t kRowTile = 4, kMatrixTile = 32;

class Matrix final : public Layer {
 public:
  Matrix(const NodeView& node, Constants& constants) {
    const bool gemm = node.Is("Gemm");
    const auto out = node.output(0).dims();
    transposed_ = {gemm && node.Int("transA", 0) != 0, gemm && node.Int("transB", 0) != 0};
    rows_ = out[0], depth_ = node.input(0).dims()[transposed_[0] ? 0 : 1], columns_ = out[1];
    macs_ = static_cast<uint64_t>(rows_ * depth_ * columns_);
    tiles_ = (columns_ + kMatrixTile - 1) / kMatrixTile;
    a_ = Take(node, 0, constants, Form::kHalves), b_ = Take(node, 1, constants, Form::kHalves);
    if (!b_.given()) Pack(b_.In({}));
    if (!gemm) return;
    alpha_ = node.Float("alpha", 1.0f), beta_ = node.Float("beta", 1.0f);
    if (!node.input(2).exists()) return;
    bias_ = Take(node, 2, constants);
    const auto dims = node.input(2).dims();
    bias_columns_ = dims.empty() ? 1 : dims.back();
    bias_rows_ = dims.size() < 2 ? 1 : dims[0];
  }

  void Prepare() override {
    left_.resize(static_cast<size_t>(rows_ * depth_));
    given_.resize(static_cast<size_t>(std::max(rows_, columns_) * depth_));
    weights_.resize(static_cast<size_t>(tiles_ * depth_ * kMatrixTile));
  }

  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const size_t left = left_.size();
    if (!transposed_[0]) {
      RoundToHalf(a_.In(inputs), left_.data(), left);
    } else {
      RoundToHalf(a_.In(inputs), given_.data(), left);
      for (size_t i = 0; i < left; ++i)
        left_[i] =
            given_[i % static_cast<size_t>(depth_) * static_cast<size_t>(rows_) + i / static_cast<size_t>(depth_)];
    }
    if (b_.given()) {
      RoundToHalf(b_.In(inputs), given_.data(), static_cast<size_t>(depth_ * columns_));
      Pack(given_.data());
    }
    const float* bias = bias_.In(inputs);
    const int64_t blocks = (rows_ + kRowTile - 1) / kRowTile;
    host.ParallelFor(blocks * tiles_, std::max<int64_t>(4096 / depth_, 1), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t first = job / tiles_ * kRowTile, tile = job % tiles_;
        if (first + kRowTile <= rows_)
          Block<kRowTile>(first, tile, bias, output);
        else
          for (int64_t row = first; row < rows_; ++row) Block<1>(row, tile, bias, output);
      }
    });
  }

 private:
  void Pack(const float* given) {
    weights_.resize(static_cast<size_t>(tiles_ * depth_ * kMatrixTile));
    for (int64_t k = 0; k < depth_; ++k)
      for (int64_t n = 0; n < columns_; ++n)
        weights_[static_cast<size_t>((n / kMatrixTile * depth_ + k) * kMatrixTile + n % kMatrixTile)] =
            given[static_cast<size_t>(transposed_[1] ? n * depth_ + k : k * columns_ + n)];
  }
  float BiasAt(const float* bias, int64_t row, int64_t column) const {
    if (bias == nullptr) return 0;
    return beta_ * bias[(bias_rows_ == 1 ? 0 : row) * bias_columns_ + (bias_columns_ == 1 ? 0 : column)];
  }

  template <int64_t Rows>
  void Block(int64_t first, int64_t tile, const float* bias, float* output) const {
    float sums[Rows][kMatrixTile] = {};
    const float* weight = weights_.data() + tile * depth_ * kMatrixTile;
    for (int64_t k = 0; k < depth_; ++k, weight += kMatrixTile)
      for (int64_t i = 0; i < Rows; ++i) {
        const float factor = left_[static_cast<size_t>((first + i) * depth_ + k)];
        for (int64_t n = 0; n < kMatrixTile; ++n) sums[i][n] += factor * weight[n];
      }
    const int64_t begin = tile * kMatrixTile, count = std::min(kMatrixTile, columns_ - begin);
    for (int64_t i = 0; i < Rows; ++i)
      for (int64_t n = 0; n < count; ++n)
        output[(first + i) * columns_ + begin + n] = alpha_ * sums[i][n] + BiasAt(bias, first + i, begin + n);
  }

  std::array<bool, 2> transposed_{};
  int64_t rows_, depth_, columns_, tiles_;
  Source a_, b_, bias_;
  std::vector<float> given_;    // an operand as it lies, rounded to halves
  std::vector<float> left_;     // the first one, [row][depth]
  std::vector<float> weights_;  // the second one, [tile of columns][depth][column in the tile]
  float alpha_ = 1, beta_ = 1;
  int64_t bias_rows_ = 1, bias_columns_ = 1;
};

}  // namespace

Verdict CheckMatrix(const NodeView& node) {
  if (node.input(1).rank() != 2 || node.output(0).rank() != 2) return Verdict::No(Reason::kRank, "only matrices");
  for (const size_t i : {0, 1})
    if (const Verdict weights = CheckWeights(node.input(i)); !weights.supported()) return weights;
  const int64_t columns = node.output(0).dims()[1], depth = node.input(1).element_count() / columns;
  if (depth > kMostScratch / (columns + kMatrixTile))
    return Verdict::No(Reason::kShape, "the second matrix is too large in tiles");
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeMatrix(const NodeView& node, Constants& constants) {
  return std::make_unique<Matrix>(node, constants);
}

}  // namespace sim_npu
