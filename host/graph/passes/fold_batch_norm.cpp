#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/passes/constants.hpp"
#include "graph/passes/editor.hpp"
#include "graph/passes/passes.hpp"

namespace deputy::host {
namespace {

// y = factor · x + sum for each channel: BatchNormalization at inference, and arithmetic with constants.
struct Affine {
  std::vector<double> factor, sum;

  // This function followed by `next`.
  void Then(const Affine& next) {
    for (size_t c = 0; c < factor.size(); ++c) {
      factor[c] *= next.factor[c];
      sum[c] = sum[c] * next.factor[c] + next.sum[c];
    }
  }
};

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

// The function that the node applies to each of `channels` along axis 1 of its operand `input`, of rank `rank`; empty
// for any other function, or one that is not constant.
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

// The constant weights of a node seen as [outer][channel][inner], for a factor per output channel.
struct Weights {
  Tensor tensor;         // shares the constant's bytes; graphs move their values when one is added
  size_t channels = 0;   // of the output
  size_t per_group = 0;  // channels that one group has in a row
  size_t groups = 1;     // along the outer extent
  size_t outer = 1, inner = 1;
  size_t rank = 0;  // of the output

  size_t ChannelAt(size_t row, size_t column) const { return row * groups / outer * per_group + column; }
};

size_t ProductFrom(const Shape& shape, size_t first) {
  size_t product = 1;
  for (size_t i = first; i < shape.size(); ++i) product *= static_cast<size_t>(shape[i]);
  return product;
}

std::optional<Weights> WeightsOf(const Graph& graph, const Node& node) {
  Weights weights;
  const Tensor* constant = ConstantInput(graph, node, 1);
  if (constant == nullptr || !IsFloat(constant->dtype()) || constant->byte_size() == 0) return std::nullopt;
  weights.tensor = *constant;
  const Shape& shape = constant->shape();
  const auto extent = [&shape](size_t i) { return static_cast<size_t>(shape[i]); };
  weights.rank = shape.size();
  switch (node.kind()) {
    case OpKind::kConv:
      if (shape.size() < 3) return std::nullopt;
      weights.channels = weights.per_group = extent(0);
      weights.inner = ProductFrom(shape, 1);
      return weights;
    case OpKind::kConvTranspose: {
      const int64_t groups = node.primitive.GetInt("group", 1);
      if (shape.size() < 3 || groups < 1 || shape[0] % groups != 0) return std::nullopt;
      weights.groups = static_cast<size_t>(groups);
      weights.outer = extent(0);
      weights.per_group = extent(1);
      weights.channels = weights.groups * weights.per_group;
      weights.inner = ProductFrom(shape, 2);
      return weights;
    }
    case OpKind::kGemm: {
      if (shape.size() != 2) return std::nullopt;
      const bool transposed = node.primitive.GetInt("transB", 0) != 0;
      weights.channels = weights.per_group = extent(transposed ? 0 : 1);
      (transposed ? weights.inner : weights.outer) = extent(transposed ? 1 : 0);
      return weights;
    }
    default: return std::nullopt;
  }
}

// One number per channel; empty without a suitable constant bias.
std::optional<std::vector<double>> BiasOf(const Graph& graph, const Node& node, const Weights& weights) {
  if (!HasInput(node, 2)) return std::vector<double>(weights.channels, 0);
  const Tensor* bias = ConstantInput(graph, node, 2);
  if (bias == nullptr || bias->dtype() != weights.tensor.dtype()) return std::nullopt;
  const Shape& shape = bias->shape();
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1)) return std::nullopt;  // a row per sample
  std::vector<double> values = DoublesOf(bias);
  if (values.size() == 1) values.assign(weights.channels, values[0]);
  if (values.size() != weights.channels) return std::nullopt;
  if (node.kind() == OpKind::kGemm) {
    const double beta = static_cast<double>(node.primitive.GetFloat("beta", 1));
    for (double& value : values) value *= beta;
  }
  return values;
}

// A convolution and the nodes after it that it can absorb, which are written into the weights all at once.
struct Chain {
  NodeId node = kNone;
  Weights weights;
  std::vector<double> bias;
  Affine affine;
  std::vector<NodeId> next;
};

class Folder {
 public:
  explicit Folder(Graph& graph) : editor_(graph) {}

