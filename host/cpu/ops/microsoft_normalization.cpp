// The layer normalizations of com.microsoft on the CPU, which add their inputs first, and SimplifiedLayerNormalization.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/linalg/rows.hpp"
#include "kernels/slots.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

struct Statistics {
  double mean = 0, inverse = 0;
};

// One row, to mean 0 unless `simplified`, and to mean square 1; then scaled and, if beta is not null, shifted by
// element.
template <class T>
Statistics NormalizeRow(const T* x, const T* gamma, const T* beta, int64_t size, double epsilon, bool simplified,
                        T* y) {
  const double count = static_cast<double>(size);
  Statistics found;
  if constexpr (std::is_same_v<T, float>) {
    if (!simplified) found.mean = linalg::Sum(x, size) / count;
    found.inverse = 1 / std::sqrt(linalg::SumOfSquares(x, size, found.mean) / count + epsilon);
    linalg::Normalize(x, size, static_cast<float>(found.mean), static_cast<float>(found.inverse), gamma, beta, y);
  } else {
    double squares = 0;
    if (!simplified) found.mean = std::accumulate(x, x + size, 0.0) / count;
    for (int64_t i = 0; i < size; ++i) squares += (x[i] - found.mean) * (x[i] - found.mean);
    found.inverse = 1 / std::sqrt(squares / count + epsilon);
    for (int64_t i = 0; i < size; ++i)
      y[i] = (x[i] - found.mean) * found.inverse * gamma[i] + (beta == nullptr ? T(0) : beta[i]);
  }
  return found;
}

struct SkipAttributes {
  double epsilon;
  bool simplified;  // no mean is subtracted, and there is no beta
};

// The sum of input, skip and bias, normalized row by row.
template <class T>
class SkipNormalization {
 public:
  static constexpr uint32_t kTypedInputs = 0b11111, kTypedOutputs = 0b1001;
  struct Plan {
    int64_t rows = 0, size = 0, skipped = 0;  // rows of skip
    size_t workspace_bytes = 0;
  };

  explicit SkipNormalization(SkipAttributes attributes) : attributes_(attributes) {}

  Result<Plan> MakePlan(const KernelArgs& args) const {
    const ConstView x = args.input(0), skip = args.input(1);
    if (x.rank() < 2 || x.dims().back() == 0)
      return Error(StatusCode::kInvalidArgument, "input {} has rank below 2 or is empty", ShapeToString(x.dims()));
    Plan plan;
    plan.size = x.dims().back();
    plan.rows = ElementCount(x.dims().first(x.rank() - 1));
    plan.skipped = skip.rank() == 0 ? 0 : ElementCount(skip.dims().first(skip.rank() - 1));
    // The skip may have no batch axis, or one of extent 1.
    const size_t own = skip.rank() == x.rank() && skip.dim(0) == 1 ? 1 : x.rank() - std::min(x.rank(), skip.rank());
    const std::span<const int64_t> wanted = x.dims().subspan(std::min(own, x.rank()));
    const std::span<const int64_t> got = skip.dims().subspan(skip.rank() - std::min(skip.rank(), wanted.size()));
    const bool fits = skip.rank() <= x.rank() && skip.rank() >= 2 && own <= 1;
    if (!fits) return Error(StatusCode::kInvalidArgument, "skip {} does not match input", ShapeToString(skip.dims()));
    DEPUTY_RETURN_IF_ERROR(CheckDims(got, wanted, "skip"));
    const int64_t row[] = {plan.size};
    for (size_t i = 2; i < args.inputs.size(); ++i)
      if (args.input(i).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.input(i).dims(), row, "gamma, beta or bias"));
    for (const size_t i : {size_t{0}, size_t{3}})
      if (args.output(i).present()) DEPUTY_RETURN_IF_ERROR(CheckDims(args.output(i).dims(), x.dims(), "an output"));
    for (const size_t i : {size_t{1}, size_t{2}})
      if (args.output(i).present() &&
          (args.output(i).dtype() != DType::kFloat32 || args.output(i).element_count() != plan.rows))
        return Error(StatusCode::kInternal, "mean or inv_std_var of shape {} must be float32 with one element per row",
                     ShapeToString(args.output(i).dims()));
    if (!args.output(3).present())
      plan.workspace_bytes = static_cast<size_t>(SlotCount(args.pool, plan.rows) * plan.size) * sizeof(T);
    return plan;
  }

  Status Compute(const Plan& plan, const KernelArgs& args, void* workspace) const {
    const ConstView beta = args.input(attributes_.simplified ? SIZE_MAX : 3);
    const ConstView bias = args.input(attributes_.simplified ? 3 : 4);
    const T *x = args.input(0).data<T>(), *skip = args.input(1).data<T>(), *gamma = args.input(2).data<T>();
    const T* const shift = beta.present() ? beta.data<T>() : nullptr;
    const T* const added = bias.present() ? bias.data<T>() : nullptr;
    T* const y = args.output(0).data<T>();
    const int64_t size = plan.size;
    constexpr int64_t kRows = 8;  // an item of work
    ForEachInSlots(args.pool, (plan.rows + kRows - 1) / kRows, [&](int64_t item, int64_t slot) {
      for (int64_t row = item * kRows; row < std::min(plan.rows, (item + 1) * kRows); ++row) {
        T* const sum =
            args.output(3).present() ? args.output(3).data<T>() + row * size : static_cast<T*>(workspace) + slot * size;
        Add(x + row * size, skip + row % plan.skipped * size, size, sum);
        if (added != nullptr) Add(sum, added, size, sum);
        const Statistics found =
            NormalizeRow(sum, gamma, shift, size, attributes_.epsilon, attributes_.simplified, y + row * size);
        if (args.output(1).present()) args.output(1).data<float>()[row] = static_cast<float>(found.mean);
        if (args.output(2).present()) args.output(2).data<float>()[row] = static_cast<float>(found.inverse);
      }
    });
    return {};
  }

 private:
  static void Add(const T* a, const T* b, int64_t count, T* y) {
    if constexpr (std::is_same_v<T, float>)
      linalg::Apply(linalg::PairFunction::kAdd, a, 1, b, 1, count, y);
    else
      for (int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
  }

  SkipAttributes attributes_;
};

