// Two-dimensional convolution, with groups and dilation, on the matrix unit.
#include <algorithm>
#include <string>

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

// The line buffers hold 11 rows.
constexpr int64_t kLargestConvKernel = 11;
// Output channels and columns that are summed at once; the sums stay in registers.
constexpr int64_t kChannelTile = 4, kWidthTile = 16;
constexpr int64_t kMacsPerJob = 1 << 17;

class Conv final : public Layer {
 public:
  Conv(const NodeView& node, Constants& constants) {
    const auto in = node.input(0).dims(), out = node.output(0).dims(), kernel = node.input(1).dims();
    window_ = ReadWindow(node, {kernel[2], kernel[3]});
    groups_ = node.Int("group", 1);
    images_ = in[0], height_ = in[2], width_ = in[3];
    group_in_ = in[1] / groups_, group_out_ = kernel[0] / groups_;
    out_height_ = out[2], out_width_ = out[3];
    taps_ = group_in_ * kernel[2] * kernel[3];
    macs_ = static_cast<uint64_t>(images_ * kernel[0] * out_height_ * out_width_ * taps_);
    x_ = Take(node, 0, constants, Form::kHalves);
    given_weights_ = Take(node, 1, constants, Form::kHalves);
    given_bias_ = Take(node, 2, constants);
    bias_.resize(static_cast<size_t>(kernel[0]));
    if (!given_weights_.given()) weights_.resize(static_cast<size_t>(kernel[0] * taps_));
    if (!given_weights_.given()) Pack(given_weights_.In({}));
  }

