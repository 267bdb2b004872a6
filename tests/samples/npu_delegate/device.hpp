// The driver library of a made-up NPU: float32, images with the channels last (NHWC), one clock. It knows nothing of
// Deputy, as a vendor's own driver does not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace toy_npu {

struct Image {
  int64_t batch, height, width, channels;
  int64_t elements() const { return batch * height * width * channels; }
};

struct Window {
  int64_t height, width, step_y, step_x, top, left;  // `top`, `left`: rows and columns of padding
};

class Device {
 public:
  // 1 low power to 4 extreme.
  explicit Device(int level) : hertz_(250'000'000u * static_cast<uint64_t>(level)) {}

  uint64_t hertz() const { return hertz_; }
  uint64_t busy_ns() const { return busy_cycles_ * 1'000'000'000u / hertz_; }
  uint64_t runs() const { return runs_; }
  void FinishRun() { ++runs_; }

  // `weights`: output channel, row, column, input channel. `bias` may be NULL.
  void Conv(const float* x, const Image& in, const float* weights, const float* bias, const Window& window, float* y,
            const Image& out);
  void MaxPool(const float* x, const Image& in, const Window& window, float* y, const Image& out);
  void Relu(const float* x, float* y, int64_t count);
  void Add(const float* a, const float* b, float* y, int64_t count);
  // Between the layout of the device and channels first (NCHW).
  void ToChannelsLast(const float* x, float* y, const Image& image);
  void ToChannelsFirst(const float* x, float* y, const Image& image);

 private:
  uint64_t hertz_;
  std::atomic<uint64_t> busy_cycles_{0}, runs_{0};  // read while the device works
};

}  // namespace toy_npu
