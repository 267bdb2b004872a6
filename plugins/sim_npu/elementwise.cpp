// Add, Sub, Mul with broadcasting; activations; normalization, which is a multiplication and an addition per channel.
// All go through the vector unit.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "constant.hpp"
#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::ValueView;
using deputy::sdk::Verdict;

using Extents = std::array<int64_t, 4>;

Extents Aligned(const ValueView& value) {
  Extents extents{1, 1, 1, 1};
  const auto dims = value.dims();
  for (size_t i = 0; i < dims.size(); ++i) extents[4 - dims.size() + i] = dims[i];
  return extents;
}

class Binary final : public Layer {
 public:
  Binary(const NodeView& node, Constants& constants) : type_(node.op_type()[0]), out_(Aligned(node.output(0))) {
    for (size_t i = 0; i < 2; ++i) {
      const Extents extents = Aligned(node.input(i));
      int64_t stride = 1;
      for (size_t axis = 4; axis-- > 0; stride *= extents[axis]) strides_[i][axis] = extents[axis] == 1 ? 0 : stride;
      sources_[i] = Take(node, i, constants);
    }
    macs_ = static_cast<uint64_t>(node.output(0).element_count());
  }

  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const float* const operands[] = {sources_[0].In(inputs), sources_[1].In(inputs)};
    const int64_t rows = out_[0] * out_[1] * out_[2];
    host.ParallelFor(rows, std::max<int64_t>(kElementsPerJob / out_[3], 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t i2 = row % out_[2], i1 = row / out_[2] % out_[1], i0 = row / out_[2] / out_[1];
        const float* a = operands[0] + i0 * strides_[0][0] + i1 * strides_[0][1] + i2 * strides_[0][2];
        const float* b = operands[1] + i0 * strides_[1][0] + i1 * strides_[1][1] + i2 * strides_[1][2];
        float* to = output + row * out_[3];
        switch (type_) {
          case 'A': Row(a, b, to, [](float x, float y) { return x + y; }); break;
          case 'S': Row(a, b, to, [](float x, float y) { return x - y; }); break;
          default: Row(a, b, to, [](float x, float y) { return x * y; });
        }
      }
    });
  }

 private:
  template <class Function>
  void Row(const float* a, const float* b, float* to, Function function) const {
    const int64_t step_a = strides_[0][3], step_b = strides_[1][3];
    for (int64_t i = 0; i < out_[3]; ++i) to[i] = function(a[i * step_a], b[i * step_b]);
  }

  char type_;
  Extents out_;
  Extents strides_[2];
  Source sources_[2];
};

// Applies one function to every element.
template <class Function>
class Map final : public Layer {
 public:
  Map(const NodeView& node, Function function) : count_(node.output(0).element_count()), function_(function) {
    operands_ = {0};
    macs_ = static_cast<uint64_t>(count_);
  }
  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    host.ParallelFor(count_, kElementsPerJob, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) output[i] = function_(inputs[0][i]);
    });
  }

 private:
  int64_t count_;
  Function function_;
};

template <class Function>
std::unique_ptr<Layer> MakeMap(const NodeView& node, Function function) {
  return std::make_unique<Map<Function>>(node, function);
}

// Limits are attributes before definition 11, optional inputs since.
class Clip final : public Layer {
 public:
  Clip(const NodeView& node, Constants& constants) : count_(node.output(0).element_count()) {
    x_ = Take(node, 0, constants);
    if (node.since_version() < 11) {
      low_ = node.Float("min", low_), high_ = node.Float("max", high_);
    } else {
      min_ = Take(node, 1, constants), max_ = Take(node, 2, constants);
    }
    macs_ = static_cast<uint64_t>(count_);
  }
  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const float low = min_.In(inputs) != nullptr ? *min_.In(inputs) : low_;
    const float high = max_.In(inputs) != nullptr ? *max_.In(inputs) : high_;
    const float* x = x_.In(inputs);
    host.ParallelFor(count_, kElementsPerJob, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) output[i] = std::min(std::max(x[i], low), high);
    });
  }

 private:
  int64_t count_;
  Source x_, min_, max_;
  float low_ = -std::numeric_limits<float>::infinity(), high_ = std::numeric_limits<float>::infinity();
};

