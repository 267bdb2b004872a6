// The operators that draw numbers, on the CPU. A seed gives the same numbers in every run; without one each run has its
// own. Numbers come from SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014),
// normal ones by the method of Box and Muller.
#include <atomic>
#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <random>
#include <vector>

#include "cpu/makers.hpp"
#include "cpu/ops/untyped.hpp"
#include "kernels/cast.hpp"
#include "kernels/dispatch.hpp"

namespace deputy::host {
namespace {

class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  double Normal() {
    if (spare_) {
      const double value = *spare_;
      spare_.reset();
      return value;
    }
    const double radius = std::sqrt(-2 * std::log(1 - Uniform())), angle = 2 * std::numbers::pi * Uniform();
    spare_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  uint64_t state_;
  std::optional<double> spare_;
};

// What each run begins with.
class Seed {
 public:
  explicit Seed(const Primitive& primitive) {
    if (primitive.Has("seed")) fixed_ = std::bit_cast<uint32_t>(primitive.GetFloat("seed", 0));
  }
  Numbers Begin() const {
    static std::atomic<uint64_t> next{std::random_device()()};
    if (fixed_) return Numbers(*fixed_);
    return Numbers(Numbers(next.fetch_add(1, std::memory_order_relaxed)).Next());
  }

 private:
  std::optional<uint64_t> fixed_;
};

// Writes `count` numbers of draw() as elements of the output's type.
template <class Draw>
void Write(const MutableView& output, ConvertFunction convert, Draw draw) {
  const size_t size = SizeOf(output.dtype());
  for (int64_t i = 0; i < output.element_count(); ++i) {
    const double value = draw(i);
    convert(&value, output.data<char>() + static_cast<size_t>(i) * size, 1);
  }
}

struct Spread {
  bool normal;
  double first, second;  // mean and scale, or low and high
};

KernelResult MakeDraw(const KernelSpec& spec, Spread spread) {
  const DType dtype = spec.output_type(0).dtype;
  const ConvertFunction convert = FindConvert(DType::kFloat64, dtype);
  if (convert == nullptr || !IsFloating(dtype))
    return Error(StatusCode::kNotSupported, "{} of {}", spec.primitive().op_type(), NameOf(dtype));
  return KernelOf([convert, dtype, spread, seed = Seed(spec.primitive())](const KernelArgs& args) -> Status {
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), dtype, args.output(0).dims()));
    Numbers numbers = seed.Begin();
    Write(args.output(0), convert, [&](int64_t) {
      if (spread.normal) return spread.first + spread.second * numbers.Normal();
      return spread.first + (spread.second - spread.first) * numbers.Uniform();
    });
    return {};
  });
}

KernelResult MakeNormal(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  return MakeDraw(spec, {true, double{primitive.GetFloat("mean", 0)}, double{primitive.GetFloat("scale", 1)}});
}
KernelResult MakeUniform(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  return MakeDraw(spec, {false, double{primitive.GetFloat("low", 0)}, double{primitive.GetFloat("high", 1)}});
}

// The first class whose share of the sum reaches `at`; weights are powers of e of what the row has.
int64_t ClassAt(std::span<const double> row, double largest, double sum, double at) {
  double reached = 0;
  for (size_t c = 0; c < row.size(); ++c) {
    reached += std::exp(row[c] - largest);
    if (at * sum < reached) return static_cast<int64_t>(c);
  }
  return static_cast<int64_t>(row.size()) - 1;
}

}  // namespace

KernelResult MakeRandomNormal(const KernelSpec& spec) { return MakeNormal(spec); }
KernelResult MakeRandomNormalLike(const KernelSpec& spec) { return MakeNormal(spec); }
KernelResult MakeRandomUniform(const KernelSpec& spec) { return MakeUniform(spec); }
KernelResult MakeRandomUniformLike(const KernelSpec& spec) { return MakeUniform(spec); }

KernelResult MakeBernoulli(const KernelSpec& spec) {
  const DType from = spec.input_type(0).dtype, to = spec.output_type(0).dtype;
  const ConvertFunction widen = FindConvert(from, DType::kFloat64), convert = FindConvert(DType::kFloat64, to);
  if (!IsFloating(from) || convert == nullptr)
    return Error(StatusCode::kNotSupported, "Bernoulli from {} to {}", NameOf(from), NameOf(to));
  return KernelOf([=, seed = Seed(spec.primitive())](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    DEPUTY_ASSIGN_OR_RETURN(const size_t size, ElementBytes(input));
    DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(0), to, input.dims()));
    Numbers numbers = seed.Begin();
    Write(args.output(0), convert, [&](int64_t i) {
      double probability = 0;
      widen(input.data<char>() + static_cast<size_t>(i) * size, &probability, 1);
      return numbers.Uniform() < probability ? 1.0 : 0.0;
    });
    return {};
  });
}

KernelResult MakeMultinomial(const KernelSpec& spec) {
  const DType from = spec.input_type(0).dtype;
  const ConvertFunction widen = FindConvert(from, DType::kFloat64);
  if (!IsFloating(from)) return Error(StatusCode::kNotSupported, "Multinomial of {}", NameOf(from));
  return KernelOf([widen, seed = Seed(spec.primitive())](const KernelArgs& args) -> Status {
    const ConstView input = args.input(0);
    const MutableView output = args.output(0);
    DEPUTY_ASSIGN_OR_RETURN(const size_t size, ElementBytes(input));
    if (input.rank() != 2 || input.dim(1) == 0)
      return Error(StatusCode::kInvalidArgument, "there are no classes to choose from");
    const int64_t classes = input.dim(1);
    DEPUTY_RETURN_IF_ERROR(
        CheckOutput(output, output.dtype(), std::array{input.dim(0), output.rank() == 2 ? output.dim(1) : 0}));
    DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(static_cast<size_t>(classes) * sizeof(double)));
    const std::span<double> row(static_cast<double*>(memory), static_cast<size_t>(classes));
    Numbers numbers = seed.Begin();
    double largest = 0, sum = 0;
    Write(output, FindConvert(DType::kFloat64, output.dtype()), [&](int64_t i) {
      if (i % output.dim(1) == 0) {
        widen(input.data<char>() + static_cast<size_t>(i / output.dim(1) * classes) * size, row.data(), classes);
        largest = *std::max_element(row.begin(), row.end());
        sum = 0;
        for (const double value : row) sum += std::exp(value - largest);
      }
      return static_cast<double>(ClassAt(row, largest, sum, numbers.Uniform()));
    });
    return {};
  });
}

}  // namespace deputy::host
