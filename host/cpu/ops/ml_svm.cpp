// Support vector machines of ai.onnx.ml on the CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"
#include "cpu/ops/ml_attributes.hpp"
#include "cpu/ops/planned_kernel.hpp"
#include "kernels/grain.hpp"
#include "kernels/parts.hpp"

namespace deputy::host {
namespace {

struct SvmFunction {
  enum class Type : uint8_t { kLinear, kPoly, kRbf, kSigmoid } type = Type::kLinear;
  float gamma = 0, coef0 = 0, degree = 0;

  float Of(const float* a, const float* b, int64_t count) const {
    if (type == Type::kRbf) {
      float sum = 0;
      for (int64_t i = 0; i < count; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
      return std::exp(-gamma * sum);
    }
    const float product = DotProduct(a, b, count);
    if (type == Type::kPoly) return std::pow(gamma * product + coef0, degree);
    return type == Type::kSigmoid ? std::tanh(gamma * product + coef0) : product;
  }
};

Result<SvmFunction> ReadFunction(const Primitive& primitive) {
  SvmFunction function;
  const std::string_view word = primitive.GetString("kernel_type", "LINEAR");
  if (word == "POLY") function.type = SvmFunction::Type::kPoly;
  if (word == "RBF") function.type = SvmFunction::Type::kRbf;
  if (word == "SIGMOID") function.type = SvmFunction::Type::kSigmoid;
  if (function.type == SvmFunction::Type::kLinear) return function;
  const std::span<const float> parameters = primitive.GetFloats("kernel_params");
  DEPUTY_RETURN_IF_ERROR(CheckCount("kernel_params", parameters.size(), 3, "gamma, coef0 and degree"));
  function.gamma = parameters[0];
  function.coef0 = parameters[1];
  function.degree = parameters[2];
  return function;
}

// Vectors with their function; without vectors rows of coefficients, which are multiplied with the features.
struct SvmModel {
  SvmFunction function;
  std::vector<float> coefficients, vectors, rho, prob_a, prob_b;
  std::vector<int64_t> labels, starts;  // starts: of each class's vectors, then their number
  int64_t vector_count = 0, features = 0;
  ScoreTransform transform = ScoreTransform::kIdentity;
  bool weights_are_positive = false;

