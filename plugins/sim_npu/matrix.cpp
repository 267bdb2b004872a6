// Gemm and MatMul of an activation with a constant matrix. Products are summed in fp32.
#include <algorithm>

#include "constant.hpp"
#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

constexpr int64_t kRowTile = 4, kColumnTile = 32;

class Matrix final : public Layer {
 public:
  Matrix(const NodeView& node, Constants& constants) {
    const bool gemm = node.Is("Gemm");
    const auto in = node.input(0).dims(), out = node.output(0).dims();
    rows_ = in[0], depth_ = in[1], columns_ = out[1];
    macs_ = static_cast<uint64_t>(rows_ * depth_ * columns_);
    const bool transposed = gemm && node.Int("transB", 0) != 0;
    const std::vector<float> given = constants.Rounded(node.input(1));
    tiles_ = (columns_ + kColumnTile - 1) / kColumnTile;
    weights_.resize(static_cast<size_t>(tiles_ * depth_ * kColumnTile));
    for (int64_t k = 0; k < depth_; ++k)
      for (int64_t n = 0; n < columns_; ++n)
        weights_[static_cast<size_t>((n / kColumnTile * depth_ + k) * kColumnTile + n % kColumnTile)] =
            given[static_cast<size_t>(transposed ? n * depth_ + k : k * columns_ + n)];
    constant_bytes_ = given.size() * 2;
    if (!gemm) return;
    alpha_ = node.Float("alpha", 1.0f);
    if (node.input(2).exists()) TakeBias(constants.Plain(node.input(2)), node.input(2), node.Float("beta", 1.0f));
  }

  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const int64_t blocks = (rows_ + kRowTile - 1) / kRowTile;
    host.ParallelFor(blocks * tiles_, std::max<int64_t>(4096 / depth_, 1), [&](int64_t begin, int64_t end) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t first = job / tiles_ * kRowTile, tile = job % tiles_;
        if (first + kRowTile <= rows_)
          Block<kRowTile>(inputs[0], first, tile, output);
        else
          for (int64_t row = first; row < rows_; ++row) Block<1>(inputs[0], row, tile, output);
      }
    });
  }

 private:
  void TakeBias(std::vector<float> given, const ValueView& value, float beta) {
    bias_ = std::move(given);
    for (float& element : bias_) element *= beta;
    const auto dims = value.dims();
    bias_columns_ = dims.empty() ? 1 : dims.back();
    bias_rows_ = dims.size() < 2 ? 1 : dims[0];
    constant_bytes_ += bias_.size() * 4;
  }
  float BiasAt(int64_t row, int64_t column) const {
    if (bias_.empty()) return 0;
    return bias_[static_cast<size_t>((bias_rows_ == 1 ? 0 : row) * bias_columns_ + (bias_columns_ == 1 ? 0 : column))];
  }

  template <int64_t Rows>
  void Block(const float* in, int64_t first, int64_t tile, float* output) const {
    float sums[Rows][kColumnTile] = {};
    const float* weight = weights_.data() + tile * depth_ * kColumnTile;
    for (int64_t k = 0; k < depth_; ++k, weight += kColumnTile)
      for (int64_t i = 0; i < Rows; ++i) {
        const float factor = in[(first + i) * depth_ + k];
        for (int64_t n = 0; n < kColumnTile; ++n) sums[i][n] += factor * weight[n];
      }
    const int64_t begin = tile * kColumnTile, count = std::min(kColumnTile, columns_ - begin);
    for (int64_t i = 0; i < Rows; ++i)
      for (int64_t n = 0; n < count; ++n)
        output[(first + i) * columns_ + begin + n] = alpha_ * sums[i][n] + BiasAt(first + i, begin + n);
  }

  int64_t rows_, depth_, columns_, tiles_;
  std::vector<float> weights_;  // [tile of columns][depth][column in the tile]
  float alpha_ = 1;
  std::vector<float> bias_;
  int64_t bias_rows_ = 1, bias_columns_ = 1;
};

}  // namespace

Verdict CheckMatrix(const NodeView& node) {
  if (node.input(0).is_constant()) return Verdict::No(Reason::kOther, "only the second matrix may be constant");
  if (const Verdict constant = CheckConstant(node.input(1), "weights"); !constant.supported()) return constant;
  if (node.input(1).rank() != 2 || node.output(0).rank() != 2) return Verdict::No(Reason::kRank, "only matrices");
  if (!node.Is("Gemm")) return Verdict::Yes();
  if (node.Int("transA", 0) != 0) return Verdict::No(Reason::kAttribute, "the first matrix is transposed");
  if (!node.input(2).exists()) return Verdict::Yes();
  return CheckConstant(node.input(2), "biases");
}

std::unique_ptr<Layer> MakeMatrix(const NodeView& node, Constants& constants) {
  return std::make_unique<Matrix>(node, constants);
}

}  // namespace sim_npu
