// The linear algebra of the neural operators: one interface, computed by the best instruction set of the machine
// (Level). All functions run on the calling thread; callers divide the work among threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deputy::host::linalg {

// C[m,n] = alpha * op(A)[m,k] * op(B)[k,n] + beta * C, all row-major. A leading dimension is the distance between two
// stored rows. With beta == 0 the old C is not read, and `row_bias`, if not null, is added to each row.
template <class T>
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;
  bool transpose_a = false;
  const T* b = nullptr;
  int64_t ldb = 0;
  bool transpose_b = false;
  T* c = nullptr;
  int64_t ldc = 0;
  T alpha = T(1), beta = T(0);
  const T* row_bias = nullptr;  // one element per row of C
  // A, floats, is packed by PackLeft: its rows [first_row, first_row + m), the first a multiple of kRowBlock, of which
  // it has `lda`. alpha and transpose_a had their effect when it was packed.
  bool a_is_packed = false;
  int64_t first_row = 0;
  // B is stored in panels of PanelWidth columns, each of them k rows without gaps; the last one is padded to its width.
  // ldb is the distance between two panels.
  bool b_in_panels = false;
  bool b_is_signed = false;  // of quads
  // Asked between blocks of a product, which take about a millisecond; if true, the rest is left out. Null: never. Gemm
  // sets it for long products inside a CancellationScope.
  bool (*ends)(void* self) = nullptr;
  void* ends_self = nullptr;
};

// Two integers of 16 bits, the first one in the lower half. The product of two pairs is the sum of the products of
// their halves; its sums are int32, which wrap. A and B of a product hold pairs (neighbours along k), C and `row_bias`
// hold int32 under the same name; alpha is 1, beta 0 or 1. 8-bit integers without their zero points are multiplied this
// way.
enum class Int16Pair : int32_t {};

// Four integers of 8 bits, the first one in the lowest byte: one factor's are signed, the other's are not. The product
// of two is the sum of the products; C and `row_bias` hold int32, as of pairs. B is the signed factor if b_is_signed.
enum class Int8Quad : int32_t {};

// Whether the active level multiplies quads; exactly where QuadFits holds for every quad of the signed factor.
bool HasQuads();
// The sum of two neighbouring products has 16 bits with any bytes of the other factor.
inline bool QuadFits(const int8_t* quad) {
  constexpr int kMost = 32767 / 255;
  const auto fits = [](int a, int b) {
    const int positive = (a > 0 ? a : 0) + (b > 0 ? b : 0), negative = (a < 0 ? a : 0) + (b < 0 ? b : 0);
    return positive <= kMost && negative >= -kMost;
  };
  return fits(quad[0], quad[1]) && fits(quad[2], quad[3]);
}

// `workspace` has GemmWorkspace bytes, aligned to 64, which depend only on extents and flags; fewer rows, fewer columns
// or a smaller k need no more. [any-thread]
size_t GemmWorkspace(const GemmArgs<float>& args);
size_t GemmWorkspace(const GemmArgs<double>& args);
size_t GemmWorkspace(const GemmArgs<Int16Pair>& args);
size_t GemmWorkspace(const GemmArgs<Int8Quad>& args);
void Gemm(const GemmArgs<float>& args, void* workspace);
void Gemm(const GemmArgs<double>& args, void* workspace);
void Gemm(const GemmArgs<Int16Pair>& args, void* workspace);
void Gemm(const GemmArgs<Int8Quad>& args, void* workspace);

// A multiple of the rows of a register block at every level.
inline constexpr int64_t kRowBlock = 24;

// Writes A, m * k elements, in the order in which products read it. The order is that of the active level: a product at
// another level cannot read it. [any-thread]
void PackLeft(const GemmArgs<float>& args, float* packed);
// Writes B in panels: as many whole ones as n needs, each of k * PanelWidth elements. [any-thread]
void PackRight(const GemmArgs<float>& args, float* panels);

// Columns of a panel of B, for float, double, pairs or quads; at most kMaxPanelWidth. Depends on the active level.
inline constexpr int64_t kMaxPanelWidth = 32;
template <class T>
int64_t PanelWidth();

