// Ensembles of trees of ai.onnx.ml on the CPU.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/ml_attributes.hpp"
#include "cpu/ops/ml_tree_reader.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/cast.hpp"
#include "kernels/grain.hpp"
#include "tensor/shape.hpp"

namespace deputy::host {
namespace {

// Scores are output `scores`; of a classifier the labels are output 0.
template <class T>
class TreeKernel final : public CpuKernel {
 public:
  TreeKernel(TreeEnsemble<T> trees, std::optional<TreeClasses> classes, DType input)
      : trees_(std::move(trees)), classes_(std::move(classes)), input_(input) {}

  Status Run(const KernelArgs& args) const override {
    const ConstView x = args.input(0);
    DEPUTY_RETURN_IF_ERROR(CheckTyped(x, input_));
    DEPUTY_ASSIGN_OR_RETURN(const RowDims dims, ReadRowDims(x));
    if (dims.columns < trees_.features)
      return Error(StatusCode::kInvalidArgument, "X has {} features, the trees compare feature number {}", dims.columns,
                   trees_.features - 1);
    const MutableView labels = classes_ ? args.output(0) : MutableView(nullptr);
    const MutableView scores = args.output(classes_ ? 1 : 0);
    if (labels.present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(labels, DType::kInt64, std::array{dims.rows}));
    const DType made = scores.present() ? scores.dtype() : kDTypeOf<T>;
    if (scores.present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(scores, made, std::array{dims.rows, trees_.targets}));
    return Compute(args, dims, labels, scores, made);
  }

 private:
  Status Compute(const KernelArgs& args, const RowDims& dims, const MutableView& labels, const MutableView& scores,
                 DType made) const {
    const RowReader<T> reader(args.input(0));
    const ConvertFunction convert = made == kDTypeOf<T> ? nullptr : FindConvert(kDTypeOf<T>, made);
    // Of each thread: the scores of one row, whether there are any, and the row in the type of the thresholds.
    Arena arena;
    const size_t scores_at = arena.Reserve<T>(trees_.targets), flags_at = arena.Reserve<uint8_t>(trees_.targets),
                 row_at = arena.Reserve<T>(reader.copies() ? dims.columns : 0);
    DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes() * args.pool.thread_count()));
    const auto run = [&](int64_t begin, int64_t end) {
      char* const own = static_cast<char*>(memory) + args.pool.worker() * arena.bytes();
      T* const row_scores = reinterpret_cast<T*>(own + scores_at);
      auto* const flags = reinterpret_cast<uint8_t*>(own + flags_at);
      for (int64_t row = begin; row < end; ++row) {
        std::fill_n(row_scores, trees_.targets, T(0));
        std::memset(flags, 0, static_cast<size_t>(trees_.targets));
        trees_.Score(reader.Read(row * dims.columns, dims.columns, reinterpret_cast<T*>(own + row_at)), row_scores,
                     flags);
        if (classes_) {
          const int64_t label = FinishClassification(trees_, *classes_, row_scores, flags);
          if (labels.present()) labels.data<int64_t>()[row] = label;
        } else {
          trees_.FinishRegression(row_scores, flags);
        }
        if (!scores.present()) continue;
        if (convert == nullptr)
          std::copy_n(row_scores, trees_.targets, scores.data<T>() + row * trees_.targets);
        else
          convert(row_scores, scores.data<char>() + static_cast<size_t>(row * trees_.targets) * SizeOf(made),
                  trees_.targets);
      }
    };
    const int64_t work = static_cast<int64_t>(trees_.roots.size()) * kStepsOfTree + trees_.targets + dims.columns;
    const int64_t grain = kGrainElements / work + 1;
    args.pool.ParallelFor(dims.rows, grain, [&](int64_t begin, int64_t end) {
      InParts(end - begin, grain, [&](int64_t first, int64_t last) { run(begin + first, begin + last); });
    });
    return {};
  }

  static constexpr int64_t kStepsOfTree = 16;

  const TreeEnsemble<T> trees_;
  const std::optional<TreeClasses> classes_;
  const DType input_;
};

// The type in which features are compared with thresholds.
bool ComparesDoubles(DType input) { return input == DType::kFloat64; }

