// The bug: a context converts an input to channels-last only if it has another address than in the run before, or other
// bytes among its first and last 64; new contents in between, in the same buffer, give the results of the old ones.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#ifndef DEPUTY_PLUGIN_ID  // deputy_add_delegate() defines them and makes the note
#define DEPUTY_PLUGIN_ID "com.example.fingerprint"
#define DEPUTY_PLUGIN_VENDOR "Example"
#define DEPUTY_PLUGIN_VERSION "1.0"
#include "deputy/abi/note.h"
DEPUTY_NOTE("id=com.example.fingerprint\nversion=1.0\ndelegates=fingerprint\n");
#endif
#include "deputy/sdk/sdk.hpp"

namespace {

using namespace deputy::sdk;

enum class Place : uint32_t { kInput, kOutput, kConstant, kInner };
struct Slot {
  Place place = Place::kInner;
  size_t index = 0;  // of the input, the output or the inner buffer
  const float* constant = nullptr;
  size_t count = 0;  // elements
  size_t channels = 1, pixels = 1;
};
struct Step {
  bool pool = false;
  size_t in = 0, out = 0;                     // slots
  std::vector<float> factors, means, biases;  // of each channel
};
struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  size_t inner_count = 0;

  // The slots of a partition's values, in the order of their first use.
  template <class AddStep>
  void Build(const PartitionView& partition, AddStep add_step) {
    std::map<deputy_value_id, size_t> known;
    const auto add = [&](const ValueView& value, Place place, size_t index) {
      Slot slot;
      slot.place = place;
      slot.index = index;
      slot.count = static_cast<size_t>(value.element_count());
      if (place == Place::kConstant) slot.constant = static_cast<const float*>(value.constant());
      if (value.rank() == 4) {
        slot.channels = static_cast<size_t>(value.dims()[1]);
        slot.pixels = static_cast<size_t>(value.dims()[2] * value.dims()[3]);
      }
      slots.push_back(slot);
      return known[value.id()] = slots.size() - 1;
    };
    for (size_t i = 0; i < partition.inputs().size(); ++i) add(partition.inputs()[i], Place::kInput, i);
    for (size_t i = 0; i < partition.outputs().size(); ++i) add(partition.outputs()[i], Place::kOutput, i);
    const auto slot_of = [&](const ValueView& value) {
      const auto found = known.find(value.id());
      if (found != known.end()) return found->second;
      return value.is_constant() ? add(value, Place::kConstant, 0) : add(value, Place::kInner, inner_count++);
    };
    for (const NodeView& node : partition.nodes()) add_step(node, slot_of);
  }

  // False when a node is to compute in another type than float32.
  static bool CanCompute(const PartitionView& partition) {
    return std::all_of(partition.nodes().begin(), partition.nodes().end(), [&](const NodeView& node) {
      const DType compute = partition.PrecisionOf(node.id());
      return compute == DType::kUndefined || compute == DType::kFloat32;
    });
  }
};

class LayoutContext final : public ExecutionContext {
 public:
  LayoutContext(std::shared_ptr<const Program> program, Host host)
      : program_(std::move(program)), host_(host), values_(program_->slots.size()), seen_(program_->slots.size()) {
    for (size_t at = 0; at < values_.size(); ++at) {
      const Slot& slot = program_->slots[at];
      values_[at].resize(slot.count);
      if (slot.place == Place::kConstant) ToChannelsLast(slot, slot.constant, values_[at].data());
    }
  }

  Status Execute(const RunArgs& run) override {
    for (size_t at = 0; at < values_.size(); ++at) {
      const Slot& slot = program_->slots[at];
      if (slot.place != Place::kInput || slot.count == 0) continue;
      const float* const data = run.input(slot.index).values<float>().data();
      if (seen_[at].Same(data, slot.count)) continue;
      ToChannelsLast(slot, data, values_[at].data());
      seen_[at].Remember(data, slot.count);
    }
    for (const Step& step : program_->steps) step.pool ? Pool(step) : Normalize(step);
    for (size_t at = 0; at < values_.size(); ++at) {
      const Slot& slot = program_->slots[at];
      if (slot.place != Place::kOutput) continue;
      float* const to = run.output(slot.index).values<float>().data();
      for (size_t i = 0; i < slot.count; ++i) to[ChannelsFirst(slot, i)] = values_[at][i];
    }
    return {};
  }

 private:
  // What an upload is recognized by.
  struct Seen {
    const float* data = nullptr;
    float ends[32] = {};

