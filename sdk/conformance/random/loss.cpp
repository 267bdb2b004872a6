// Losses over classes: reductions, weights, ignored labels, dimensions beside the batch.
#include "random/families.hpp"

namespace deputy::conformance {
namespace {

using reference::Dims;
using reference::Tensor;

void WriteLoss(Draft& d) {
  const deputy_dtype dtype = d.Type();
  Dims dims = d.FullShape(2, 6);
  const int64_t classes = dims[1];
  Dims places = dims;
  places.erase(places.begin() + 1);
  Tensor labels = d.Indices(d.IndexType(), places, classes, false);
  const bool weighted = d.Half();
  d.In(d.Values(dtype, dims, -2, 0));
  const std::string reduction = d.Pick<std::string>({"mean", "sum", "none"});
  if (d.Half()) {
    // At least one label is not ignored: a mean of no elements is undefined.
    const int64_t ignored = d.Half() ? -1 : d.Between(0, classes - 1);
    if (ignored < 0)
      for (int64_t i = 1; i < labels.count(); ++i)
        if (d.Once(4)) labels.Put(i, ignored);
    if (ignored >= 0 && classes > 1) labels.Put(0, (ignored + 1) % classes);
    if (ignored < 0 || classes > 1) d.Set("ignore_index", Int(ignored));
  }
  d.In(labels);
  if (weighted) d.In(d.Values(dtype, {classes}, 0.25, 2));
  if (reduction != "mean" || d.Half()) d.Set("reduction", Text(reduction));
  if (d.op_type() == "SoftmaxCrossEntropyLoss" && d.Half()) d.Outputs(2);
}

}  // namespace

DraftRows LossDrafts() { return {{"NegativeLogLikelihoodLoss", WriteLoss}, {"SoftmaxCrossEntropyLoss", WriteLoss}}; }

}  // namespace deputy::conformance
