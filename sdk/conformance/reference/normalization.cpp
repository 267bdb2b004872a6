// Normalizations over channels, groups, rows and neighbours, the softmax family, and losses over classes.
#include <algorithm>
#include <cmath>

#include "reference/compose.hpp"

namespace deputy::conformance::reference {
namespace {

// By the statistics of the batch itself, which are mixed into those that were given.
std::vector<Tensor> BatchStatistics(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const double epsilon = node.Float("epsilon", 1e-5f), momentum = node.Float("momentum", 0.9f);
  const int64_t channels = in[1]->count();
  const auto channel = [&](int64_t i) { return x.rank() > 1 ? IndexOf(x.dims, i)[1] : 0; };
  std::vector<double> mean(static_cast<size_t>(channels)), variance(mean.size());
  const double share = static_cast<double>(channels) / static_cast<double>(x.count());
  for (int64_t i = 0; i < x.count(); ++i) mean[static_cast<size_t>(channel(i))] += x.Get(i) * share;
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto c = static_cast<size_t>(channel(i));
    variance[c] += (x.Get(i) - mean[c]) * (x.Get(i) - mean[c]) * share;
  }
  Tensor y(x.dtype, x.dims), running_mean(in[3]->dtype, {channels}), running_variance(in[4]->dtype, {channels});
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto c = static_cast<size_t>(channel(i));
    const auto at = static_cast<int64_t>(c);
    y.Put(i, (x.Get(i) - mean[c]) / std::sqrt(variance[c] + epsilon) * in[1]->Get(at) + in[2]->Get(at));
  }
  for (int64_t c = 0; c < channels; ++c) {
    const auto at = static_cast<size_t>(c);
    running_mean.Put(c, in[3]->Get(c) * momentum + mean[at] * (1 - momentum));
    running_variance.Put(c, in[4]->Get(c) * momentum + variance[at] * (1 - momentum));
  }
  return {y, running_mean, running_variance};
}

std::vector<Tensor> BatchNormalization(const Node& node, const Inputs& in) {
  if (node.Int("training_mode", 0) != 0) return BatchStatistics(node, in);
  const Tensor& x = *in[0];
  const double epsilon = node.Float("epsilon", 1e-5f);
  // Before definition 9 there may be statistics for every place of a channel.
  const bool per_channel = node.Int("spatial", 1) != 0;
  Tensor y(x.dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t c = !per_channel ? i % in[3]->count() : (x.rank() > 1 ? IndexOf(x.dims, i)[1] : 0);
    const double shifted = (x.Get(i) - in[3]->Get(c)) / std::sqrt(in[4]->Get(c) + epsilon);
    y.Put(i, shifted * in[1]->Get(c) + in[2]->Get(c));
  }
  return {y};
}

struct Moments {
  double mean = 0, variance = 0;
};

// Of `count` elements from `begin` on.
Moments MomentsOf(const Tensor& x, int64_t begin, int64_t count) {
  Moments moments;
  for (int64_t i = 0; i < count; ++i) moments.mean += x.Get(begin + i);
  moments.mean /= static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) moments.variance += std::pow(x.Get(begin + i) - moments.mean, 2);
  moments.variance /= static_cast<double>(count);
  return moments;
}

// `groups` of channels are normalized together; scale and bias are per channel.
std::vector<Tensor> Grouped(const Node& node, const Inputs& in, int64_t groups) {
  const Tensor& x = *in[0];
  const double epsilon = node.Float("epsilon", 1e-5f);
  const int64_t channels = x.dims[1];
  const int64_t size = x.count() == 0 ? 0 : x.count() / (x.dims[0] * groups);
  Tensor y(x.dtype, x.dims);
  for (int64_t begin = 0; begin < x.count(); begin += size) {
    const Moments moments = MomentsOf(x, begin, size);
    for (int64_t i = begin; i < begin + size; ++i) {
      const int64_t c = IndexOf(x.dims, i)[1] * in[1]->count() / channels;
      y.Put(i, (x.Get(i) - moments.mean) / std::sqrt(moments.variance + epsilon) * in[1]->Get(c) + in[2]->Get(c));
    }
  }
  return {y};
}

std::vector<Tensor> InstanceNormalization(const Node& node, const Inputs& in) {
  return Grouped(node, in, in[0]->dims[1]);
}
std::vector<Tensor> GroupNormalization(const Node& node, const Inputs& in) {
  return Grouped(node, in, node.Int("num_groups", 1));
}

