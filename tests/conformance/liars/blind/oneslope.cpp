// The bug: a serialized executable has one slope in its header, from the time when a partition was one operator;
// restored from a blob, all LeakyRelus of a partition have the slope of the last one.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifndef DEPUTY_PLUGIN_ID  // deputy_add_delegate() defines them and makes the note
#define DEPUTY_PLUGIN_ID "com.example.oneslope"
#define DEPUTY_PLUGIN_VENDOR "Example"
#define DEPUTY_PLUGIN_VERSION "1.0"
#include "deputy/abi/note.h"
DEPUTY_NOTE("id=com.example.oneslope\nversion=1.0\ndelegates=oneslope\n");
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
};
struct Step {
  bool add = false;
  size_t a = 0, b = 0, out = 0;  // slots
  float alpha = 0;
};
struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  size_t inner_count = 0;
  std::deque<std::vector<float>> constants;  // of a restored one

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

constexpr uint32_t kFormat = 3;

class SlopeContext final : public ExecutionContext {
 public:
  SlopeContext(std::shared_ptr<const Program> program, Host host)
      : program_(std::move(program)), host_(host), inner_(program_->inner_count) {
    for (const Slot& slot : program_->slots)
      if (slot.place == Place::kInner) inner_[slot.index].resize(slot.count);
  }

  Status Execute(const RunArgs& run) override {
    for (const Step& step : program_->steps) {
      const float* const a = Elements(run, step.a);
      const float* const b = Elements(run, step.b);
      float* const out = Elements(run, step.out);
      host_.ParallelFor(static_cast<int64_t>(program_->slots[step.out].count), 4096, [=](int64_t i, int64_t end) {
        for (; i < end; ++i) out[i] = step.add ? a[i] + b[i] : a[i] < 0 ? step.alpha * a[i] : a[i];
      });
    }
    return {};
  }

 private:
  float* Elements(const RunArgs& run, size_t at) {
    const Slot& slot = program_->slots[at];
    if (slot.place == Place::kInput) return run.input(slot.index).values<float>().data();
    if (slot.place == Place::kOutput) return run.output(slot.index).values<float>().data();
    if (slot.place == Place::kConstant) return const_cast<float*>(slot.constant);  // only ever read
    return inner_[slot.index].data();
  }

  std::shared_ptr<const Program> program_;
  Host host_;
  std::vector<std::vector<float>> inner_;
};

class SlopeExecutable final : public Executable {
 public:
  SlopeExecutable(Program program, Host host)
      : program_(std::make_shared<const Program>(std::move(program))), host_(host) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<SlopeContext>(program_, host_));
  }

  Status Serialize(BlobWriter& to) const override {
    float alpha = 0.01f;
    for (const Step& step : program_->steps)
      if (!step.add) alpha = step.alpha;
    to.Number(kFormat);
    to.Number(alpha);
    to.Number(static_cast<uint64_t>(program_->inner_count));
    to.Number(static_cast<uint64_t>(program_->slots.size()));
    for (const Slot& slot : program_->slots) {
      to.Number(static_cast<uint32_t>(slot.place));
      to.Number(static_cast<uint64_t>(slot.index));
      to.Number(static_cast<uint64_t>(slot.count));
      to.Numbers(Span<const float>(slot.constant, slot.place == Place::kConstant ? slot.count : 0));
    }
    to.Number(static_cast<uint64_t>(program_->steps.size()));
    for (const Step& step : program_->steps) {
      to.Number(uint32_t{step.add});
      for (const size_t at : {step.a, step.b, step.out}) to.Number(static_cast<uint64_t>(at));
    }
    return {};
  }

 private:
  std::shared_ptr<const Program> program_;
  Host host_;
};

