// Linear models of ai.onnx.ml on the CPU.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/ml_attributes.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/grain.hpp"

namespace deputy::host {
namespace {

// One list of coefficients and one intercept for each score, which is computed in T.
template <class T>
struct LinearModel {
  std::vector<T> coefficients, intercepts;
  int64_t scores = 0, features = 0;
  ScoreTransform transform = ScoreTransform::kIdentity;

  void Score(const T* row, float* to) const {
    for (int64_t i = 0; i < scores; ++i)
      to[i] = static_cast<float>(DotProduct(row, coefficients.data() + i * features, features) +
                                 (intercepts.empty() ? 0 : intercepts[static_cast<size_t>(i)]));
  }
};

template <class T>
Result<LinearModel<T>> ReadLinearModel(const Primitive& primitive, int64_t scores) {
  LinearModel<T> model;
  const std::span<const float> coefficients = primitive.GetFloats("coefficients");
  const auto count = static_cast<int64_t>(coefficients.size());
  if (count == 0 || count % scores != 0)
    return Error(StatusCode::kModel, "attribute 'coefficients' has {} elements, expected as many for each of {} scores",
                 count, scores);
  model.coefficients.assign(coefficients.begin(), coefficients.end());
  const std::span<const float> intercepts = primitive.GetFloats("intercepts");
  model.intercepts.assign(intercepts.begin(), intercepts.end());
  model.scores = scores;
  model.features = count / scores;
  model.transform = ReadTransform(primitive);
  return model;
}

// Calls fn(row, features, own) for each row, with the memory of the thread: `floats` floats in front of it, then the
// elements of a row that had to be converted to T.
template <class T, class F>
Status ForEachLinearRow(const KernelArgs& args, DType input, int64_t features, int64_t floats, int64_t work, F&& fn) {
  const ConstView x = args.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, input));
  DEPUTY_ASSIGN_OR_RETURN(const RowDims dims, ReadRowDims(x, features, "as many as the attributes are for"));
  const RowReader<T> reader(x);
  Arena arena;
  const size_t own_at = arena.Reserve<float>(floats), row_at = arena.Reserve<T>(reader.copies() ? features : 0);
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes() * args.pool.thread_count()));
  const int64_t grain = kGrainElements / (work + 1) + 1;
  args.pool.ParallelFor(dims.rows, grain, [&](int64_t begin, int64_t end) {
    char* const own = static_cast<char*>(memory) + args.pool.worker() * arena.bytes();
    InParts(end - begin, grain, [&](int64_t first, int64_t last) {
      for (int64_t row = begin + first; row < begin + last; ++row)
        fn(row, reader.Read(row * features, features, reinterpret_cast<T*>(own + row_at)),
           reinterpret_cast<float*>(own + own_at));
    });
  });
  return {};
}

// One score decides between two classes by its sign.
int64_t LabelOf(const LinearModel<float>& model, const std::vector<int64_t>& labels, const float* scores) {
  if (model.scores == 1) return labels[scores[0] > 0 ? 1 : 0];
  int64_t best = 0;
  for (int64_t i = 1; i < model.scores; ++i)
    if (scores[i] > scores[best]) best = i;
  return labels[static_cast<size_t>(best)];
}

Status RunClassifier(const KernelArgs& args, DType input, const LinearModel<float>& model,
                     const std::vector<int64_t>& labels) {
  const MutableView label = args.output(0), made = args.output(1);
  const int64_t width = std::max<int64_t>(model.scores, static_cast<int64_t>(labels.size()));
  const int64_t rows = args.input(0).rank() == 2 ? args.input(0).dim(0) : 1;
  if (label.present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(label, DType::kInt64, std::array{rows}));
  if (made.present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(made, DType::kFloat32, std::array{rows, width}));
  return ForEachLinearRow<float>(args, input, model.features, width, width * model.features,
                                 [&](int64_t row, const float* x, float* own) {
                                   float* const scores = made.present() ? made.data<float>() + row * width : own;
                                   model.Score(x, scores);
                                   if (label.present()) label.data<int64_t>()[row] = LabelOf(model, labels, scores);
                                   if (model.scores == 1)
                                     WriteTwoScores(FirstScore::kComplement, model.transform, scores[0], scores);
                                   else
                                     TransformScores(model.transform, scores, model.scores);
                                 });
}

template <class T>
Status RunRegressor(const KernelArgs& args, DType input, const LinearModel<T>& model) {
  const MutableView made = args.output(0);
  const int64_t rows = args.input(0).rank() == 2 ? args.input(0).dim(0) : 1;
  DEPUTY_RETURN_IF_ERROR(CheckOutput(made, DType::kFloat32, std::array{rows, model.scores}));
  return ForEachLinearRow<T>(
      args, input, model.features, 0, model.scores * model.features, [&](int64_t row, const T* x, float*) {
        float* const scores = made.data<float>() + row * model.scores;
        model.Score(x, scores);
        if (model.scores > 1)
          TransformScores(model.transform, scores, model.scores);
        else if (model.transform == ScoreTransform::kProbit)
          *scores = ProbitOf(*scores);  // one score is no distribution: the others leave it as it is
      });
}

template <class T>
KernelResult MakeLinearRegressor(const KernelSpec& spec) {
  const int64_t targets = spec.primitive().GetInt("targets", 1);
  DEPUTY_ASSIGN_OR_RETURN(LinearModel<T> model, ReadLinearModel<T>(spec.primitive(), targets));
  if (!model.intercepts.empty())
    DEPUTY_RETURN_IF_ERROR(
        CheckCount("intercepts", model.intercepts.size(), static_cast<size_t>(targets), "one for each of the targets"));
  return KernelOf([input = spec.input_type(0).dtype, model = std::make_shared<const LinearModel<T>>(std::move(model))](
                      const KernelArgs& args) { return RunRegressor(args, input, *model); });
}

}  // namespace

KernelResult MakeMl_LinearClassifier(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRowInput(spec));
  DEPUTY_ASSIGN_OR_RETURN(std::vector<int64_t> labels, ReadClassLabels(spec.primitive(), "classlabels_ints"));
  const size_t scores = spec.primitive().GetFloats("intercepts").size();
  if (scores == 0) return Error(StatusCode::kModel, "attribute 'intercepts' is empty, expected one for each class");
  if (labels.size() != scores && !(scores == 1 && labels.size() == 2))
    return Error(StatusCode::kModel, "{} labels of classes, expected {}, one for each of intercepts", labels.size(),
                 scores == 1 ? 2 : scores);
  if (labels.size() == 1) return Error(StatusCode::kModel, "one label of a class, expected at least 2");
  DEPUTY_ASSIGN_OR_RETURN(LinearModel<float> model,
                          ReadLinearModel<float>(spec.primitive(), static_cast<int64_t>(scores)));
  return KernelOf([input = spec.input_type(0).dtype,
                   model = std::make_shared<const LinearModel<float>>(std::move(model)),
                   labels = std::make_shared<const std::vector<int64_t>>(std::move(labels))](const KernelArgs& args) {
    return RunClassifier(args, input, *model, *labels);
  });
}

// Elements that a float may not hold are multiplied as doubles; ONNX Runtime takes floats alone.
KernelResult MakeMl_LinearRegressor(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRowInput(spec));
  return spec.input_type(0).dtype == DType::kFloat32 ? MakeLinearRegressor<float>(spec)
                                                     : MakeLinearRegressor<double>(spec);
}

}  // namespace deputy::host
