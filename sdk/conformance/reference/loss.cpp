// Losses over classes: the logarithm of a probability, weighted, summed up or not.
#include <cmath>

#include "reference/node.hpp"

namespace deputy::conformance::reference {
namespace {

// [batch, classes, ...] over its classes.
Tensor LogProbabilities(const Tensor& x) {
  Tensor y(x.dtype, x.dims);
  const int64_t classes = x.dims[1], plane = x.count() == 0 ? 0 : x.count() / (x.dims[0] * classes);
  for (int64_t row = 0; row < x.dims[0] * plane; ++row) {
    const int64_t begin = row / plane * classes * plane + row % plane;
    double largest = x.Get(begin), sum = 0;
    for (int64_t c = 1; c < classes; ++c) largest = std::fmax(largest, x.Get(begin + c * plane));
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x.Get(begin + c * plane) - largest);
    for (int64_t c = 0; c < classes; ++c) y.Put(begin + c * plane, x.Get(begin + c * plane) - largest - std::log(sum));
  }
  return y;
}

Tensor LikelihoodLoss(const Node& node, const Tensor& x, const Tensor& target, const Tensor* weights) {
  const std::string reduction = node.String("reduction", "mean");
  const int64_t plane = target.count() == 0 ? 0 : target.count() / target.dims[0];
  Tensor each(x.dtype, target.dims), all(x.dtype, {});
  double sum = 0, weight_sum = 0;
  for (int64_t i = 0; i < target.count(); ++i) {
    const int64_t label = target.whole[static_cast<size_t>(i)];
    if (node.Has("ignore_index") && label == node.Int("ignore_index", 0)) continue;
    const double weight = weights == nullptr ? 1 : weights->Get(label);
    const double loss = -weight * x.Get((i / plane * x.dims[1] + label) * plane + i % plane);
    each.Put(i, loss);
    sum += loss;
    weight_sum += weight;
  }
  if (reduction == "none") return each;
  all.Put(0, reduction == "mean" ? sum / weight_sum : sum);
  return all;
}

std::vector<Tensor> NegativeLogLikelihoodLoss(const Node& node, const Inputs& in) {
  return {LikelihoodLoss(node, *in[0], *in[1], At(in, 2))};
}

std::vector<Tensor> SoftmaxCrossEntropyLoss(const Node& node, const Inputs& in) {
  const Tensor logarithms = LogProbabilities(*in[0]);
  std::vector<Tensor> outputs = {LikelihoodLoss(node, logarithms, *in[1], At(in, 2))};
  if (node.output_count > 1) outputs.push_back(logarithms);
  return outputs;
}

}  // namespace

KernelRows LossKernels() {
  return {{"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss},
          {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss}};
}

}  // namespace deputy::conformance::reference