// Rows of a panel: to[r * to_step + i] = from[r * from_step + i * stride] for first <= i < stop, 0 for the other i <
// count. No other memory is accessed. [any-thread]
template <class T>
struct GatherArgs {
  int64_t rows = 0, count = 0, first = 0, stop = 0, stride = 1;
  const T* from = nullptr;  // element 0, which may be outside of memory
  int64_t from_step = 0;
  T* to = nullptr;
  int64_t to_step = 0;
};

void GatherRows(const GatherArgs<float>& args);
void GatherRows(const GatherArgs<double>& args);
void GatherRows(const GatherArgs<Int16Pair>& args);
void GatherRows(const GatherArgs<Int8Quad>& args);

// A plane convolved with one filter: y[i, j] = bias + sum over the kernel of weights[a, b] * x[i * stride + a *
// dilation - pad, ...], where x is zero outside. The stride of the columns is 1 or 2. Pairs are rows, columns.
// [any-thread]
template <class T>
struct PlaneArgs {
  const T* x = nullptr;
  int64_t in[2] = {};
  T* y = nullptr;
  int64_t out[2] = {};
  const T* weights = nullptr;
  int64_t kernel[2] = {}, strides[2] = {}, dilations[2] = {}, pads[2] = {};  // pads before
  T bias = 0;
  const T* zeros = nullptr;  // in[1] elements
};

void ConvolvePlane(const PlaneArgs<float>& args);
void ConvolvePlane(const PlaneArgs<double>& args);

// Weighted sums of shifted rows: y[r * y_step + i] = bias + sum over t < taps of weights[t] * x[r * x_step + offsets[t]
// + i], for r < rows and i < count. [any-thread]
template <class T>
struct TapsArgs {
  int64_t rows = 0, count = 0, taps = 0;
  const T* x = nullptr;
  int64_t x_step = 0;
  const int64_t* offsets = nullptr;
  const T* weights = nullptr;
  T bias = 0;
  T* y = nullptr;
  int64_t y_step = 0;
};

void SumTaps(const TapsArgs<float>& args);
void SumTaps(const TapsArgs<double>& args);

// Planes convolved with filters of 3 x 3 taps, without strides and dilations, by Winograd's minimal filtering
// F(2 x 2, 3 x 3) (A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015): the output is
// computed in tiles of 2 x 2, counted row by row. Pairs are rows, columns.
struct WinogradArgs {
  int64_t channels = 0, filters = 0;
  const float* x = nullptr;  // the first channel
  int64_t in[2] = {};
  float* y = nullptr;  // of the first filter
  int64_t out[2] = {};
  int64_t pads[2] = {};            // before
  const float* weights = nullptr;  // transformed by PackWinograd
  const float* bias = nullptr;     // one element per filter, or null
  int64_t first_tile = 0, tiles = 0;
  int64_t first_filter = 0, filter_count = 0;  // the first is a multiple of kRowBlock
};

// Transforms weights [args.filters, args.channels, 3, 3] into 16 * filters * channels elements, in an order of the
// active level, as PackLeft. [any-thread]
void PackWinograd(const float* weights, const WinogradArgs& args, float* packed);
// `workspace` has WinogradWorkspace bytes, aligned to 64; fewer tiles or filters need no more. The results do not
// depend on the division into tiles and filters. [any-thread]
size_t WinogradWorkspace(const WinogradArgs& args);
void ConvolveWinograd(const WinogradArgs& args, void* workspace);

enum class Level {
  kBaseline,
  kV3,
  kV4
};  // any CPU of the architecture; AVX2 with FMA and F16C; AVX-512 F, BW, CD, DQ, VL

constexpr const char* NameOf(Level level) {
  switch (level) {
    case Level::kBaseline: return "baseline";
    case Level::kV3: return "v3";
    case Level::kV4: return "v4";
  }
  return "unknown";
}

// True when this build contains the level and this CPU supports it.
bool Available(Level level);
Level ActiveLevel();
// Process-wide; false, without a change, when the level is not available. [any-thread, between products]
bool Select(Level level);

}  // namespace deputy::host::linalg