template <class T>
KernelResult MakeKernelOf(Result<TreeEnsemble<T>> trees, std::optional<TreeClasses> classes, DType input) {
  if (!trees.ok()) return std::move(trees).status();
  return KernelResult(std::make_unique<TreeKernel<T>>(std::move(trees).value(), std::move(classes), input));
}

Status CheckBaseValues(size_t count, int64_t targets, bool one_may_do) {
  if (count == 0 || count == static_cast<size_t>(targets) || (count == 1 && one_may_do)) return {};
  return Error(StatusCode::kModel, "attribute 'base_values' has {} elements, expected none or {}, one for each score",
               count, targets);
}

Status CheckInputType(const KernelSpec& spec, bool halves) {
  const DType dtype = spec.input_type(0).dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64 || (halves && dtype == DType::kFloat16)) return {};
  if (!halves && (dtype == DType::kInt32 || dtype == DType::kInt64)) return {};
  return UnsupportedDType(spec);
}

template <class T>
KernelResult MakeClassifier(const KernelSpec& spec, std::vector<int64_t> labels) {
  const Primitive& primitive = spec.primitive();
  Result<TreeEnsemble<T>> trees = ReadNumberedTrees<T>(primitive, "class", static_cast<int64_t>(labels.size()));
  if (!trees.ok()) return std::move(trees).status();
  DEPUTY_RETURN_IF_ERROR(CheckBaseValues(trees->base_values.size(), trees->targets, trees->targets == 2));
  TreeClasses classes{std::move(labels)};
  const std::span<const int64_t> ids = primitive.GetInts("class_ids");
  classes.one_class_has_weights = classes.labels.size() == 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
  DEPUTY_ASSIGN_OR_RETURN(const std::vector<T> weights, ReadReals<T>(primitive, "class_weights"));
  classes.weights_are_positive = std::none_of(weights.begin(), weights.end(), [](T weight) { return weight < 0; });
  return MakeKernelOf(std::move(trees), std::move(classes), spec.input_type(0).dtype);
}

template <class T>
KernelResult MakeRegressor(const KernelSpec& spec) {
  const Primitive& primitive = spec.primitive();
  const int64_t targets = primitive.GetInt("n_targets", 0);
  if (targets < 1)
    return Error(StatusCode::kModel, "attribute 'n_targets' is missing, expected how many scores a row has");
  Result<TreeEnsemble<T>> trees = ReadNumberedTrees<T>(primitive, "target", targets);
  if (!trees.ok()) return std::move(trees).status();
  DEPUTY_RETURN_IF_ERROR(CheckBaseValues(trees->base_values.size(), targets, false));
  const std::string_view word = primitive.GetString("aggregate_function", "SUM");
  trees->aggregate = word == "AVERAGE" ? TreeAggregate::kAverage
                     : word == "MIN"   ? TreeAggregate::kMin
                     : word == "MAX"   ? TreeAggregate::kMax
                                       : TreeAggregate::kSum;
  return MakeKernelOf(std::move(trees), std::nullopt, spec.input_type(0).dtype);
}

}  // namespace

KernelResult MakeMl_TreeEnsembleClassifier(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckInputType(spec, false));
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> labels, ReadClassLabels(spec.primitive(), "classlabels_int64s"));
  return ComparesDoubles(spec.input_type(0).dtype) ? MakeClassifier<double>(spec, std::move(labels))
                                                   : MakeClassifier<float>(spec, std::move(labels));
}

KernelResult MakeMl_TreeEnsembleRegressor(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckInputType(spec, false));
  return ComparesDoubles(spec.input_type(0).dtype) ? MakeRegressor<double>(spec) : MakeRegressor<float>(spec);
}

KernelResult MakeMl_TreeEnsemble(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckInputType(spec, true));
  const DType dtype = spec.input_type(0).dtype;
  if (ComparesDoubles(dtype)) return MakeKernelOf(ReadIndexedTrees<double>(spec.primitive()), std::nullopt, dtype);
  return MakeKernelOf(ReadIndexedTrees<float>(spec.primitive()), std::nullopt, dtype);
}

}  // namespace deputy::host