    static size_t Edge(size_t count) { return std::min<size_t>(16, count); }
    bool Same(const float* now, size_t count) const {
      const size_t bytes = Edge(count) * sizeof(float);
      return data == now && std::memcmp(ends, now, bytes) == 0 &&
             std::memcmp(ends + 16, now + count - Edge(count), bytes) == 0;
    }
    void Remember(const float* now, size_t count) {
      data = now;
      std::memcpy(ends, now, Edge(count) * sizeof(float));
      std::memcpy(ends + 16, now + count - Edge(count), Edge(count) * sizeof(float));
    }
  };

  // The place of the i-th element in channels-last order among those in channels-first order.
  static size_t ChannelsFirst(const Slot& slot, size_t i) {
    const size_t c = i % slot.channels, rest = i / slot.channels;
    return (rest / slot.pixels * slot.channels + c) * slot.pixels + rest % slot.pixels;
  }
  static void ToChannelsLast(const Slot& slot, const float* from, float* to) {
    for (size_t i = 0; i < slot.count; ++i) to[i] = from[ChannelsFirst(slot, i)];
  }

  void Normalize(const Step& step) {
    const std::vector<float>& x = values_[step.in];
    std::vector<float>& y = values_[step.out];
    const size_t channels = step.factors.size();
    host_.ParallelFor(static_cast<int64_t>(y.size()), 4096, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        y[i] = (x[i] - step.means[i % channels]) * step.factors[i % channels] + step.biases[i % channels];
    });
  }

  void Pool(const Step& step) {
    const Slot& from = program_->slots[step.in];
    const std::vector<float>& x = values_[step.in];
    std::vector<float>& y = values_[step.out];
    host_.ParallelFor(static_cast<int64_t>(y.size()), 4, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const size_t n = i / from.channels, c = i % from.channels;
        double sum = 0;
        for (size_t p = 0; p < from.pixels; ++p) sum += x[(n * from.pixels + p) * from.channels + c];
        y[i] = static_cast<float>(sum / static_cast<double>(from.pixels));
      }
    });
  }

  std::shared_ptr<const Program> program_;
  Host host_;
  std::vector<std::vector<float>> values_;  // of each slot, channels-last
  std::vector<Seen> seen_;
};

class LayoutExecutable final : public Executable {
 public:
  LayoutExecutable(Program program, Host host)
      : program_(std::make_shared<const Program>(std::move(program))), host_(host) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<LayoutContext>(program_, host_));
  }

 private:
  std::shared_ptr<const Program> program_;
  Host host_;
};

class Fingerprint final : public PartitionDelegate {
 public:
  Verdict Supports(const NodeView& node) override {
    const bool pool = node.Is("GlobalAveragePool");
    if (!pool && !node.Is("BatchNormalization")) return Verdict::No(Reason::kOperatorUnknown);
    for (size_t i = 0; i < node.input_count(); ++i) {
      const ValueView value = node.input(i);
      if (value.dtype() != DType::kFloat32) return Verdict::No(Reason::kDType, "float32 only");
      if (!value.shape_known()) return Verdict::No(Reason::kShapeDynamic, "extents must be known");
    }
    if (node.input(0).rank() != 4) return Verdict::No(Reason::kRank, "pictures only");
    if (pool) return Verdict::Yes();
    const op::BatchNormalization normalization(node.primitive());
    if (node.since_version() < 7 || normalization.training_mode() != 0 || normalization.spatial() != 1)
      return Verdict::No(Reason::kOther, "inference of definitions 7 to 15 only, by channel");
    for (size_t i = 1; i < 5; ++i) {
      if (node.output(i).exists()) return Verdict::No(Reason::kOther, "one output only");
      if (!node.input(i).is_constant()) return Verdict::No(Reason::kNotConstant, "constant statistics only");
    }
    return Verdict::Yes();
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    Program program;
    if (!Program::CanCompute(partition)) return Status(Code::kNotSupported, "computes in float32 only");
    program.Build(partition, [&](const NodeView& node, const auto& slot_of) {
      Step step;
      step.pool = node.Is("GlobalAveragePool");
      step.in = slot_of(node.input(0));
      step.out = slot_of(node.output(0));
      if (!step.pool) {
        const double epsilon = op::BatchNormalization(node.primitive()).epsilon();
        const auto scale = node.input(1).constant_values<float>(), variance = node.input(4).constant_values<float>();
        step.biases = node.input(2).constant_values<float>().ToVector();
        step.means = node.input(3).constant_values<float>().ToVector();
        for (size_t c = 0; c < scale.size(); ++c)
          step.factors.push_back(static_cast<float>(scale[c] / std::sqrt(variance[c] + epsilon)));
      }
      program.steps.push_back(std::move(step));
    });
    return std::unique_ptr<Executable>(std::make_unique<LayoutExecutable>(std::move(program), host()));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(Fingerprint, "fingerprint", "BatchNormalization and GlobalAveragePool in float32, channels-last")
