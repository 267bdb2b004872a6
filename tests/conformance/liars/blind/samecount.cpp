// The bug: Resize returns at once when no input has another number of elements, because all buffers still fit; after a
// change such as 2x6 to 3x4 Softmax runs over rows of the former length.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#ifndef DEPUTY_PLUGIN_ID  // deputy_add_delegate() defines them and makes the note
#define DEPUTY_PLUGIN_ID "com.example.samecount"
#define DEPUTY_PLUGIN_VENDOR "Example"
#define DEPUTY_PLUGIN_VERSION "1.0"
#include "deputy/abi/note.h"
DEPUTY_NOTE("id=com.example.samecount\nversion=1.0\ndelegates=samecount\n");
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
  size_t width = 1;  // the last extent
};
struct Step {
  bool softmax = false;
  size_t in = 0, out = 0;  // slots
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
      if (value.rank() > 0) slot.width = static_cast<size_t>(value.dims().back());
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

class RowsContext final : public ExecutionContext {
 public:
  RowsContext(std::shared_ptr<const Program> program, Host host)
      : program_(std::move(program)), host_(host), slots_(program_->slots), inner_(program_->inner_count) {
    for (const Slot& slot : slots_)
      if (slot.place == Place::kInner) inner_[slot.index].resize(slot.count);
  }

  Result<ResizeOutcome> Resize(const ResizeArgs& args) override {
    bool same = true;
    for (const Slot& slot : slots_)
      if (slot.place == Place::kInput)
        same = same && slot.count == static_cast<size_t>(args.input(slot.index).element_count());
    if (same) return ResizeOutcome::kDone;
    for (const Slot& slot : slots_)
      if (slot.place == Place::kInput && args.input(slot.index).dims().empty())
        return Status(Code::kNotSupported, "scalars have no rows");
    std::vector<Slot> slots = slots_;
    std::vector<std::vector<float>> inner(inner_.size());
    for (Slot& slot : slots) {
      if (slot.place == Place::kInput) {
        slot.count = static_cast<size_t>(args.input(slot.index).element_count());
        slot.width = static_cast<size_t>(args.input(slot.index).dims().back());
      }
    }
    for (const Step& step : program_->steps) {  // no operator changes a shape
      slots[step.out].count = slots[step.in].count;
      slots[step.out].width = slots[step.in].width;
      if (slots[step.out].place == Place::kInner) inner[slots[step.out].index].resize(slots[step.out].count);
    }
    slots_ = std::move(slots);
    inner_ = std::move(inner);
    return ResizeOutcome::kDone;
  }

  Status Execute(const RunArgs& run) override {
    for (const Step& step : program_->steps) {
      const float* const x = Elements(run, step.in);
      float* const y = Elements(run, step.out);
      const size_t count = slots_[step.out].count, width = slots_[step.out].width;
      if (count == 0) continue;
      if (step.softmax)
        host_.ParallelFor(static_cast<int64_t>(count / width), 16, [=](int64_t row, int64_t end) {
          for (; row < end; ++row)
            Softmax(x + static_cast<size_t>(row) * width, y + static_cast<size_t>(row) * width, width);
        });
      else
        host_.ParallelFor(static_cast<int64_t>(count), 4096, [=](int64_t i, int64_t end) {
          for (; i < end; ++i) y[i] = x[i] < 0 ? 0 : x[i];  // NaN stays NaN
        });
    }
    return {};
  }

 private:
  static void Softmax(const float* x, float* y, size_t width) {
    const float largest = *std::max_element(x, x + width);
    float sum = 0;
    for (size_t i = 0; i < width; ++i) sum += y[i] = std::exp(x[i] - largest);
    for (size_t i = 0; i < width; ++i) y[i] /= sum;
  }

  float* Elements(const RunArgs& run, size_t at) {
    const Slot& slot = slots_[at];
    if (slot.place == Place::kInput) return run.input(slot.index).values<float>().data();
    if (slot.place == Place::kOutput) return run.output(slot.index).values<float>().data();
    if (slot.place == Place::kConstant) return const_cast<float*>(slot.constant);  // only ever read
    return inner_[slot.index].data();
  }

  std::shared_ptr<const Program> program_;
  Host host_;
  std::vector<Slot> slots_;  // with the shapes of this session
  std::vector<std::vector<float>> inner_;
};

class RowsExecutable final : public Executable {
 public:
  RowsExecutable(Program program, Host host)
      : program_(std::make_shared<const Program>(std::move(program))), host_(host) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<RowsContext>(program_, host_));
  }

 private:
  std::shared_ptr<const Program> program_;
  Host host_;
};

class SameCount final : public PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = kResizes;

  Verdict Supports(const NodeView& node) override {
    const ValueView x = node.input(0);
    if (!node.Is("Softmax") && !node.Is("Relu")) return Verdict::No(Reason::kOperatorUnknown);
    if (node.Is("Softmax") && node.since_version() < 13) return Verdict::No(Reason::kOther, "an older definition");
    if (x.dtype() != DType::kFloat32) return Verdict::No(Reason::kDType, "float32 only");
    if (!x.shape_known()) return Verdict::No(Reason::kShapeDynamic, "extents must be known");
    if (x.dims().empty()) return Verdict::No(Reason::kRank, "no scalars");
    if (!node.Is("Softmax")) return Verdict::Yes();
    // A positive number of the last dimension would be another one after a change of rank.
    return op::Softmax(node.primitive()).axis() == -1 ? Verdict::Yes()
                                                      : Verdict::No(Reason::kAttribute, "axis -1 only");
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    Program program;
    if (!Program::CanCompute(partition)) return Status(Code::kNotSupported, "computes in float32 only");
    program.Build(partition, [&](const NodeView& node, const auto& slot_of) {
      const size_t in = slot_of(node.input(0));
      program.steps.push_back({node.Is("Softmax"), in, slot_of(node.output(0))});
    });
    return std::unique_ptr<Executable>(std::make_unique<RowsExecutable>(std::move(program), host()));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(SameCount, "samecount", "Softmax and Relu in float32, of any shape")