  int64_t classes() const { return static_cast<int64_t>(labels.size()); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
  bool has_vectors() const { return vector_count > 0; }
  bool has_probabilities() const { return !prob_a.empty(); }
  // Of a classifier.
  int64_t width() const {
    if (!has_vectors() || has_probabilities()) return classes();
    return classes() > 2 ? pairs() : 2;
  }
};

Status CheckAtLeast(std::string_view attribute, size_t count, int64_t least, std::string_view reason) {
  if (least >= 0 && count >= static_cast<size_t>(least)) return {};
  return Error(StatusCode::kModel, "attribute '{}' has {} elements, expected at least {}, {}", attribute, count, least,
               reason);
}

std::vector<float> Floats(const Primitive& primitive, std::string_view name) {
  const std::span<const float> values = primitive.GetFloats(name);
  return {values.begin(), values.end()};
}

Result<SvmModel> ReadSvmModel(const Primitive& primitive, int64_t vectors) {
  SvmModel model;
  model.coefficients = Floats(primitive, "coefficients");
  model.vectors = Floats(primitive, "support_vectors");
  model.rho = Floats(primitive, "rho");
  model.transform = ReadTransform(primitive);
  model.vector_count = vectors;
  if (model.coefficients.empty())
    return Error(StatusCode::kModel, "attribute 'coefficients' is empty, expected those of the vectors or features");
  DEPUTY_RETURN_IF_ERROR(CheckAtLeast("rho", model.rho.size(), 1, "the constant of the sum"));
  if (!model.has_vectors()) return model;
  DEPUTY_ASSIGN_OR_RETURN(model.function, ReadFunction(primitive));
  const auto count = static_cast<int64_t>(model.vectors.size());
  if (count == 0 || count % vectors != 0)
    return Error(StatusCode::kModel,
                 "attribute 'support_vectors' has {} elements, expected as many for each of {} vectors", count,
                 vectors);
  model.features = count / vectors;
  return model;
}

Result<SvmModel> ReadClassifier(const Primitive& primitive) {
  const std::span<const int64_t> per_class = primitive.GetInts("vectors_per_class");
  int64_t vectors = 0;
  for (const int64_t count : per_class)
    if (__builtin_add_overflow(vectors, count, &vectors))
      return Error(StatusCode::kModel, "attribute 'vectors_per_class': the sum of the elements is too large");
  DEPUTY_ASSIGN_OR_RETURN(SvmModel model, ReadSvmModel(primitive, vectors));
  DEPUTY_ASSIGN_OR_RETURN(model.labels, ReadClassLabels(primitive, "classlabels_ints"));
  constexpr size_t kMostClasses = 65535;
  if (model.labels.size() > kMostClasses)
    return Error(StatusCode::kNotSupported, "{} classes are not supported, at most {}", model.labels.size(),
                 kMostClasses);
  const int64_t classes = model.classes();
  model.prob_a = Floats(primitive, "prob_a");
  model.prob_b = Floats(primitive, "prob_b");
  DEPUTY_RETURN_IF_ERROR(CheckCount("prob_b", model.prob_b.size(), model.prob_a.size(), "as many as prob_a"));
  model.weights_are_positive =
      std::all_of(model.coefficients.begin(), model.coefficients.end(), [](float weight) { return weight >= 0; });
  if (!model.has_vectors()) {
    const auto count = static_cast<int64_t>(model.coefficients.size());
    if (count % classes != 0)
      return Error(StatusCode::kModel,
                   "attribute 'coefficients' has {} elements, expected as many for each of {} classes", count, classes);
    model.features = count / classes;
    return model;
  }
  if (classes < 2) return Error(StatusCode::kModel, "one label of a class, expected at least 2");
  DEPUTY_RETURN_IF_ERROR(CheckCount("vectors_per_class", per_class.size(), model.labels.size(), "one for each class"));
  DEPUTY_RETURN_IF_ERROR(CheckAtLeast("coefficients", model.coefficients.size() / static_cast<size_t>(classes - 1),
                                      vectors, "for each pair of classes one for each vector"));
  DEPUTY_RETURN_IF_ERROR(CheckAtLeast("rho", model.rho.size(), model.pairs(), "one for each pair of classes"));
  if (model.has_probabilities())
    DEPUTY_RETURN_IF_ERROR(CheckAtLeast("prob_a", model.prob_a.size(), model.pairs(), "one for each pair of classes"));
  model.starts.push_back(0);
  for (const int64_t count : per_class) model.starts.push_back(model.starts.back() + count);
  return model;
}

// The memory of a row.
struct SvmScratch {
  float *values = nullptr, *scores = nullptr, *probabilities = nullptr, *matrix = nullptr, *products = nullptr;
  int64_t* votes = nullptr;
  float *row = nullptr, *result = nullptr;
};

// Votes of all pairs of classes, and the score of each pair, until the run ends. The coefficients of the vectors of one
// class against the others are in as many rows as there are other classes.
void CompareClasses(const SvmModel& model, const SvmScratch& own) {
  const int64_t classes = model.classes();
  std::fill_n(own.votes, classes, int64_t{0});
  int64_t pair = 0;
  EndCheck check;
  const auto sum_of = [&](int64_t of, int64_t against) {
    double sum = 0;
    if (check.Ends(1 + model.starts[static_cast<size_t>(of) + 1] - model.starts[static_cast<size_t>(of)])) return sum;
    const float* const weights = model.coefficients.data() + against * model.vector_count;
    for (int64_t v = model.starts[static_cast<size_t>(of)]; v < model.starts[static_cast<size_t>(of) + 1]; ++v)
      sum += static_cast<double>(weights[v] * own.values[v]);
    return sum;
  };
  for (int64_t i = 0; i < classes - 1; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      const double sum = sum_of(i, j - 1) + sum_of(j, i) + static_cast<double>(model.rho[static_cast<size_t>(pair)]);
      own.scores[pair] = static_cast<float>(sum);
      ++own.votes[sum > 0 ? i : j];
    }
}

// Probabilities of classes from those of pairs: Wu, Lin and Weng, "Probability estimates for multi-class classification
// by pairwise coupling", 2004, the second method, which repeats p[i] until p'Qp is the same in all rows, or the run
// ends.
void CouplePairs(const SvmModel& model, const SvmScratch& own, float* p) {
  const int64_t classes = model.classes();
  float *const r = own.probabilities, *const q = own.matrix, *const qp = own.products;
  constexpr float kLeast = 1e-7f;
  EndCheck check;
  int64_t pair = 0;
  for (int64_t i = 0; i < classes - 1; ++i) {
    if (check.Ends(8 * classes)) return;
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      const auto at = static_cast<size_t>(pair);
      const float likely = 1 - LogisticOf(own.scores[pair] * model.prob_a[at] + model.prob_b[at]);
      r[i * classes + j] = std::min(std::max(likely, kLeast), 1 - kLeast);
      r[j * classes + i] = 1 - r[i * classes + j];
    }
  }
  for (int64_t i = 0; i < classes; ++i) {
    if (check.Ends(4 * classes)) return;
    p[i] = 1 / static_cast<float>(classes);
    q[i * classes + i] = 0;
    for (int64_t j = 0; j < classes; ++j) {
      if (j == i) continue;
      q[i * classes + i] += r[j * classes + i] * r[j * classes + i];
      q[i * classes + j] = -r[j * classes + i] * r[i * classes + j];
    }
  }
  const float enough = 0.005f / static_cast<float>(classes);
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    float pqp = 0, error = 0;
    for (int64_t i = 0; i < classes; ++i) {
      if (check.Ends(classes)) return;
      qp[i] = 0;
      for (int64_t j = 0; j < classes; ++j) qp[i] += q[i * classes + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (int64_t i = 0; i < classes; ++i) error = std::max(error, std::fabs(qp[i] - pqp));
    if (error < enough) return;
    for (int64_t i = 0; i < classes; ++i) {
      if (check.Ends(4 * classes)) return;
      const float step = (pqp - qp[i]) / q[i * classes + i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i * classes + i] + 2 * qp[i])) / (1 + step) / (1 + step);
      for (int64_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + step * q[i * classes + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

// The rules of ONNX Runtime for two classes.
int64_t LabelOf(const SvmModel& model, int64_t best, float most) {
  const bool is_second = model.weights_are_positive ? most >= 0.5f : most > 0;
  if (model.classes() == 2 && !model.has_probabilities() && is_second) best = 1;
  return model.labels[static_cast<size_t>(best)];
}

// Writes `width()` scores, and returns the label.
int64_t Classify(const SvmModel& model, const float* x, const SvmScratch& own, float* made) {
  const int64_t classes = model.classes();
  if (!model.has_vectors()) {
    EndCheck check;
    for (int64_t i = 0; i < classes && !check.Ends(model.features); ++i)
      made[i] = DotProduct(x, model.coefficients.data() + i * model.features, model.features) + model.rho[0];
    const float* const best = std::max_element(made, made + classes);
    const int64_t label = LabelOf(model, best - made, *best);
    if (classes > 1)
      TransformScores(model.transform, made, classes);
    else if (model.transform == ScoreTransform::kProbit)
      *made = ProbitOf(*made);
    return label;
  }
  ForEachUntilEnd(0, model.vector_count, model.features, [&](int64_t v) {
    own.values[v] = model.function.Of(x, model.vectors.data() + v * model.features, model.features);
  });
  CompareClasses(model, own);
  const int64_t best = std::max_element(own.votes, own.votes + classes) - own.votes;
  if (model.has_probabilities()) {
    CouplePairs(model, own, made);
    TransformScores(model.transform, made, classes);
  } else if (classes > 2) {
    std::copy_n(own.scores, model.pairs(), made);
    TransformScores(model.transform, made, model.pairs());
  } else {
    const bool plain = model.transform == ScoreTransform::kIdentity;
    WriteTwoScores(plain ? FirstScore::kOpposite : FirstScore::kComplement, model.transform, own.scores[0], made);
  }
  return LabelOf(model, best, 0);
}

float Regress(const SvmModel& model, const float* x) {
  if (!model.has_vectors()) return DotProduct(x, model.coefficients.data(), model.features) + model.rho[0];
  float sum = model.rho[0];
  ForEachUntilEnd(0, model.vector_count, model.features, [&](int64_t v) {
    sum += model.coefficients[static_cast<size_t>(v)] *
           model.function.Of(x, model.vectors.data() + v * model.features, model.features);
  });
  return sum;
}

// Calls fn(row, x, own) for each row.
template <class F>
Status ForEachSvmRow(const KernelArgs& args, DType input, const SvmModel& model, F&& fn) {
  const ConstView x = args.input(0);
  DEPUTY_RETURN_IF_ERROR(CheckTyped(x, input));
  DEPUTY_ASSIGN_OR_RETURN(const RowDims dims, ReadRowDims(x, model.features, "as many as the attributes are for"));
  const RowReader<float> reader(x);
  const int64_t classes = model.classes(), matrix = model.has_probabilities() ? classes * classes : 0;
  Arena arena;
  const size_t values = arena.Reserve<float>(model.vector_count), scores = arena.Reserve<float>(model.pairs()),
               probabilities = arena.Reserve<float>(matrix), products = arena.Reserve<float>(matrix),
               sums = arena.Reserve<float>(classes), votes = arena.Reserve<int64_t>(classes),
               copy = arena.Reserve<float>(reader.copies() ? model.features : 0),
               result = arena.Reserve<float>(model.width());
  DEPUTY_ASSIGN_OR_RETURN(void* const memory, args.scratch.Get(arena.bytes() * args.pool.thread_count()));
  const int64_t work = (model.vector_count + classes) * model.features + matrix + model.pairs();
  const int64_t grain = kGrainElements / (work + 1) + 1;
  args.pool.ParallelFor(dims.rows, grain, [&](int64_t begin, int64_t end) {
    char* const own = static_cast<char*>(memory) + args.pool.worker() * arena.bytes();
    const auto floats = [own](size_t at) { return reinterpret_cast<float*>(own + at); };
    const SvmScratch scratch{floats(values),   floats(scores), floats(probabilities),
                             floats(products), floats(sums),   reinterpret_cast<int64_t*>(own + votes),
                             floats(copy),     floats(result)};
    InParts(end - begin, grain, [&](int64_t first, int64_t last) {
      for (int64_t row = begin + first; row < begin + last; ++row)
        fn(row, reader.Read(row * model.features, model.features, scratch.row), scratch);
    });
  });
  return {};
}

}  // namespace

KernelResult MakeMl_SVMClassifier(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRowInput(spec));
  DEPUTY_ASSIGN_OR_RETURN(SvmModel read, ReadClassifier(spec.primitive()));
  return KernelOf([input = spec.input_type(0).dtype,
                   model = std::make_shared<const SvmModel>(std::move(read))](const KernelArgs& args) -> Status {
    const MutableView label = args.output(0), made = args.output(1);
    const int64_t rows = args.input(0).rank() == 2 ? args.input(0).dim(0) : 1, width = model->width();
    if (label.present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(label, DType::kInt64, std::array{rows}));
    if (made.present()) DEPUTY_RETURN_IF_ERROR(CheckOutput(made, DType::kFloat32, std::array{rows, width}));
    return ForEachSvmRow(args, input, *model, [&](int64_t row, const float* x, const SvmScratch& own) {
      const int64_t chosen = Classify(*model, x, own, made.present() ? made.data<float>() + row * width : own.result);
      if (label.present()) label.data<int64_t>()[row] = chosen;
    });
  });
}

KernelResult MakeMl_SVMRegressor(const KernelSpec& spec) {
  DEPUTY_RETURN_IF_ERROR(CheckRowInput(spec));
  const Primitive& primitive = spec.primitive();
  DEPUTY_ASSIGN_OR_RETURN(SvmModel read, ReadSvmModel(primitive, primitive.GetInt("n_supports", 0)));
  if (!read.has_vectors()) read.features = static_cast<int64_t>(read.coefficients.size());
  if (read.has_vectors())
    DEPUTY_RETURN_IF_ERROR(
        CheckAtLeast("coefficients", read.coefficients.size(), read.vector_count, "one for each vector"));
  return KernelOf([input = spec.input_type(0).dtype, sign = primitive.GetInt("one_class", 0) != 0,
                   model = std::make_shared<const SvmModel>(std::move(read))](const KernelArgs& args) -> Status {
    const int64_t rows = args.input(0).rank() == 2 ? args.input(0).dim(0) : 1;
    const MutableView made = args.output(0);
    DEPUTY_RETURN_IF_ERROR(CheckOutput(made, DType::kFloat32, std::array{rows, int64_t{1}}));
    return ForEachSvmRow(args, input, *model, [&](int64_t row, const float* x, const SvmScratch&) {
      const float sum = Regress(*model, x);
      made.data<float>()[row] = !sign ? sum : sum > 0 ? 1.0f : -1.0f;
    });
  });
}

}  // namespace deputy::host
