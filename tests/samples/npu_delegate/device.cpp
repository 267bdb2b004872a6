// The made-up NPU's arithmetic. A cycle is one multiply-add, comparison or moved element.
#include "device.hpp"

#include <algorithm>
#include <limits>

namespace toy_npu {
namespace {

// Calls visit(pixel of `in`, index of it in the window) for all that a window at (row, column) of the result covers.
template <class Visit>
void ForWindow(const Image& in, const Window& window, int64_t row, int64_t column, Visit visit) {
  for (int64_t y = 0; y < window.height; ++y)
    for (int64_t x = 0; x < window.width; ++x) {
      const int64_t from_y = row * window.step_y - window.top + y, from_x = column * window.step_x - window.left + x;
      if (from_y >= 0 && from_y < in.height && from_x >= 0 && from_x < in.width)
        visit(from_y * in.width + from_x, y * window.width + x);
    }
}

}  // namespace

void Device::Conv(const float* x, const Image& in, const float* weights, const float* bias, const Window& window,
                  float* y, const Image& out) {
  const int64_t taps = window.height * window.width;
  for (int64_t n = 0; n < out.batch; ++n, x += in.height * in.width * in.channels)
    for (int64_t row = 0; row < out.height; ++row)
      for (int64_t column = 0; column < out.width; ++column)
        for (int64_t o = 0; o < out.channels; ++o) {
          float sum = bias == nullptr ? 0 : bias[o];
          ForWindow(in, window, row, column, [&](int64_t pixel, int64_t tap) {
            const float* w = weights + (o * taps + tap) * in.channels;
            for (int64_t c = 0; c < in.channels; ++c) sum += x[pixel * in.channels + c] * w[c];
          });
          *y++ = sum;
        }
  busy_cycles_ += static_cast<uint64_t>(out.elements() * taps * in.channels);
}

void Device::MaxPool(const float* x, const Image& in, const Window& window, float* y, const Image& out) {
  for (int64_t n = 0; n < out.batch; ++n, x += in.height * in.width * in.channels)
    for (int64_t row = 0; row < out.height; ++row)
      for (int64_t column = 0; column < out.width; ++column, y += out.channels) {
        std::fill_n(y, out.channels, -std::numeric_limits<float>::infinity());
        ForWindow(in, window, row, column, [&](int64_t pixel, int64_t) {
          for (int64_t c = 0; c < in.channels; ++c) y[c] = std::max(y[c], x[pixel * in.channels + c]);
        });
      }
  busy_cycles_ += static_cast<uint64_t>(out.elements() * window.height * window.width);
}

void Device::Relu(const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  busy_cycles_ += static_cast<uint64_t>(count);
}

void Device::Add(const float* a, const float* b, float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
  busy_cycles_ += static_cast<uint64_t>(count);
}

void Device::ToChannelsLast(const float* x, float* y, const Image& image) {
  const int64_t plane = image.height * image.width;
  for (int64_t n = 0; n < image.batch; ++n, x += plane * image.channels)
    for (int64_t pixel = 0; pixel < plane; ++pixel)
      for (int64_t c = 0; c < image.channels; ++c) *y++ = x[c * plane + pixel];
  busy_cycles_ += static_cast<uint64_t>(image.elements());
}

void Device::ToChannelsFirst(const float* x, float* y, const Image& image) {
  const int64_t plane = image.height * image.width;
  for (int64_t n = 0; n < image.batch; ++n, x += plane * image.channels)
    for (int64_t c = 0; c < image.channels; ++c)
      for (int64_t pixel = 0; pixel < plane; ++pixel) *y++ = x[pixel * image.channels + c];
  busy_cycles_ += static_cast<uint64_t>(image.elements());
}

}  // namespace toy_npu