  void Run() {
    for (NodeId id = 0; id < editor_.graph().nodes.size(); ++id) Collect(id);
    if (chains_.empty()) return;
    for (Chain& chain : chains_) {
      Fold(chain);
      chain.weights.tensor = Tensor();
    }
    editor_.Finish();
  }

 private:
  void Collect(NodeId id) {
    const Node& node = editor_.graph().nodes[id];
    switch (node.kind()) {
      case OpKind::kAdd:
      case OpKind::kBatchNormalization:
      case OpKind::kDiv:
      case OpKind::kMul:
      case OpKind::kSub: break;
      default: return;
    }
    if (node.outputs[0] == kNone) return;
    for (size_t i = 1; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNone && editor_.uses(node.outputs[i]) != 0) return;
    for (size_t i = 0; i < 2; ++i)
      if (HasInput(node, i) && editor_.uses(node.inputs[i]) == 1 && Extend(id, node.inputs[i])) return;
  }

  // Adds a node that reads `input` to the chain that ends there, or begins one.
  bool Extend(NodeId id, ValueId input) {
    const auto found = chain_of_.find(input);
    std::optional<Chain> begun;
    if (found == chain_of_.end()) begun = Begin(input);
    if (found == chain_of_.end() && !begun) return false;
    Chain& chain = begun ? *begun : chains_[found->second];
    const Node& node = editor_.graph().nodes[id];
    if (editor_.value(node.outputs[0]).type.dtype != chain.weights.tensor.dtype()) return false;
    const std::optional<Affine> affine =
        AffineOf(editor_.graph(), node, input, chain.weights.channels, chain.weights.rank);
    if (!affine) return false;
    chain.affine.Then(*affine);
    chain.next.push_back(id);
    size_t index = chains_.size();
    if (begun) {
      chains_.push_back(std::move(*begun));
    } else {
      index = found->second;
      chain_of_.erase(found);
    }
    chain_of_.emplace(node.outputs[0], index);
    return true;
  }

  std::optional<Chain> Begin(ValueId output) const {
    Chain chain;
    chain.node = editor_.producer(output);
    if (chain.node == kNone) return std::nullopt;
    const Node& node = editor_.graph().nodes[chain.node];
    std::optional<Weights> weights = WeightsOf(editor_.graph(), node);
    std::optional<std::vector<double>> bias = weights ? BiasOf(editor_.graph(), node, *weights) : std::nullopt;
    if (!bias) return std::nullopt;
    chain.weights = *weights;
    chain.bias = std::move(*bias);
    chain.affine = {std::vector<double>(weights->channels, 1), std::vector<double>(weights->channels, 0)};
    return chain;
  }

  void Fold(const Chain& chain) {
    const Weights& weights = chain.weights;
    const size_t columns = weights.per_group;
    std::optional<Tensor> scaled = Scaled(weights.tensor, weights.inner, [&](size_t block) {
      return chain.affine.factor[weights.ChannelAt(block / columns, block % columns)];
    });
    std::vector<double> shifted;
    for (size_t c = 0; c < weights.channels; ++c)
      shifted.push_back(chain.bias[c] * chain.affine.factor[c] + chain.affine.sum[c]);
    const Shape channels = {static_cast<int64_t>(weights.channels)};
    std::optional<Tensor> bias = FromDoubles(weights.tensor.dtype(), channels, shifted);
    if (!scaled || !bias) return;
    Node& node = editor_.node(chain.node);
    const std::string weights_name = editor_.value(node.inputs[1]).name;
    const std::string bias_name = HasInput(node, 2) ? editor_.value(node.inputs[2]).name : node.name + ".bias";
    if (node.primitive.Has("beta")) node.primitive = PrimitiveBuilder(node.primitive).Remove("beta").Finish();
    editor_.SetInput(chain.node, 1, editor_.AddConstant(weights_name + ".folded", std::move(*scaled)));
    editor_.SetInput(chain.node, 2, editor_.AddConstant(bias_name + ".folded", std::move(*bias)));
    for (const NodeId next : chain.next) editor_.Absorb(chain.node, next);
  }

  GraphEditor editor_;
  std::vector<Chain> chains_;
  std::unordered_map<ValueId, size_t> chain_of_;  // by the value that its last node makes
};

}  // namespace

void FoldBatchNorm(Graph& graph) { Folder(graph).Run(); }

}  // namespace deputy::host