int64_t RowLength(const Tensor& x, int64_t axis) {
  int64_t length = 1;
  for (size_t i = FromFront(axis, x.rank()); i < x.rank(); ++i) length *= x.dims[i];
  return length;
}

std::vector<Tensor> LayerNormalization(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const int64_t axis = node.Int("axis", -1), length = RowLength(x, axis);
  const double epsilon = node.Float("epsilon", 1e-5f);
  Dims reduced = x.dims;
  for (size_t i = FromFront(axis, x.rank()); i < x.rank(); ++i) reduced[i] = 1;
  Tensor y(x.dtype, x.dims), mean(DEPUTY_DTYPE_FLOAT32, reduced), inverse(DEPUTY_DTYPE_FLOAT32, reduced);
  for (int64_t row = 0; row < mean.count(); ++row) {
    const Moments moments = MomentsOf(x, row * length, length);
    mean.Put(row, moments.mean);
    inverse.Put(row, 1 / std::sqrt(moments.variance + epsilon));
    for (int64_t i = row * length; i < (row + 1) * length; ++i) {
      const Dims index = IndexOf(x.dims, i);
      double value = (x.Get(i) - moments.mean) / std::sqrt(moments.variance + epsilon);
      value *= in[1]->Get(BroadcastFlat(in[1]->dims, index));
      if (At(in, 2) != nullptr) value += in[2]->Get(BroadcastFlat(in[2]->dims, index));
      y.Put(i, value);
    }
  }
  std::vector<Tensor> outputs = {y, mean, inverse};
  outputs.resize(std::min<size_t>(node.output_count, 3));
  return outputs;
}

std::vector<Tensor> RMSNormalization(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const int64_t length = RowLength(x, node.Int("axis", -1));
  const double epsilon = node.Float("epsilon", 1e-5f);
  Tensor y(x.dtype, x.dims);
  for (int64_t begin = 0; begin < x.count(); begin += length) {
    double squares = 0;
    for (int64_t i = begin; i < begin + length; ++i) squares += x.Get(i) * x.Get(i);
    const double root = std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (int64_t i = begin; i < begin + length; ++i)
      y.Put(i, x.Get(i) / root * in[1]->Get(BroadcastFlat(in[1]->dims, IndexOf(x.dims, i))));
  }
  return {y};
}

std::vector<Tensor> Lrn(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const double alpha = node.Float("alpha", 0.0001f), beta = node.Float("beta", 0.75f), bias = node.Float("bias", 1.0f);
  const int64_t size = node.Int("size", 1);
  Tensor y(x.dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    Dims index = IndexOf(x.dims, i);
    const int64_t c = index[1];
    const int64_t from = std::max<int64_t>(0, c - (size - 1) / 2), to = std::min(x.dims[1] - 1, c + size / 2);
    double squares = 0;
    for (index[1] = from; index[1] <= to; ++index[1]) squares += std::pow(x.Get(Flat(x.dims, index)), 2);
    y.Put(i, x.Get(i) / std::pow(bias + alpha / static_cast<double>(size) * squares, beta));
  }
  return {y};
}

std::vector<Tensor> MeanVarianceNormalization(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const std::vector<int64_t> axes = node.Ints("axes", {0, 2, 3});
  Dims kept = x.dims;
  for (const int64_t axis : axes) kept[FromFront(axis, x.rank())] = 1;
  Tensor sum(DEPUTY_DTYPE_FLOAT64, kept), squares(DEPUTY_DTYPE_FLOAT64, kept), y(x.dtype, x.dims);
  const double count = kept.empty() || sum.count() == 0 ? 1 : static_cast<double>(x.count() / sum.count());
  const auto statistics_of = [&](int64_t i) { return BroadcastFlat(kept, IndexOf(x.dims, i)); };
  const auto distance = [&](int64_t i) { return x.Get(i) - sum.Get(statistics_of(i)) / count; };
  for (int64_t i = 0; i < x.count(); ++i) sum.Put(statistics_of(i), sum.Get(statistics_of(i)) + x.Get(i));
  for (int64_t i = 0; i < x.count(); ++i)
    squares.Put(statistics_of(i), squares.Get(statistics_of(i)) + distance(i) * distance(i));
  for (int64_t i = 0; i < x.count(); ++i)
    y.Put(i, distance(i) / (std::sqrt(squares.Get(statistics_of(i)) / count) + 1e-9));
  return {y};
}