// Reads embeddings: a row of a table as float32.
class EmbeddingTable {
 public:
  explicit EmbeddingTable(const ConstView& table)
      : table_(table), convert_(table.present() ? FindConvert(table.dtype(), DType::kFloat32) : nullptr) {}
  int64_t rows() const { return table_.dim(0); }
  void Read(int64_t row, int64_t size, float* to) const {
    convert_(table_.data<char>() + static_cast<size_t>(row * size) * SizeOf(table_.dtype()), to, size);
  }

 private:
  ConstView table_;
  ConvertFunction convert_;
};

Status CheckIndex(int64_t index, int64_t count, const char* subject) {
  if (index >= 0 && index < count) return {};
  return Error(StatusCode::kInvalidArgument, "{} index {} is outside [0, {})", subject, index, count);
}

constexpr size_t kWords = 2, kPositions = 3, kSegments = 4, kGamma = 5, kBeta = 6;

Status CheckEmbedding(const KernelArgs& args, DType dtype) {
  const ConstView ids = args.input(0), words = args.input(kWords);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{7}, size_t{8}}) {
    if (!args.input(i).present()) continue;
    DEPUTY_RETURN_IF_ERROR(CheckTyped(args.input(i), DType::kInt32));
    const bool shared = i == 8 && args.input(i).rank() == 2 && args.input(i).dim(0) == 1;
    if (!shared) DEPUTY_RETURN_IF_ERROR(CheckDims(args.input(i).dims(), ids.dims(), "an input of ids"));
    if (shared && (ids.rank() != 2 || args.input(i).dim(1) != ids.dim(1)))
      return Error(StatusCode::kInvalidArgument, "position_ids of shape {} does not match input_ids",
                   ShapeToString(args.input(i).dims()));
  }
  if (ids.rank() != 2 || words.rank() != 2 || words.dim(1) == 0)
    return Error(StatusCode::kInvalidArgument, "input_ids {} and word_embedding {} must be matrices",
                 ShapeToString(ids.dims()), ShapeToString(words.dims()));
  if (args.input(1).present() != args.input(kSegments).present())
    return Error(StatusCode::kInvalidArgument, "segment_ids and segment_embedding must be given together");
  const int64_t size = words.dim(1);
  for (size_t i = kWords; i <= kBeta; ++i) {
    if (!args.input(i).present()) continue;
    DEPUTY_RETURN_IF_ERROR(CheckTyped(args.input(i), dtype));
    const bool table = i < kGamma;
    if (args.input(i).rank() != (table ? 2u : 1u) || args.input(i).dims().back() != size)
      return Error(StatusCode::kInvalidArgument, "input {} of shape {} does not match the hidden size {}", i,
                   ShapeToString(args.input(i).dims()), size);
  }
  const int64_t wanted[] = {ids.dim(0), ids.dim(1), size};
  for (const size_t i : {size_t{0}, size_t{2}})
    if (args.output(i).present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(args.output(i), dtype, wanted));
  if (args.output(1).present()) return CheckOutput(args.output(1), DType::kInt32, ids.dims().first(1));
  return {};
}

