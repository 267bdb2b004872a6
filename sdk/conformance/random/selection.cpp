// Ordering, filtering and counting, with equal elements among the others.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void WriteTopK(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.FullShape(1, 8);
  const int64_t axis = d.since() >= 11 ? d.Axis(dims.size()) : d.Axis(dims.size(), false);
  const int64_t k = d.Between(d.Once(12) ? 0 : 1, dims[reference::FromFront(axis, dims.size())]);
  d.In(d.Half() ? d.Ties(dtype, dims) : d.Distinct(dtype, dims)).Outputs(2);
  d.Set("axis", Int(axis));
  if (d.since() < 10)
    d.Set("k", Int(std::max<int64_t>(k, 1)));
  else
    d.In(Whole({k}));
  d.Maybe("largest", Int(d.Between(0, 1))).Maybe("sorted", Int(1));
}

void WriteUnique(Draft& d) {
  const Dims dims = d.FullShape(1, 5);
  d.In(d.Ties(d.Type(), dims));
  d.Maybe("axis", Int(d.Axis(dims.size(), true))).Maybe("sorted", Int(d.Between(0, 1)));
  d.Outputs(static_cast<size_t>(d.Between(1, 4)));
}

void WriteNonZero(Draft& d) { d.In(d.Ties(d.Type(), d.Shape(1, 8))); }

void WriteCompress(Draft& d) {
  const Dims dims = d.FullShape(1, 8);
  const bool flat = d.Half();
  const int64_t axis = d.Axis(dims.size());
  const int64_t extent = flat ? reference::CountOf(dims) : dims[reference::FromFront(axis, dims.size())];
  d.In(d.Any(d.Type(), dims)).In(d.Values(kBool, {d.Half() ? extent : d.Between(0, extent)}));
  if (!flat) d.Set("axis", Int(axis));
}

// Scores with large differences, so that their order does not depend on rounding.
void WriteNonMaxSuppression(Draft& d) {
  const int64_t batches = d.Between(1, 2), boxes = d.Between(1, 8), classes = d.Between(1, 3);
  const bool centers = d.Half();
  Tensor box(kF32, {batches, boxes, 4});
  for (int64_t i = 0; i < batches * boxes; ++i) {
    const int64_t y = d.Between(0, 12), x = d.Between(0, 12), height = d.Between(1, 8), width = d.Between(1, 8);
    const std::vector<int64_t> corners = centers    ? std::vector<int64_t>{x, y, width, height}
                                         : d.Half() ? std::vector<int64_t>{y, x, y + height, x + width}
                                                    : std::vector<int64_t>{y + height, x + width, y, x};
    for (int64_t k = 0; k < 4; ++k) box.Put(i * 4 + k, corners[static_cast<size_t>(k)]);
  }
  d.In(box).In(d.Distinct(kF32, {batches, classes, boxes}));
  d.Set("center_point_box", Int(centers ? 1 : 0));
  const int64_t given = d.Between(0, 3);
  if (given >= 1) d.In(Whole({d.Between(0, boxes)}));
  // No overlap of such boxes is near to these.
  if (given >= 2) d.In(Real({d.Pick<double>({0.0, 0.30001, 0.50001, 1.0})}));
  if (given >= 3) d.In(Real({d.Pick<double>({-0.03125, 0.03125, 0.21875})}));
}

// Numbers 0 to 4, with a search for some of them and of their pairs.
void WriteTfIdf(Draft& d) {
  constexpr int64_t kNumbers = 5;
  std::vector<int64_t> ones, pairs, pool, columns;
  for (int64_t i = 0; i < kNumbers; ++i) ones.push_back(i);
  for (int64_t i = 0; i < kNumbers * kNumbers; ++i) pairs.push_back(i);
  d.Shuffle(ones);
  d.Shuffle(pairs);
  ones.resize(static_cast<size_t>(d.Between(1, 4)));
  pairs.resize(static_cast<size_t>(d.Between(1, 4)));
  pool = ones;
  for (const int64_t pair : pairs) pool.insert(pool.end(), {pair / kNumbers, pair % kNumbers});
  for (size_t i = 0; i < ones.size() + pairs.size(); ++i) columns.push_back(static_cast<int64_t>(i));
  d.Shuffle(columns);
  d.In(d.Ties(d.Type(), d.FullShape(1, 2), 0, kNumbers - 1)).Set("pool_int64s", Ints(pool));
  d.Set("ngram_counts", Ints({0, static_cast<int64_t>(ones.size())})).Set("ngram_indexes", Ints(columns));
  const int64_t longest = d.Between(1, 2);
  d.Set("min_gram_length", Int(d.Between(1, longest))).Set("max_gram_length", Int(longest));
  d.Set("max_skip_count", Int(d.Between(0, 2))).Set("mode", Text(d.Pick<std::string>({"TF", "IDF", "TFIDF"})));
  std::vector<float> weights;
  for (size_t i = 0; i < columns.size(); ++i) weights.push_back(Number(d, 0.25, 2).f);
  d.Maybe("weights", Attribute::Floats(weights));
}

}  // namespace

DraftRows SelectionDrafts() {
  return {{"Compress", WriteCompress}, {"NonMaxSuppression", WriteNonMaxSuppression},
          {"NonZero", WriteNonZero},   {"TfIdfVectorizer", WriteTfIdf},
          {"TopK", WriteTopK},         {"Unique", WriteUnique}};
}

}  // namespace deputy::conformance