  void Prepare() override {
    weights_.resize(static_cast<size_t>(groups_ * group_out_ * taps_));
    rounded_.resize(given_weights_.given() ? weights_.size() : 0);
    // The last tile of a row may read past it: into the next row, and at the end into this slack.
    const int64_t plane = window_.Span(0, out_height_) * window_.Span(1, out_width_);
    padded_.resize(static_cast<size_t>(groups_ * group_in_ * plane + kWidthTile * window_.stride[1]));
  }

  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    if (given_weights_.given()) {
      RoundToHalf(given_weights_.In(inputs), rounded_.data(), rounded_.size());
      Pack(rounded_.data());
    }
    if (const float* bias = given_bias_.In(inputs)) std::copy_n(bias, bias_.size(), bias_.begin());
    const int64_t rows = window_.Span(0, out_height_), columns = window_.Span(1, out_width_);
    const int64_t channels = groups_ * group_in_, plane = rows * columns;
    const int64_t tiles = (group_out_ + kChannelTile - 1) / kChannelTile;
    const int64_t jobs = groups_ * tiles * out_height_;
    const int64_t macs_per_job = std::max<int64_t>(static_cast<int64_t>(macs_) / (images_ * jobs), 1);
    for (int64_t image = 0; image < images_; ++image) {
      const float* source = x_.In(inputs) + image * channels * height_ * width_;
      host.ParallelFor(channels, 8, [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel)
          PadPlane(source + channel * height_ * width_, padded_.data() + channel * plane, rows, columns);
      });
      float* target = output + image * groups_ * group_out_ * out_height_ * out_width_;
      host.ParallelFor(jobs, std::max<int64_t>(kMacsPerJob / macs_per_job, 1), [&](int64_t begin, int64_t end) {
        for (int64_t job = begin; job < end; ++job) {
          const int64_t row = job % out_height_, tile = job / out_height_ % tiles, group = job / out_height_ / tiles;
          const int64_t first = group * group_out_ + tile * kChannelTile;
          const float* from = padded_.data() + group * group_in_ * plane + row * window_.stride[0] * columns;
          const int64_t count = std::min(kChannelTile, group_out_ - tile * kChannelTile);
          if (count == kChannelTile)
            Row<kChannelTile>(from, columns, plane, first, row, target);
          else
            for (int64_t i = 0; i < count; ++i) Row<1>(from, columns, plane, first + i, row, target);
        }
      });
    }
  }

 private:
  // [group][tile of channels][tap][channel in the tile]; a last, smaller tile is stored channel by channel.
  void Pack(const float* weights) {
    for (int64_t channel = 0; channel < groups_ * group_out_; ++channel) {
      const int64_t in_group = channel % group_out_, first = channel - in_group % kChannelTile;
      const bool whole = in_group / kChannelTile * kChannelTile + kChannelTile <= group_out_;
      for (int64_t tap = 0; tap < taps_; ++tap)
        weights_[static_cast<size_t>(whole ? (first * taps_ + tap * kChannelTile + in_group % kChannelTile)
                                           : channel * taps_ + tap)] = weights[channel * taps_ + tap];
    }
  }

  // The plane as the matrix unit reads it: with its padding, rounded.
  void PadPlane(const float* from, float* to, int64_t rows, int64_t columns) const {
    std::fill(to, to + rows * columns, 0.0f);
    const int64_t top = window_.begin[0], left = window_.begin[1];
    const int64_t count = std::min(width_, columns - left);
    for (int64_t y = 0; y < std::min(height_, rows - top) && count > 0; ++y)
      RoundToHalf(from + y * width_, to + (y + top) * columns + left, static_cast<size_t>(count));
  }

  // One output row of `Tile` channels from `first` on.
  template <int64_t Tile>
  void Row(const float* from, int64_t columns, int64_t plane, int64_t first, int64_t row, float* target) const {
    for (int64_t x = 0; x < out_width_; x += kWidthTile) {
      float sums[Tile][kWidthTile];
      for (int64_t i = 0; i < Tile; ++i) std::fill_n(sums[i], kWidthTile, bias_[static_cast<size_t>(first + i)]);
      if (window_.stride[1] == 1)
        Sum<Tile>(from + x, columns, plane, first, sums, [](const float* p, int64_t i) { return p[i]; });
      else
        Sum<Tile>(from + x * window_.stride[1], columns, plane, first, sums,
                  [stride = window_.stride[1]](const float* p, int64_t i) { return p[i * stride]; });
      for (int64_t i = 0; i < Tile; ++i)
        std::copy_n(sums[i], std::min(kWidthTile, out_width_ - x),
                    target + ((first + i) * out_height_ + row) * out_width_ + x);
    }
  }

  template <int64_t Tile, class Load>
  void Sum(const float* from, int64_t columns, int64_t plane, int64_t first, float (&sums)[Tile][kWidthTile],
           Load load) const {
    const float* weight = weights_.data() + first * group_in_ * window_.kernel[0] * window_.kernel[1];
    for (int64_t channel = 0; channel < group_in_; ++channel)
      for (int64_t y = 0; y < window_.kernel[0]; ++y)
        for (int64_t x = 0; x < window_.kernel[1]; ++x, weight += Tile) {
          const float* p = from + channel * plane + y * window_.dilation[0] * columns + x * window_.dilation[1];
          for (int64_t i = 0; i < Tile; ++i)
            for (int64_t column = 0; column < kWidthTile; ++column) sums[i][column] += weight[i] * load(p, column);
        }
  }

  Window window_;
  int64_t groups_, images_, height_, width_, group_in_, group_out_, out_height_, out_width_, taps_;
  Source x_, given_weights_, given_bias_;
  std::vector<float> rounded_, weights_, bias_, padded_;
};

}  // namespace

Verdict CheckConv(const NodeView& node) {
  const ValueView weights = node.input(1);
  for (const size_t i : {0, 1})
    if (const Verdict rounded = CheckWeights(node.input(i)); !rounded.supported()) return rounded;
  if (weights.rank() != 4) return Verdict::No(Reason::kRank, "only two-dimensional convolutions");
  const int64_t groups = node.Int("group", 1), channels = node.input(0).dims()[1];
  if (groups < 1 || channels % groups != 0 || weights.dims()[0] % groups != 0 || weights.dims()[1] * groups != channels)
    return Verdict::No(Reason::kShape, "groups do not divide the channels");
  const Verdict fits = CheckWindow(node, {weights.dims()[2], weights.dims()[3]}, kLargestConvKernel);
  if (!fits.supported()) return fits;
  // Extents below 2^27, strides, dilations and kernels of one digit or two: the products do not overflow.
  const Window window = ReadWindow(node, {weights.dims()[2], weights.dims()[3]});
  const auto out = node.output(0).dims();
  if (window.Span(0, out[2]) * window.Span(1, out[3]) > kMostScratch / channels)
    return Verdict::No(Reason::kShape, "the padded input is too large");
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeConv(const NodeView& node, Constants& constants) {
  return std::make_unique<Conv>(node, constants);
}

}  // namespace sim_npu
