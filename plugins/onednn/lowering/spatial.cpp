// Resampling, normalization over neighbouring channels, and reductions.
#include <algorithm>
#include <vector>

#include "lowering/suited.hpp"

namespace onednn {
namespace {

// Are exactly the spatial dimensions reduced? That is a global pool.
bool AreSpatial(const memory::dims& x, const memory::dims& y) {
  if (x.size() < 3 || x[0] != y[0] || x[1] != y[1]) return false;
  return CountOf(y) == y[0] * y[1];
}

// Adjacent reduced dimensions: the number of sums, and the number and stride of each sum's elements.
struct Sums {
  int64_t before = 1, count = 1, apart = 1;
};
std::optional<Sums> AsSums(const memory::dims& x, const memory::dims& y) {
  Sums sums;
  int part = 0;  // before, in and behind the reduced dimensions
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 1) continue;
    const bool reduced = y[i] == 1;
    if (reduced ? part == 2 : part == 1) ++part;
    if (reduced && part == 0) part = 1;
    if (part > 2) return std::nullopt;
    (reduced ? sums.count : part == 0 ? sums.before : sums.apart) *= x[i];
  }
  return sums;
}

constexpr int64_t kTile = 16;  // columns that are joined together, independent of each other

// Joins rows of kTile elements. Number: float64 for sums, whose rounding errors would grow with their length.
template <class Number, class Join>
inline __attribute__((always_inline)) void JoinTile(const float* x, Number* y, int64_t rows, int64_t apart,
                                                    const Join& join) {
  Number joined[kTile];  // in registers: nothing else can be there
  for (int64_t lane = 0; lane < kTile; ++lane) joined[lane] = static_cast<Number>(x[lane]);
  for (int64_t row = 1; row < rows; ++row)
    for (int64_t lane = 0; lane < kTile; ++lane)
      joined[lane] = join(joined[lane], static_cast<Number>(x[row * apart + lane]));
  std::copy_n(joined, kTile, y);
}

#if defined(__x86_64__)
template <class Number, class Join>
__attribute__((target("avx2"))) void JoinTileWide(const float* x, Number* y, int64_t rows, int64_t apart,
                                                  const Join& join) {
  JoinTile(x, y, rows, apart, join);
}
#endif

// Joins rows of at most kTile elements.
template <class Number, class Join>
void JoinRows(const float* x, Number* y, int64_t rows, int64_t apart, int64_t width, const Join& join) {
#if defined(__x86_64__)
  if (width == kTile && __builtin_cpu_supports("avx2")) return JoinTileWide(x, y, rows, apart, join);
#endif
  if (width == kTile) return JoinTile(x, y, rows, apart, join);
  std::copy_n(x, width, y);
  for (int64_t row = 1; row < rows; ++row)
    for (int64_t lane = 0; lane < width; ++lane) y[lane] = join(y[lane], static_cast<Number>(x[row * apart + lane]));
}

template <class Number, class Join>
Number JoinRow(const float* row, int64_t count, const Join& join) {
  Number lanes[kTile] = {};
  const int64_t used = std::min(count, kTile), rows = std::max<int64_t>(1, count / kTile);
  JoinRows(row, lanes, rows, kTile, used, join);
  Number result = lanes[0];
  for (int64_t lane = 1; lane < used; ++lane) result = join(result, lanes[lane]);
  for (int64_t at = used * rows; at < count; ++at) result = join(result, static_cast<Number>(row[at]));
  return result;
}

template <class Number, class Join>
void Reduce(const float* x, float* y, const Sums& sums, const Join& join, Number scale = 1) {
  const int64_t tiles = (sums.apart + kTile - 1) / kTile;
#pragma omp parallel for if (sums.before * sums.count * sums.apart > (1 << 16))
  for (int64_t task = 0; task < sums.before * tiles; ++task) {
    const int64_t block = task / tiles, at = task % tiles * kTile;
    const float* const from = x + block * sums.count * sums.apart + at;
    float* const to = y + block * sums.apart + at;
    if (sums.apart == 1) {
      *to = static_cast<float>(JoinRow<Number>(from, sums.count, join) * scale);
      continue;
    }
    const int64_t width = std::min(kTile, sums.apart - at);
    Number tile[kTile];
    JoinRows(from, tile, sums.count, sums.apart, width, join);
    for (int64_t lane = 0; lane < width; ++lane) to[lane] = static_cast<float>(tile[lane] * scale);
  }
}