class BatchNormalization final : public Layer {
 public:
  BatchNormalization(const NodeView& node, Constants& constants) : epsilon_(node.Float("epsilon", 1e-5f)) {
    const auto dims = node.input(0).dims();
    images_ = dims[0], channels_ = dims[1], plane_ = dims.size() == 4 ? dims[2] * dims[3] : 1;
    x_ = Take(node, 0, constants);
    for (size_t i = 0; i < 4; ++i) given_[i] = Take(node, i + 1, constants);
    factors_.resize(static_cast<size_t>(channels_)), offsets_.resize(static_cast<size_t>(channels_));
    macs_ = static_cast<uint64_t>(node.output(0).element_count());
  }
  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const float *scale = given_[0].In(inputs), *bias = given_[1].In(inputs), *mean = given_[2].In(inputs),
                *variance = given_[3].In(inputs);
    for (size_t i = 0; i < factors_.size(); ++i) {
      factors_[i] = scale[i] / std::sqrt(variance[i] + epsilon_);
      offsets_[i] = bias[i] - mean[i] * factors_[i];
    }
    const float* x = x_.In(inputs);
    host.ParallelFor(images_ * channels_, std::max<int64_t>(kElementsPerJob / plane_, 1),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const auto channel = static_cast<size_t>(i % channels_);
                         for (int64_t j = i * plane_; j < (i + 1) * plane_; ++j)
                           output[j] = x[j] * factors_[channel] + offsets_[channel];
                       }
                     });
  }

 private:
  float epsilon_;
  int64_t images_, channels_, plane_;
  Source x_, given_[4];  // scale, bias, mean, variance
  std::vector<float> factors_, offsets_;
};

}  // namespace

Verdict CheckBinary(const NodeView&) { return Verdict::Yes(); }

std::unique_ptr<Layer> MakeBinary(const NodeView& node, Constants& constants) {
  return std::make_unique<Binary>(node, constants);
}

Verdict CheckActivation(const NodeView& node) {
  if (!node.Is("Clip")) return Verdict::Yes();
  for (size_t i = 1; i < node.input_count(); ++i) {
    const ValueView limit = node.input(i);
    if (limit.exists() && limit.element_count() != 1)
      return Verdict::No(Reason::kShape, "min and max must have one element");
  }
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeActivation(const NodeView& node, Constants& constants) {
  if (node.Is("Relu")) return MakeMap(node, [](float x) { return x > 0 ? x : x <= 0 ? 0.0f : x; });
  if (node.Is("Sigmoid")) return MakeMap(node, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
  if (node.Is("Tanh")) return MakeMap(node, [](float x) { return std::tanh(x); });
  if (node.Is("LeakyRelu")) {
    const float alpha = node.Float("alpha", 0.01f);
    return MakeMap(node, [alpha](float x) { return x < 0 ? x * alpha : x; });
  }
  return std::make_unique<Clip>(node, constants);
}

Verdict CheckBatchNormalization(const NodeView& node) {
  if (node.Int("spatial", 1) != 1 || node.Int("training_mode", 0) != 0)
    return Verdict::No(Reason::kAttribute, "only inference with statistics per channel");
  for (size_t i = 1; i < 5; ++i)
    if (node.input(i).element_count() != node.input(0).dims()[1])
      return Verdict::No(Reason::kShape, "scale, B, mean and var must have one element per channel");
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeBatchNormalization(const NodeView& node, Constants& constants) {
  return std::make_unique<BatchNormalization>(node, constants);
}

}  // namespace sim_npu