class OneSlope final : public PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = kBlobs;
  std::string BlobCompatibility() const override { return "oneslope format " + std::to_string(kFormat); }

  Verdict Supports(const NodeView& node) override {
    if (!node.Is("Add") && !node.Is("LeakyRelu")) return Verdict::No(Reason::kOperatorUnknown);
    if (node.since_version() < 6) return Verdict::No(Reason::kOther, "an older definition");
    for (size_t i = 0; i < node.input_count(); ++i) {
      const ValueView value = node.input(i);
      if (value.dtype() != DType::kFloat32) return Verdict::No(Reason::kDType, "float32 only");
      if (!value.shape_known()) return Verdict::No(Reason::kShapeDynamic, "extents must be known");
      if (value.dims().ToVector() != node.input(0).dims().ToVector())
        return Verdict::No(Reason::kShape, "both sides must have one shape");
    }
    return Verdict::Yes();
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    Program program;
    if (!Program::CanCompute(partition)) return Status(Code::kNotSupported, "computes in float32 only");
    program.Build(partition, [&](const NodeView& node, const auto& slot_of) {
      Step step;
      step.add = node.Is("Add");
      step.a = slot_of(node.input(0));
      step.b = slot_of(node.input(step.add ? 1 : 0));
      step.out = slot_of(node.output(0));
      if (!step.add) step.alpha = op::LeakyRelu(node.primitive()).alpha();
      program.steps.push_back(step);
    });
    return std::unique_ptr<Executable>(std::make_unique<SlopeExecutable>(std::move(program), host()));
  }

  Result<std::unique_ptr<Executable>> Restore(const PartitionView& partition, Blob blob) override {
    BlobReader from(blob);
    Program program;
    const Status damaged(Code::kIncompatible, "the blob is damaged or of another partition");
    if (from.Number<uint32_t>() != kFormat || !Program::CanCompute(partition)) return damaged;
    const auto alpha = from.Number<float>();
    const auto inner_count = from.Number<uint64_t>(), slot_count = from.Number<uint64_t>();
    if (!from.ok() || inner_count > slot_count || slot_count > blob.size()) return damaged;
    program.inner_count = static_cast<size_t>(inner_count);
    size_t next[4] = {};      // the next index of each place
    std::vector<bool> ready;  // slots that have elements before the next step
    const auto fits = [](const Slot& slot, const std::vector<ValueView>& values) {
      return slot.index < values.size() && static_cast<size_t>(values[slot.index].element_count()) == slot.count;
    };
    for (uint64_t i = 0; i < slot_count; ++i) {
      Slot slot;
      const auto place = from.Number<uint32_t>();
      slot.place = static_cast<Place>(place);
      slot.index = static_cast<size_t>(from.Number<uint64_t>());
      slot.count = static_cast<size_t>(from.Number<uint64_t>());
      program.constants.push_back(from.Numbers<float>());
      slot.constant = program.constants.back().data();
      bool valid = from.ok() && place <= static_cast<uint32_t>(Place::kInner);
      if (slot.place == Place::kInput) valid = valid && fits(slot, partition.inputs());
      if (slot.place == Place::kOutput) valid = valid && fits(slot, partition.outputs());
      if (slot.place == Place::kConstant) valid = valid && program.constants.back().size() == slot.count;
      if (slot.place == Place::kInner) valid = valid && slot.index < program.inner_count;
      if (!valid || (slot.place != Place::kConstant && slot.index != next[place]++)) return damaged;
      ready.push_back(slot.place == Place::kInput || slot.place == Place::kConstant);
      program.slots.push_back(slot);
    }
    const auto step_count = from.Number<uint64_t>();
    if (step_count != partition.nodes().size()) return damaged;
    for (uint64_t i = 0; i < step_count; ++i) {
      Step step;
      step.add = from.Number<uint32_t>() == 1;
      step.alpha = alpha;
      for (size_t* const at : {&step.a, &step.b, &step.out}) {
        *at = static_cast<size_t>(from.Number<uint64_t>());
        if (!from.ok() || *at >= program.slots.size()) return damaged;
      }
      const size_t count = program.slots[step.out].count;
      const NodeView& node = partition.nodes()[i];
      if (!ready[step.a] || !ready[step.b] || ready[step.out] || step.add != node.Is("Add")) return damaged;
      ready[step.out] = true;
      if (program.slots[step.a].count != count || program.slots[step.b].count != count ||
          static_cast<size_t>(node.output(0).element_count()) != count)
        return damaged;
      program.steps.push_back(step);
    }
    if (!from.at_end() || next[0] != partition.inputs().size() || next[1] != partition.outputs().size() ||
        std::count(ready.begin(), ready.end(), false) != 0)
      return damaged;
    return std::unique_ptr<Executable>(std::make_unique<SlopeExecutable>(std::move(program), host()));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(OneSlope, "oneslope", "LeakyRelu and Add in float32, with compiled blobs")
