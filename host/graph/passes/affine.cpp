#include "graph/passes/affine.hpp"

#include <cmath>

#include "graph/passes/constants.hpp"

namespace deputy::host {
namespace {

std::optional<Affine> AffineOfBatchNorm(const Graph& graph, const Node& node, size_t channels) {
  if (node.primitive.GetInt("training_mode", 0) != 0 || node.primitive.since_version() < 14) return std::nullopt;
  std::vector<double> parameters[4];  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    parameters[i] = DoublesOf(ConstantInput(graph, node, i + 1));
    if (parameters[i].size() != channels) return std::nullopt;
  }
  const double epsilon = static_cast<double>(node.primitive.GetFloat("epsilon", 1e-5f));
  Affine affine;
  for (size_t c = 0; c < channels; ++c) {
    affine.factor.push_back(parameters[0][c] / std::sqrt(parameters[3][c] + epsilon));
    affine.sum.push_back(parameters[1][c] - parameters[2][c] * affine.factor.back());
  }
  return affine;
}

// One number per channel of a constant that is broadcast along all axes but the channels'.
std::optional<std::vector<double>> PerChannel(const Tensor& constant, size_t channels, size_t rank) {
  const Shape& shape = constant.shape();
  if (shape.size() > rank) return std::nullopt;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_channel = i + rank - shape.size() == 1;
    if (shape[i] != 1 && !(is_channel && shape[i] == static_cast<int64_t>(channels))) return std::nullopt;
  }
  std::vector<double> values = DoublesOf(&constant);
  if (values.size() == 1) values.assign(channels, values[0]);
  if (values.size() != channels) return std::nullopt;
  return values;
}

}  // namespace

void Affine::Then(const Affine& next) {
  for (size_t c = 0; c < factor.size(); ++c) {
    factor[c] *= next.factor[c];
    sum[c] = sum[c] * next.factor[c] + next.sum[c];
  }
}

std::optional<Affine> AffineOf(const Graph& graph, const Node& node, ValueId input, size_t channels, size_t rank) {
  if (node.kind() == OpKind::kBatchNormalization)
    return node.inputs[0] == input ? AffineOfBatchNorm(graph, node, channels) : std::nullopt;
  if (node.inputs.size() != 2) return std::nullopt;
  const size_t other = node.inputs[0] == input ? 1 : 0;
  const Tensor* constant = ConstantInput(graph, node, other);
  if (constant == nullptr || !IsFloat(constant->dtype())) return std::nullopt;
  const bool reversed = other == 0;
  const OpKind kind = node.kind();
  if (kind != OpKind::kAdd && kind != OpKind::kMul && kind != OpKind::kSub && (kind != OpKind::kDiv || reversed))
    return std::nullopt;
  std::optional<std::vector<double>> values = PerChannel(*constant, channels, rank);
  if (!values) return std::nullopt;
  Affine affine{std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  switch (kind) {
    case OpKind::kAdd: affine.sum = std::move(*values); break;
    case OpKind::kMul: affine.factor = std::move(*values); break;
    case OpKind::kDiv:
      for (size_t c = 0; c < channels; ++c) affine.factor[c] = 1 / (*values)[c];
      break;
    default:
      for (size_t c = 0; c < channels; ++c) {
        affine.factor[c] = reversed ? -1 : 1;
        affine.sum[c] = reversed ? (*values)[c] : -(*values)[c];
      }
  }
  return affine;
}

}  // namespace deputy::host