// Normalized sums of the embeddings of words, positions and segments.
Status RunEmbedding(const KernelArgs& args, DType dtype, double epsilon) {
  DEPUTY_RETURN_IF_ERROR(CheckEmbedding(args, dtype));
  const ConstView ids = args.input(0), segments = args.input(1), positions = args.input(8), mask = args.input(7);
  const EmbeddingTable words(args.input(kWords)), places(args.input(kPositions)), parts(args.input(kSegments));
  const int64_t size = args.input(kWords).dim(1), length = ids.dim(1), rows = ids.dim(0) * length;
  const auto place_of = [&](int64_t row) -> int64_t {
    if (!positions.present()) return row % length;
    return positions.data<int32_t>()[positions.dim(0) == 1 ? row % length : row];
  };
  for (int64_t row = 0; row < rows; ++row) {
    DEPUTY_RETURN_IF_ERROR(CheckIndex(ids.data<int32_t>()[row], words.rows(), "word"));
    DEPUTY_RETURN_IF_ERROR(CheckIndex(place_of(row), places.rows(), "position"));
    if (segments.present()) DEPUTY_RETURN_IF_ERROR(CheckIndex(segments.data<int32_t>()[row], parts.rows(), "segment"));
  }
  const int64_t slots = SlotCount(args.pool, rows);
  DEPUTY_ASSIGN_OR_RETURN(void* const memory,
                          args.scratch.Get(static_cast<size_t>((2 + 2 * slots) * size) * sizeof(float)));
  float *const gamma = static_cast<float*>(memory), *const beta = gamma + size;
  EmbeddingTable(args.input(kGamma)).Read(0, size, gamma);
  EmbeddingTable(args.input(kBeta)).Read(0, size, beta);
  const ConvertFunction narrow = FindConvert(DType::kFloat32, dtype);
  const auto put = [&](size_t output, int64_t row, const float* from) {
    char* const to = args.output(output).data<char>() + static_cast<size_t>(row * size) * SizeOf(dtype);
    narrow(from, to, size);
  };
  ForEachInSlots(args.pool, rows, slots, [&](int64_t row, int64_t slot) {
    float *const sum = beta + size + 2 * slot * size, *const other = sum + size;
    words.Read(ids.data<int32_t>()[row], size, sum);
    places.Read(place_of(row), size, other);
    linalg::Apply(linalg::PairFunction::kAdd, sum, 1, other, 1, size, sum);
    if (segments.present()) {
      parts.Read(segments.data<int32_t>()[row], size, other);
      linalg::Apply(linalg::PairFunction::kAdd, sum, 1, other, 1, size, sum);
    }
    if (args.output(2).present()) put(2, row, sum);
    NormalizeRow(sum, gamma, beta, size, epsilon, false, other);
    put(0, row, other);
  });
  if (!args.output(1).present()) return {};
  for (int64_t batch = 0; batch < ids.dim(0); ++batch) {
    const int32_t* const flags = mask.present() ? mask.data<int32_t>() + batch * length : nullptr;
    args.output(1).data<int32_t>()[batch] =
        flags == nullptr ? 0 : static_cast<int32_t>(std::count(flags, flags + length, 1));
  }
  return {};
}

}  // namespace

KernelResult MakeMicrosoft_SkipLayerNormalization(const KernelSpec& spec) {
  const SkipAttributes attributes{static_cast<double>(spec.primitive().GetFloat("epsilon", 1e-12f)), false};
  return MakeFloatKernel<SkipNormalization>(spec, attributes);
}

KernelResult MakeMicrosoft_SkipSimplifiedLayerNormalization(const KernelSpec& spec) {
  const SkipAttributes attributes{static_cast<double>(spec.primitive().GetFloat("epsilon", 1e-12f)), true};
  return MakeFloatKernel<SkipNormalization>(spec, attributes);
}

KernelResult MakeSimplifiedLayerNormalization(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(RefuseOutput(spec, 1, "inv_std_var"));
  return MakeRMSNormalization(spec);
}

KernelResult MakeMicrosoft_EmbedLayerNormalization(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRequired(spec));
  DEPUTY_RETURN_IF_ERROR(RequireInputs(spec, {kWords, kPositions, kGamma, kBeta}));
  const DType dtype = spec.input_type(kWords).dtype;
  if (!IsFloating(dtype) || dtype == DType::kFloat64)
    return Error(StatusCode::kNotSupported, "EmbedLayerNormalization of {} is not supported", NameOf(dtype));
  const double epsilon = static_cast<double>(spec.primitive().GetFloat("epsilon", 1e-12f));
  return KernelOf([dtype, epsilon](const KernelArgs& args) { return RunEmbedding(args, dtype, epsilon); });
}

}  // namespace deputy::host
