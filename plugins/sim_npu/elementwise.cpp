// Add, Sub, Mul with broadcasting; activations; normalization by constants, which is a multiplication and an addition
// per channel. All go through the vector unit.
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

constexpr int64_t kElementsPerJob = 1 << 14;

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
    operands_.clear();
    for (size_t i = 0; i < 2; ++i) {
      const Extents extents = Aligned(node.input(i));
      int64_t stride = 1;
      for (size_t axis = 4; axis-- > 0; stride *= extents[axis]) strides_[i][axis] = extents[axis] == 1 ? 0 : stride;
      if (node.input(i).is_constant()) {
        constants_[i] = constants.Rounded(node.input(i));
        constant_bytes_ += constants_[i].size() * 2;
      } else {
        operands_.push_back(i);
      }
    }
    macs_ = static_cast<uint64_t>(node.output(0).element_count());
  }

  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const float* operands[2];
    size_t next = 0;
    for (size_t i = 0; i < 2; ++i) operands[i] = constants_[i].empty() ? inputs[next++] : constants_[i].data();
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
  std::vector<float> constants_[2];
};

// Applies one function to every element.
template <class Function>
class Map final : public Layer {
 public:
  Map(const NodeView& node, Function function) : count_(node.output(0).element_count()), function_(function) {
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

// A limit of Clip: an attribute before definition 11, an optional input since.
float Limit(const NodeView& node, Constants& constants, size_t input, const char* attribute, float fallback) {
  if (node.since_version() < 11) return node.Float(attribute, fallback);
  const ValueView value = node.input(input);
  return value.exists() ? constants.Plain(value)[0] : fallback;
}

class ScaleShift final : public Layer {
 public:
  ScaleShift(const NodeView& node, Constants& constants) {
    const auto dims = node.input(0).dims();
    images_ = dims[0], channels_ = dims[1], plane_ = dims.size() == 4 ? dims[2] * dims[3] : 1;
    const auto scale = constants.Plain(node.input(1)), bias = constants.Plain(node.input(2)),
               mean = constants.Plain(node.input(3)), variance = constants.Plain(node.input(4));
    const float epsilon = node.Float("epsilon", 1e-5f);
    for (size_t i = 0; i < scale.size(); ++i) {
      factors_.push_back(scale[i] / std::sqrt(variance[i] + epsilon));
      offsets_.push_back(bias[i] - mean[i] * factors_.back());
    }
    macs_ = static_cast<uint64_t>(node.output(0).element_count());
    constant_bytes_ = factors_.size() * 8;
  }
  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    host.ParallelFor(images_ * channels_, std::max<int64_t>(kElementsPerJob / plane_, 1),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         const auto channel = static_cast<size_t>(i % channels_);
                         for (int64_t j = i * plane_; j < (i + 1) * plane_; ++j)
                           output[j] = inputs[0][j] * factors_[channel] + offsets_[channel];
                       }
                     });
  }

 private:
  int64_t images_, channels_, plane_;
  std::vector<float> factors_, offsets_;
};

}  // namespace

Verdict CheckBinary(const NodeView& node) {
  for (size_t i = 0; i < 2; ++i) {
    const ValueView input = node.input(i);
    if (!input.is_constant()) continue;
    if (input.rank() > 4) return Verdict::No(Reason::kRank, "a constant has more than four dimensions");
    if (const Verdict constant = CheckConstant(input, "constants"); !constant.supported()) return constant;
  }
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeBinary(const NodeView& node, Constants& constants) {
  return std::make_unique<Binary>(node, constants);
}

Verdict CheckActivation(const NodeView& node) {
  if (!node.Is("Clip")) return Verdict::Yes();
  for (size_t i = 1; i < node.input_count(); ++i) {
    const ValueView limit = node.input(i);
    if (!limit.exists()) continue;
    if (!limit.is_constant()) return Verdict::No(Reason::kNotConstant, "the limits must be constant");
    if (limit.element_count() != 1) return Verdict::No(Reason::kShape, "the limits must be single numbers");
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
  constexpr float kNone = std::numeric_limits<float>::max();
  const float low = Limit(node, constants, 1, "min", -kNone);
  const float high = Limit(node, constants, 2, "max", kNone);
  return MakeMap(node, [low, high](float x) { return std::min(std::max(x, low), high); });
}

Verdict CheckBatchNormalization(const NodeView& node) {
  if (node.Int("spatial", 1) != 1 || node.Int("training_mode", 0) != 0)
    return Verdict::No(Reason::kAttribute, "only inference with one factor per channel");
  for (size_t i = 1; i < 5; ++i) {
    if (const Verdict constant = CheckConstant(node.input(i), "factors"); !constant.supported()) return constant;
    if (node.input(i).element_count() != node.input(0).dims()[1])
      return Verdict::No(Reason::kShape, "the factors are not one per channel");
  }
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeBatchNormalization(const NodeView& node, Constants& constants) {
  return std::make_unique<ScaleShift>(node, constants);
}

}  // namespace sim_npu
