// Inference of the losses that models keep from training.
#include "graph/inference/dims.hpp"
#include "graph/inference/functions.hpp"

namespace deputy::host {
namespace {

Status InferLoss(InferenceContext& context) {
  const std::string_view reduction = context.primitive().GetString("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum")
    return Error(StatusCode::kModel, "there is no reduction '{}'", reduction);
  const ValueType &scores = context.input(0), &target = context.input(1);
  if (scores.ranked && scores.dims.size() < 2)
    return Error(StatusCode::kModel, "scores of rank {} have no classes", scores.dims.size());
  if (reduction == "none") {
    ValueType type = target;
    type.dtype = scores.dtype;
    context.SetOutput(0, std::move(type));
  } else {
    context.SetOutput(0, scores.dtype, {});
  }
  return {};
}

}  // namespace

Status InferNegativeLogLikelihoodLoss(InferenceContext& context) { return InferLoss(context); }

Status InferSoftmaxCrossEntropyLoss(InferenceContext& context) {
  context.SetOutput(1, context.input(0));
  return InferLoss(context);
}

}  // namespace deputy::host
