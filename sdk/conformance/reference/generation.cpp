// Tensors made from attributes, shapes and ranges.
#include <algorithm>
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

std::vector<Tensor> Constant(const Node& node, const Inputs&) {
  for (const auto& [name, value] : node.attributes) {
    if (name == "value") return {value.tensor};
    const bool real = name == "value_float" || name == "value_floats";
    if (!real && name != "value_int" && name != "value_ints") continue;
    const bool list = name.back() == 's';
    const auto count = static_cast<int64_t>(real ? value.floats.size() : value.ints.size());
    Tensor y(real ? DEPUTY_DTYPE_FLOAT32 : DEPUTY_DTYPE_INT64, list ? Dims{count} : Dims{});
    for (int64_t i = 0; i < y.count(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (real)
        y.Put(i, static_cast<double>(list ? value.floats[at] : value.f));
      else
        y.Put(i, list ? value.ints[at] : value.i);
    }
    return {y};
  }
  return {};
}

std::vector<Tensor> ConstantOfShape(const Node& node, const Inputs& in) {
  const auto value = node.attributes.find("value");
  if (value == node.attributes.end()) return {Tensor(DEPUTY_DTYPE_FLOAT32, ListOf(*in[0]))};
  Tensor y(value->second.tensor.dtype, ListOf(*in[0]));
  for (int64_t i = 0; i < y.count(); ++i) y.Copy(i, value->second.tensor, 0);
  return {y};
}

std::vector<Tensor> Range(const Node&, const Inputs& in) {
  const double start = in[0]->Get(0), limit = in[1]->Get(0), step = in[2]->Get(0);
  Tensor y(in[0]->dtype, {std::max<int64_t>(0, static_cast<int64_t>(std::ceil((limit - start) / step)))});
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, start + static_cast<double>(i) * step);
  return {y};
}

// Every run of `n` elements of the list from `first` on, each `step` after the one before.
bool IsAt(const Tensor& x, int64_t first, int64_t step, const std::vector<int64_t>& gram, int64_t end) {
  for (size_t i = 0; i < gram.size(); ++i) {
    const int64_t at = first + static_cast<int64_t>(i) * step;
    if (at >= end || x.whole[static_cast<size_t>(at)] != gram[i]) return false;
  }
  return true;
}

std::vector<Tensor> TfIdfVectorizer(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const std::vector<int64_t> pool = node.Ints("pool_int64s", {}), starts = node.Ints("ngram_counts", {}),
                             columns = node.Ints("ngram_indexes", {});
  std::vector<std::vector<int64_t>> grams;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(pool.size());
    for (int64_t at = starts[i]; at < end; at += static_cast<int64_t>(i) + 1)
      grams.emplace_back(pool.begin() + at, pool.begin() + at + static_cast<int64_t>(i) + 1);
  }
  const int64_t width = *std::max_element(columns.begin(), columns.end()) + 1;
  const int64_t length = x.dims.back(), rows = x.rank() == 2 ? x.dims[0] : 1;
  const auto shortest = static_cast<size_t>(node.Int("min_gram_length", 1));
  const auto longest = static_cast<size_t>(node.Int("max_gram_length", 1));
  const std::string mode = node.String("mode", "TF");
  const auto weights = node.attributes.find("weights");
  Tensor y(DEPUTY_DTYPE_FLOAT32, x.rank() == 2 ? Dims{rows, width} : Dims{width});
  for (int64_t i = 0; i < y.count(); ++i) y.Put(i, 0.0);
  for (int64_t row = 0; row < rows; ++row)
    for (size_t g = 0; g < grams.size(); ++g) {
      if (grams[g].size() < shortest || grams[g].size() > longest) continue;
      double count = 0;
      for (int64_t skip = 0; skip <= (grams[g].size() == 1 ? 0 : node.Int("max_skip_count", 0)); ++skip)
        for (int64_t first = 0; first < length; ++first)
          count += IsAt(x, row * length + first, skip + 1, grams[g], (row + 1) * length) ? 1 : 0;
      const double weight = weights == node.attributes.end() ? 1 : static_cast<double>(weights->second.floats[g]);
      if (mode == "IDF") count = count > 0 ? 1 : 0;
      y.Put(row * width + columns[g], mode == "TF" ? count : count * weight);
    }
  return {y};
}

}  // namespace

KernelRows GenerationKernels() {
  return {{"Constant", Constant},
          {"ConstantOfShape", ConstantOfShape},
          {"Range", Range},
          {"TfIdfVectorizer", TfIdfVectorizer}};
}

}  // namespace deputy::conformance::reference
