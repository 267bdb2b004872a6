// TfIdfVectorizer on the CPU: counts the n-grams of a pool in lists of numbers.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/cancellation.hpp"
#include "cpu/ops/function_kernel.hpp"

namespace deputy::host {
namespace {

struct Vectorizer {
  enum class Mode : uint8_t { kTf, kIdf, kTfIdf } mode = Mode::kTf;
  int64_t shortest = 1, longest = 1, most_skipped = 0;
  std::map<std::vector<int64_t>, size_t> grams;  // to the index in `columns`
  std::vector<int64_t> columns;
  std::vector<float> weights;  // empty: all 1
  int64_t width = 0;

  template <class T>
  void Count(const T* list, int64_t length, float* output) const {
    constexpr int64_t kMostElements = 1 << 16;  // between two checks whether the run ends
    CancellationScope* const scope = CancellationScope::Current();
    const auto ends = [scope] { return scope != nullptr && scope->Ends(); };
    if (ends()) return;
    int64_t unchecked = 0;
    std::vector<int64_t> gram;
    for (int64_t n = shortest; n <= longest && n <= length; ++n) {
      // With a larger skip an n-gram is longer than the list.
      const int64_t fits = n == 1 ? 0 : (length - 1) / (n - 1) - 1;
      for (int64_t skipped = 0; skipped <= std::min(fits, most_skipped); ++skipped) {
        const int64_t step = skipped + 1;
        for (int64_t first = 0; (n - 1) * step < length - first; ++first) {
          if ((unchecked += n) > kMostElements) {
            if (ends()) return;
            unchecked = 0;
          }
          gram.clear();
          for (int64_t i = 0; i < n; ++i) gram.push_back(int64_t{list[first + i * step]});
          if (const auto found = grams.find(gram); found != grams.end()) output[columns[found->second]] += 1;
        }
      }
    }
    if (mode == Mode::kTf) return;
    for (size_t i = 0; i < columns.size(); ++i) {
      float& value = output[columns[i]];
      const float weight = weights.empty() ? 1 : weights[i];
      value = mode == Mode::kIdf ? (value > 0 ? weight : 0) : value * weight;
    }
  }
};

Status ReadPool(const Primitive& primitive, Vectorizer& made) {
  const std::span<const int64_t> pool = primitive.GetInts("pool_int64s"), starts = primitive.GetInts("ngram_counts"),
                                 columns = primitive.GetInts("ngram_indexes");
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto n = static_cast<int64_t>(i) + 1;
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    if (starts[i] < 0 || end < starts[i] || end > static_cast<int64_t>(pool.size()) || (end - starts[i]) % n != 0)
      return Error(StatusCode::kModel, "ngram_counts does not match the {} elements of pool_int64s", pool.size());
    for (int64_t at = starts[i]; at < end; at += n) {
      const auto begin = pool.begin() + at;
      if (!made.grams.emplace(std::vector<int64_t>(begin, begin + n), made.grams.size()).second)
        return Error(StatusCode::kModel, "pool_int64s has a duplicate n-gram");
    }
  }
  if (made.grams.size() != columns.size())
    return Error(StatusCode::kModel, "{} n-grams, but {} ngram_indexes", made.grams.size(), columns.size());
  made.columns.assign(columns.begin(), columns.end());
  for (const int64_t column : columns) made.width = std::max(made.width, column + 1);
  return {};
}

Result<Vectorizer> ReadVectorizer(const Primitive& primitive) {
  Vectorizer made;
  made.shortest = primitive.GetInt("min_gram_length", 1);
  made.longest = primitive.GetInt("max_gram_length", 1);
  made.most_skipped = primitive.GetInt("max_skip_count", 0);
  const auto known = static_cast<int64_t>(primitive.GetInts("ngram_counts").size());
  if (made.shortest < 1 || made.longest < made.shortest || made.longest > known || made.most_skipped < 0)
    return Error(StatusCode::kModel, "gram lengths {} to {} with max_skip_count {} do not match {} ngram_counts",
                 made.shortest, made.longest, made.most_skipped, known);
  const std::string_view mode = primitive.GetString("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return Error(StatusCode::kModel, "mode must be TF, IDF or TFIDF, got '{}'", mode);
  made.mode = mode == "TF" ? Vectorizer::Mode::kTf : mode == "IDF" ? Vectorizer::Mode::kIdf : Vectorizer::Mode::kTfIdf;
  DEPUTY_RETURN_IF_ERROR(ReadPool(primitive, made));
  const std::span<const float> weights = primitive.GetFloats("weights");
  if (!weights.empty() && weights.size() != made.columns.size())
    return Error(StatusCode::kModel, "{} n-grams, but {} weights", made.columns.size(), weights.size());
  made.weights.assign(weights.begin(), weights.end());
  return made;
}

}  // namespace

KernelResult MakeTfIdfVectorizer(const KernelSpec& spec) {
  const DType dtype = spec.input_type(0).dtype;
  if (dtype != DType::kInt32 && dtype != DType::kInt64)
    return Error(StatusCode::kNotSupported, "TfIdfVectorizer of {} is not supported", NameOf(dtype));
  DEPUTY_ASSIGN_OR_RETURN(Vectorizer read, ReadVectorizer(spec.primitive()));
  return KernelOf(
      [dtype, vectorizer = std::make_shared<const Vectorizer>(std::move(read))](const KernelArgs& args) -> Status {
        const ConstView input = args.input(0);
        const MutableView output = args.output(0);
        DEPUTY_RETURN_IF_ERROR(CheckTyped(input, dtype));
        if (input.rank() == 0 || input.rank() > 2)
          return Error(StatusCode::kInvalidArgument, "X has rank {}, expected 1 or 2", input.rank());
        const int64_t rows = input.rank() == 2 ? input.dim(0) : 1, length = input.dim(input.rank() - 1);
        const std::array<int64_t, 2> dims = {rows, vectorizer->width};
        DEPUTY_RETURN_IF_ERROR(CheckOutput(output, DType::kFloat32, std::span(dims).last(input.rank())));
        ZeroInParts(output.data<float>(), output.byte_size());
        CancellationScope* const scope = CancellationScope::Current();
        for (int64_t row = 0; row < rows && (scope == nullptr || !scope->Ends()); ++row) {
          float* const to = output.data<float>() + row * vectorizer->width;
          if (dtype == DType::kInt32)
            vectorizer->Count(input.data<int32_t>() + row * length, length, to);
          else
            vectorizer->Count(input.data<int64_t>() + row * length, length, to);
        }
        return {};
      });
}

}  // namespace deputy::host
