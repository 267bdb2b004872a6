// Normalizations and the softmax family, over each axis that may be normalized; losses over classes.
#include <algorithm>

#include "random/families.hpp"

namespace deputy::conformance {
namespace {

void Epsilon(Draft& d) { d.Maybe("epsilon", Float(d.Half() ? 0.001f : 0.5f)); }

void WriteBatchNormalization(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.Shape(2, 6);
  Dims each = {dims[1]};
  if (d.Has("spatial") && d.Once(3)) {
    d.Set("spatial", Int(0));
    each.assign(dims.begin() + 1, dims.end());
  }
  // Mean and variance may have another element type than the data, in later definitions scale and bias as well.
  const deputy_dtype learned = d.since() >= 15 && d.Once(3) ? d.Type() : dtype;
  const deputy_dtype statistics = d.since() >= 14 && d.Once(3) ? d.Type() : dtype;
  d.In(d.Values(dtype, dims)).In(d.Values(learned, each, 0.5, 2)).In(d.Values(learned, each));
  d.In(d.Values(statistics, each)).In(d.Values(statistics, each, 0.25, 2));
  Epsilon(d);
  d.Maybe("momentum", Number(d, 0, 1));
  if (d.Has("is_test")) d.Set("is_test", Int(1));
  if (d.Has("consumed_inputs")) d.Set("consumed_inputs", Ints({0, 0, 0, 1, 1}));
  d.Maybe("training_mode", Int(0));
}

void WriteInstanceNormalization(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.FullShape(3, 6);
  d.In(d.Values(dtype, dims)).In(d.Values(dtype, {dims[1]}, 0.5, 2)).In(d.Values(dtype, {dims[1]}));
  Epsilon(d);
  d.Maybe("consumed_inputs", Ints({0, 0, 0}));
}

void WriteGroupNormalization(Draft& d) {
  const deputy_dtype dtype = d.Type();
  Dims dims = d.FullShape(3, 6);
  const int64_t groups = d.Between(1, 3);
  dims[1] = groups * d.Between(1, 3);
  const Dims each = {d.since() < 21 ? groups : dims[1]};
  d.In(d.Values(dtype, dims)).In(d.Values(dtype, each, 0.5, 2)).In(d.Values(dtype, each));
  d.Set("num_groups", Int(groups)).Maybe("stash_type", Int(kF32));
  Epsilon(d);
}

void WriteLayerNormalization(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.FullShape(1, 6);
  const int64_t axis = d.Axis(dims.size(), true);
  const Dims normalized(dims.begin() + static_cast<ptrdiff_t>(reference::FromFront(axis, dims.size())), dims.end());
  d.In(d.Values(dtype, dims)).In(d.Values(dtype, d.Half() ? normalized : d.BroadcastableTo(normalized), 0.5, 2));
  if (axis != -1 || d.Half()) d.Set("axis", Int(axis));
  d.Maybe("stash_type", Int(kF32));
  Epsilon(d);
  if (d.op_type() != "LayerNormalization") return;
  if (d.Half()) d.In(d.Values(dtype, d.Half() ? normalized : d.BroadcastableTo(normalized)));
  d.Outputs(d.Once(3) ? 3 : 1);
}

void WriteLrn(Draft& d) {
  d.In(d.Values(d.Type(), d.FullShape(d.Half() ? 4 : 3, 5))).Set("size", Int(d.Between(1, 6)));
  d.Maybe("alpha", Number(d, 0.03125, 1)).Maybe("beta", Number(d, 0.25, 1)).Maybe("bias", Number(d, 0.5, 2));
}

void WriteMeanVariance(Draft& d) {
  const bool named = d.Half();
  const Dims dims = named ? d.FullShape(1, 6) : d.FullShape(4, 4);
  d.In(d.Values(d.Type(), dims));
  if (named)
    d.Set("axes",
          Ints(d.Axes(dims.size(), static_cast<size_t>(d.Between(1, static_cast<int64_t>(dims.size()))), false)));
}

void WriteLp(Draft& d) {
  const Dims dims = d.FullShape(1, 8);
  d.In(d.Values(d.Type(), dims)).Maybe("axis", Int(d.Axis(dims.size(), true))).Maybe("p", Int(d.Between(1, 2)));
}

void WriteSoftmax(Draft& d) {
  const deputy_dtype dtype = d.Type();
  const Dims dims = d.Shape(1, 8);
  const bool ties = d.op_type() == "Hardmax" && d.Half();
  const double reach = d.Once(4) ? 90 : 3;
  d.In(ties ? d.Ties(dtype, dims) : d.Values(dtype, dims, -reach, reach));
  // Before definition 13 the default axis is 1.
  if (d.since() < 13 && dims.size() == 1)
    d.Set("axis", Int(0));
  else
    d.Maybe("axis", Int(d.Axis(dims.size())));
}

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

DraftRows NormalizationDrafts() {
  return {{"BatchNormalization", WriteBatchNormalization},
          {"GroupNormalization", WriteGroupNormalization},
          {"Hardmax", WriteSoftmax},
          {"InstanceNormalization", WriteInstanceNormalization},
          {"LRN", WriteLrn},
          {"LayerNormalization", WriteLayerNormalization},
          {"LogSoftmax", WriteSoftmax},
          {"LpNormalization", WriteLp},
          {"MeanVarianceNormalization", WriteMeanVariance},
          {"NegativeLogLikelihoodLoss", WriteLoss},
          {"RMSNormalization", WriteLayerNormalization},
          {"SimplifiedLayerNormalization", WriteLayerNormalization},
          {"Softmax", WriteSoftmax},
          {"SoftmaxCrossEntropyLoss", WriteLoss}};
}

}  // namespace deputy::conformance
