#include "cli/inputs/picture_resize.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace deputy::cli {
namespace {

// An interval of a row or column of the source, in pixels.
struct Interval {
  double begin = 0, end = 0;
};

// The source pixels from `first` on that make one pixel of the result, with their weights, whose sum is 1.
struct Taps {
  size_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> TapsOf(size_t source, const Interval& part, size_t target) {
  const double step = (part.end - part.begin) / static_cast<double>(target);
  const double reach = std::max(step, 1.0);  // half the width of the triangle
  std::vector<Taps> all(target);
  for (size_t i = 0; i < target; ++i) {
    const double centre = part.begin + (static_cast<double>(i) + 0.5) * step;
    const double last = static_cast<double>(source - 1);
    const auto first = static_cast<size_t>(std::clamp(std::floor(centre - reach + 0.5), 0.0, last));
    const auto end = static_cast<size_t>(
        std::clamp(std::floor(centre + reach + 0.5), static_cast<double>(first) + 1, static_cast<double>(source)));
    std::vector<double> weights;
    double sum = 0;
    for (size_t at = first; at < end; ++at) {
      const double distance = std::abs(static_cast<double>(at) + 0.5 - centre) / reach;
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    all[i].first = first;
    for (const double weight : weights)
      all[i].weights.push_back(static_cast<float>(sum > 0 ? weight / sum : 1.0 / static_cast<double>(weights.size())));
  }
  return all;
}

// Row by row, so that it needs memory for one row of the source, of any height.
PixelImage Resample(const PixelImage& image, const Interval& columns, const Interval& rows, size_t width,
                    size_t height) {
  const std::vector<Taps> across = TapsOf(image.width, columns, width), down = TapsOf(image.height, rows, height);
  const size_t channels = image.channels;
  PixelImage made{width, height, channels, std::vector<uint8_t>(width * height * channels)};
  std::vector<float> row(image.width * channels);
  uint8_t* to = made.values.data();
  for (const Taps& vertical : down) {
    std::fill(row.begin(), row.end(), 0.0F);
    for (size_t i = 0; i < vertical.weights.size(); ++i) {
      const uint8_t* const from = image.pixel(0, vertical.first + i);
      for (size_t x = 0; x < row.size(); ++x) row[x] += vertical.weights[i] * static_cast<float>(from[x]);
    }
    for (const Taps& horizontal : across)
      for (size_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (size_t i = 0; i < horizontal.weights.size(); ++i)
          sum += horizontal.weights[i] * row[(horizontal.first + i) * channels + c];
        *to++ = static_cast<uint8_t>(std::clamp(sum + 0.5F, 0.0F, 255.0F));
      }
  }
  return made;
}

size_t Scaled(size_t extent, double factor) {
  return std::max<size_t>(1, static_cast<size_t>(std::lround(static_cast<double>(extent) * factor)));
}

PixelImage Letterboxed(const PixelImage& image, size_t width, size_t height) {
  const double factor = std::min(static_cast<double>(width) / static_cast<double>(image.width),
                                 static_cast<double>(height) / static_cast<double>(image.height));
  const size_t inner_width = std::min(width, Scaled(image.width, factor));
  const size_t inner_height = std::min(height, Scaled(image.height, factor));
  const PixelImage inner = Resized(image, inner_width, inner_height, PictureFit::kStretch);
  const size_t channels = image.channels, left = (width - inner_width) / 2, top = (height - inner_height) / 2;
  PixelImage made{width, height, channels, std::vector<uint8_t>(width * height * channels)};
  for (size_t y = 0; y < inner_height; ++y)
    std::copy(inner.pixel(0, y), inner.pixel(0, y) + inner_width * channels,
              made.values.begin() + static_cast<ptrdiff_t>(((top + y) * width + left) * channels));
  return made;
}

// The middle of an extent.
Interval MiddleOf(size_t extent, double length) {
  const double begin = (static_cast<double>(extent) - length) / 2;
  return {begin, begin + length};
}

}  // namespace

PixelImage Resized(const PixelImage& image, size_t width, size_t height, PictureFit fit) {
  if (image.width == width && image.height == height) return image;
  if (fit == PictureFit::kLetterbox) return Letterboxed(image, width, height);
  const auto source_width = static_cast<double>(image.width), source_height = static_cast<double>(image.height);
  double part_width = source_width, part_height = source_height;
  if (fit == PictureFit::kCrop) {
    const double aspect = static_cast<double>(width) / static_cast<double>(height);
    part_width = std::min(source_width, source_height * aspect);
    part_height = std::min(source_height, source_width / aspect);
  }
  return Resample(image, MiddleOf(image.width, part_width), MiddleOf(image.height, part_height), width, height);
}

PixelImage WithChannels(PixelImage image, size_t channels) {
  if (image.channels == channels) return image;
  const size_t pixels = image.width * image.height;
  PixelImage made{image.width, image.height, channels, std::vector<uint8_t>(pixels * channels)};
  const uint8_t* from = image.values.data();
  for (size_t i = 0; i < pixels; ++i, from += image.channels) {
    if (channels == 1) {
      made.values[i] = static_cast<uint8_t>((299U * from[0] + 587U * from[1] + 114U * from[2] + 500U) / 1000U);
    } else {
      std::fill_n(made.values.begin() + static_cast<ptrdiff_t>(i * channels), channels, *from);
    }
  }
  return made;
}

}  // namespace deputy::cli