// oneDNN calls a kernel for every element of the result, and has only a reference where rows are not the last
// dimension.
void LowerShortSums(const Operation& operation, const Reduction& parameters, const Sums& sums, Lowering& lowering) {
  const Slot source = lowering.PlainOf(operation.inputs[0]);
  const Slot result = lowering.Result(operation.output, Plain(lowering.program().dims(operation.output)));
  lowering.EmitFunction(
      "reduce", {source, result}, [sums, algorithm = parameters.algorithm](const std::vector<char*>& data) {
        const float* const from = reinterpret_cast<const float*>(data[0]);
        float* const to = reinterpret_cast<float*>(data[1]);
        if (algorithm == dnnl::algorithm::reduction_max)
          return Reduce<float>(from, to, sums, [](float a, float b) { return (b > a) | (b != b) ? b : a; });
        if (algorithm == dnnl::algorithm::reduction_min)
          return Reduce<float>(from, to, sums, [](float a, float b) { return (b < a) | (b != b) ? b : a; });
        const bool mean = algorithm == dnnl::algorithm::reduction_mean;
        const double scale = mean ? 1 / static_cast<double>(sums.count) : 1;
        Reduce<double>(
            from, to, sums, [](double a, double b) { return a + b; }, scale);
      });
}

}  // namespace

void LowerResample(const Operation& operation, const Resample& parameters, Lowering& lowering) {
  NoteRowMajor(lowering, operation.inputs[0]);
  const memory::desc any = Any(lowering.program().dims(operation.output));
  const auto describe = [&](const memory::desc& source, const dnnl::primitive_attr& attributes) {
    const dnnl::resampling_forward::desc wanted(dnnl::prop_kind::forward_inference, parameters.algorithm, source, any);
    return dnnl::resampling_forward::primitive_desc(wanted, attributes, lowering.engine());
  };
  const Slot source = Suited(lowering, operation.inputs[0], describe);
  PostOps post_ops(operation, lowering, any);
  const auto chosen =
      post_ops.Fit([&](const dnnl::primitive_attr& attributes) { return describe(source.desc, attributes); });
  post_ops.Emit<dnnl::resampling_forward>(chosen, {{DNNL_ARG_SRC, source}}, chosen.dst_desc(), chosen.dst_desc());
}

void LowerReduction(const Operation& operation, const Reduction& parameters, Lowering& lowering) {
  const memory::dims y = lowering.program().dims(operation.output);
  const memory::dims x = lowering.program().dims(operation.inputs[0]);
  const bool mean = parameters.algorithm == dnnl::algorithm::reduction_mean;
  const bool row_major = IsPlain(lowering.Native(operation.inputs[0]).desc);
  if (!row_major && AreSpatial(x, y) && (mean || parameters.algorithm == dnnl::algorithm::reduction_max)) {
    const memory::dims kernel(x.begin() + 2, x.end()), ones(kernel.size(), 1), zeros(kernel.size(), 0);
    const Pool pool{mean ? dnnl::algorithm::pooling_avg_exclude_padding : dnnl::algorithm::pooling_max,
                    kernel,
                    {ones, zeros, zeros, zeros}};
    return LowerPool(operation, pool, lowering);
  }
  constexpr int64_t kLongRow = 4096;
  if (const auto sums = AsSums(x, y); sums && (sums->count < kLongRow || sums->apart > 1))
    return LowerShortSums(operation, parameters, *sums, lowering);
  const Slot source = lowering.Dense(operation.inputs[0]);
  const memory::desc target = PlainLike(source.desc, y).value_or(Plain(y));
  const dnnl::reduction::desc wanted(parameters.algorithm, source.desc, target, 0, 0);
  const dnnl::reduction::primitive_desc chosen(wanted, OwnScratchpad(), lowering.engine());
  lowering.Emit<dnnl::reduction>(chosen,
                                 {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, lowering.Result(operation.output, target)}});
}

// Never with channels last: oneDNN's kernel for that is 2 to 80 times slower than a plain loop.
void LowerLrn(const Operation& operation, const Lrn& parameters, Lowering& lowering) {
  const auto describe = [&](const memory::desc& source, const dnnl::primitive_attr& attributes) {
    const dnnl::lrn_forward::desc wanted(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
                                         source, parameters.size, parameters.alpha, parameters.beta, parameters.k);
    return dnnl::lrn_forward::primitive_desc(wanted, attributes, lowering.engine());
  };
  std::vector<memory::desc> layouts = {lowering.Dense(operation.inputs[0]).desc,
                                       Plain(lowering.program().dims(operation.output))};
  if (layouts[0] == ChannelsLast(layouts[0].dims())) layouts.erase(layouts.begin());
  const Slot source = Suited(lowering, operation.inputs[0], layouts, describe);
  const auto chosen = describe(source.desc, OwnScratchpad());
  lowering.Emit<dnnl::lrn_forward>(
      chosen, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, lowering.Result(operation.output, chosen.dst_desc())}});
}

}  // namespace onednn