std::vector<Tensor> LpNormalization(const Node& node, const Inputs& in) {
  const Tensor& x = *in[0];
  const auto p = static_cast<double>(node.Int("p", 2));
  Dims kept = x.dims;
  kept[FromFront(node.Int("axis", -1), x.rank())] = 1;
  Tensor sum(DEPUTY_DTYPE_FLOAT64, kept), y(x.dtype, x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t at = BroadcastFlat(kept, IndexOf(x.dims, i));
    sum.Put(at, sum.Get(at) + std::pow(std::fabs(x.Get(i)), p));
  }
  for (int64_t i = 0; i < x.count(); ++i) {
    const double norm = std::pow(sum.Get(BroadcastFlat(kept, IndexOf(x.dims, i))), 1 / p);
    y.Put(i, norm == 0 ? 0 : x.Get(i) / norm);
  }
  return {y};
}

// Visits the rows along which a softmax is taken: before definition 13 everything from the axis on is one row.
template <class Visit>
void ForRows(const Node& node, const Tensor& x, const Visit& visit) {
  const bool old = node.since_version < 13;
  const size_t axis = FromFront(node.Int("axis", old ? 1 : -1), x.rank());
  int64_t length = 1, step = 1;
  for (size_t i = axis; i < x.rank(); ++i) (old || i == axis ? length : step) *= x.dims[i];
  if (x.rank() == 0 || x.count() == 0) return;
  for (int64_t row = 0; row < x.count() / length; ++row) visit(row / step * step * length + row % step, step, length);
}

std::vector<Tensor> Exponentials(const Node& node, const Inputs& in, bool logarithms) {
  const Tensor& x = *in[0];
  Tensor y(x.dtype, x.dims);
  if (x.rank() == 0 && !logarithms) y.Put(0, 1.0);
  ForRows(node, x, [&](int64_t begin, int64_t step, int64_t length) {
    double largest = x.Get(begin), sum = 0;
    for (int64_t i = 0; i < length; ++i) largest = std::max(largest, x.Get(begin + i * step));
    for (int64_t i = 0; i < length; ++i) sum += std::exp(x.Get(begin + i * step) - largest);
    for (int64_t i = 0; i < length; ++i) {
      const double shifted = x.Get(begin + i * step) - largest;
      y.Put(begin + i * step, logarithms ? shifted - std::log(sum) : std::exp(shifted) / sum);
    }
  });
  return {y};
}

std::vector<Tensor> Softmax(const Node& node, const Inputs& in) { return Exponentials(node, in, false); }
std::vector<Tensor> LogSoftmax(const Node& node, const Inputs& in) { return Exponentials(node, in, true); }

std::vector<Tensor> Hardmax(const Node& node, const Inputs& in) {
  Tensor y(in[0]->dtype, in[0]->dims);
  ForRows(node, *in[0], [&](int64_t begin, int64_t step, int64_t length) {
    int64_t best = 0;
    for (int64_t i = 1; i < length; ++i)
      if (in[0]->Get(begin + i * step) > in[0]->Get(begin + best * step)) best = i;
    y.Put(begin + best * step, 1.0);
  });
  return {y};
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
  const Tensor logarithms = Apply("LogSoftmax", {*in[0]}, {{"axis", Attribute::Int(1)}});
  std::vector<Tensor> outputs = {LikelihoodLoss(node, logarithms, *in[1], At(in, 2))};
  if (node.output_count > 1) outputs.push_back(logarithms);
  return outputs;
}

}  // namespace

KernelRows NormalizationKernels() {
  return {{"BatchNormalization", BatchNormalization},
          {"GroupNormalization", GroupNormalization},
          {"Hardmax", Hardmax},
          {"InstanceNormalization", InstanceNormalization},
          {"LayerNormalization", LayerNormalization},
          {"LogSoftmax", LogSoftmax},
          {"LpNormalization", LpNormalization},
          {"LRN", Lrn},
          {"MeanVarianceNormalization", MeanVarianceNormalization},
          {"NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss},
          {"RMSNormalization", RMSNormalization},
          {"Softmax", Softmax},
          {"SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss}};
}

}  // namespace deputy::conformance::reference
