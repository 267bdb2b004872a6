// Layers that move elements or reduce along an axis: Concat, Reshape and related operators, Softmax.
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace sim_npu {
namespace {

using deputy::sdk::Host;
using deputy::sdk::NodeView;
using deputy::sdk::Reason;
using deputy::sdk::Verdict;

// An axis and the number of elements outside and inside of it.
struct Split {
  int64_t outer = 1, extent = 1, inner = 1;
};

Split SplitAt(const Dims& dims, int64_t axis) {
  Split split;
  const auto rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank;
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? split.outer : i == axis ? split.extent : split.inner) *= dims[static_cast<size_t>(i)];
  return split;
}

bool AxisInRange(const NodeView& node, int64_t axis) {
  const auto rank = static_cast<int64_t>(node.output(0).rank());
  return axis >= -rank && axis < rank;
}

class Concat final : public Layer {
 public:
  Concat(const NodeView& node, Constants& constants) {
    outer_ = SplitAt(node.output(0).dims().ToVector(), node.Int("axis", 1)).outer;
    for (size_t i = 0; i < node.input_count(); ++i)
      parts_.push_back({Take(node, i, constants), node.input(i).element_count() / outer_});
  }
  void Run(const Host&, const std::vector<const float*>& inputs, float* output) override {
    for (int64_t i = 0; i < outer_; ++i)
      for (const Part& part : parts_) output = std::copy_n(part.source.In(inputs) + i * part.chunk, part.chunk, output);
  }

 private:
  struct Part {
    Source source;
    int64_t chunk;
  };
  int64_t outer_;
  std::vector<Part> parts_;
};

class Copy final : public Layer {
 public:
  explicit Copy(const NodeView& node) : count_(node.output(0).element_count()) { operands_ = {0}; }
  void Run(const Host&, const std::vector<const float*>& inputs, float* output) override {
    std::copy_n(inputs[0], count_, output);
  }

 private:
  int64_t count_;
};

class Softmax final : public Layer {
 public:
  explicit Softmax(const NodeView& node) {
    operands_ = {0};
    // Before definition 13 everything from the axis on is one.
    const bool flat = node.since_version() < 13;
    split_ = SplitAt(node.output(0).dims().ToVector(), node.Int("axis", flat ? 1 : -1));
    if (flat) split_ = {split_.outer, split_.extent * split_.inner, 1};
    macs_ = static_cast<uint64_t>(split_.outer * split_.extent * split_.inner) * 4;
  }
  void Run(const Host& host, const std::vector<const float*>& inputs, float* output) override {
    const int64_t extent = split_.extent, inner = split_.inner;
    host.ParallelFor(split_.outer * inner, std::max<int64_t>(1024 / extent, 1), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / inner * extent * inner + i % inner;
        const float* from = inputs[0] + first;
        float* to = output + first;
        float largest = from[0], sum = 0;
        for (int64_t k = 1; k < extent; ++k) largest = std::max(largest, from[k * inner]);
        for (int64_t k = 0; k < extent; ++k) sum += to[k * inner] = std::exp(from[k * inner] - largest);
        for (int64_t k = 0; k < extent; ++k) to[k * inner] /= sum;
      }
    });
  }

 private:
  Split split_;
};

}  // namespace

Verdict CheckConcat(const NodeView& node) {
  if (!AxisInRange(node, node.Int("axis", 1))) return Verdict::No(Reason::kAttribute, "the axis is out of range");
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeConcat(const NodeView& node, Constants& constants) {
  return std::make_unique<Concat>(node, constants);
}

Verdict CheckCopy(const NodeView& node) {
  if (node.input(0).element_count() != node.output(0).element_count())
    return Verdict::No(Reason::kShape, "input and output differ in size");
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeCopy(const NodeView& node, Constants&) { return std::make_unique<Copy>(node); }

Verdict CheckSoftmax(const NodeView& node) {
  if (!AxisInRange(node, node.Int("axis", -1))) return Verdict::No(Reason::kAttribute, "the axis is out of range");
  return Verdict::Yes();
}

std::unique_ptr<Layer> MakeSoftmax(const NodeView& node, Constants&) { return std::make_unique<Softmax>(node); }

}  // namespace sim_npu
