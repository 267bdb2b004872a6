// Kernels of the CPU on the shapes of well-known networks, at the level that the machine has. The argument is the
// number of threads; `items` are multiplications, or elements where there are none.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/convolution.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/reduce.hpp"
#include "kernels/unary.hpp"

namespace deputy::host {
namespace {

using Workspace = std::unique_ptr<void, void (*)(void*)>;
Workspace Allocate(size_t bytes) { return {std::aligned_alloc(64, (bytes / 64 + 1) * 64), std::free}; }

struct Convolution {
  int64_t group, channels, filters, extent, kernel, stride;  // square, padded by half the kernel
};

void Convolve(benchmark::State& state, const Convolution& c) {
  const std::vector<int64_t> kernel(2, c.kernel), strides(2, c.stride), pads(4, c.kernel / 2), in(2, c.extent);
  WindowOptions options;
  options.kernel = kernel;
  options.strides = strides;
  options.pads = pads;
  ConvolutionShape shape;
  shape.window = MakeWindow(options).value();
  shape.batch = 1;
  shape.group = c.group;
  shape.in_channels = c.channels;
  shape.out_channels = c.filters;
  shape.in[0] = shape.in[1] = c.extent;
  if (!ResolveWindow(shape.window, in, shape.out).ok()) return state.SkipWithError("the window does not fit");
  ThreadPool pool(static_cast<uint32_t>(state.range(0)));
  const int64_t taps = c.kernel * c.kernel, positions = shape.out[0] * shape.out[1];
  const std::vector<float> x(static_cast<size_t>(c.channels * c.extent * c.extent), 0.5f);
  const std::vector<float> w(static_cast<size_t>(c.filters * c.channels / c.group * taps), 0.25f);
  std::vector<float> y(static_cast<size_t>(c.filters * positions));
  const Workspace workspace = Allocate(ConvolutionWorkspace<float>(shape, pool));
  for (auto _ : state) Convolve<float>(shape, x.data(), w.data(), nullptr, y.data(), workspace.get(), pool);
  state.SetItemsProcessed(state.iterations() * c.filters * c.channels / c.group * taps * positions);
}
#define DEPUTY_CONVOLUTION(name, ...) BENCHMARK_CAPTURE(Convolve, name, Convolution{__VA_ARGS__})->Arg(1)->Arg(2)
DEPUTY_CONVOLUTION(first_layer, 1, 3, 64, 224, 7, 2);
DEPUTY_CONVOLUTION(large_image, 1, 64, 64, 56, 3, 1);
DEPUTY_CONVOLUTION(small_image, 1, 512, 512, 7, 3, 1);
DEPUTY_CONVOLUTION(one_tap, 1, 256, 1024, 14, 1, 1);
DEPUTY_CONVOLUTION(one_tap_strided, 1, 256, 512, 56, 1, 2);
DEPUTY_CONVOLUTION(depthwise, 144, 144, 144, 56, 3, 1);
DEPUTY_CONVOLUTION(depthwise_strided, 144, 144, 144, 56, 3, 2);
DEPUTY_CONVOLUTION(depthwise_small, 960, 960, 960, 7, 3, 1);

void Multiply(benchmark::State& state, int64_t m, int64_t n, int64_t k, bool transpose_b) {
  ThreadPool pool(static_cast<uint32_t>(state.range(0)));
  const std::vector<float> a(static_cast<size_t>(m * k), 0.5f), b(static_cast<size_t>(k * n), 0.25f);
  std::vector<float> c(static_cast<size_t>(m * n));
  linalg::GemmArgs<float> args;
  args.m = m;
  args.n = n;
  args.k = k;
  args.a = a.data();
  args.lda = k;
  args.b = b.data();
  args.ldb = transpose_b ? k : n;
  args.transpose_b = transpose_b;
  args.c = c.data();
  args.ldc = n;
  const Workspace workspace = Allocate(ProductWorkspace(args, pool));
  for (auto _ : state) MultiplyMatrices(args, workspace.get(), pool);
  state.SetItemsProcessed(state.iterations() * m * n * k);
}
BENCHMARK_CAPTURE(Multiply, feed_forward, 128, 1536, 384, false)->Arg(1)->Arg(2);
BENCHMARK_CAPTURE(Multiply, attention, 128, 128, 32, false)->Arg(1);
BENCHMARK_CAPTURE(Multiply, classifier, 1, 1000, 2048, true)->Arg(1)->Arg(2);
BENCHMARK_CAPTURE(Multiply, cube, 1000, 1000, 1000, false)->Arg(1)->Arg(2);

void ApplyUnary(benchmark::State& state, UnaryOp op) {
  ThreadPool pool(static_cast<uint32_t>(state.range(0)));
  std::vector<float> x(1 << 20, 0.5f), y(x.size());
  const int64_t count = static_cast<int64_t>(x.size());
  for (auto _ : state) Unary(op, DType::kFloat32, {}, x.data(), y.data(), count, pool);
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK_CAPTURE(ApplyUnary, relu, UnaryOp::kRelu)->Arg(1)->Arg(2);
BENCHMARK_CAPTURE(ApplyUnary, erf, UnaryOp::kErf)->Arg(1)->Arg(2);
BENCHMARK_CAPTURE(ApplyUnary, tanh, UnaryOp::kTanh)->Arg(1)->Arg(2);

void ApplySoftmax(benchmark::State& state) {
  ThreadPool pool(static_cast<uint32_t>(state.range(0)));
  std::vector<float> x(1536 * 128, 0.5f), y(x.size());
  for (auto _ : state) Softmax(SoftmaxOp::kSoftmax, DType::kFloat32, {1536, 128, 1}, x.data(), y.data(), pool);
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(x.size()));
}
BENCHMARK(ApplySoftmax)->Arg(1)->Arg(2);

}  // namespace
}  // namespace deputy::host
