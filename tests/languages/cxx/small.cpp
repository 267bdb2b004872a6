// A small delegate that is whole, in C++ on the SDK's layer: Add and Relu in float32, any number of them in one
// partition. The same delegate stands beside this one in other languages; SMALL_ID tells their plugins apart.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "deputy/abi/note.h"
#include "deputy/sdk/sdk.hpp"

// What deputy_add_delegate() says in CMake, for builds without it.
DEPUTY_NOTE("id=com.example." SMALL_ID "\nversion=1.0\ndelegates=" SMALL_ID "\n");

namespace {

using namespace deputy::sdk;

// Where a value of the partition lies.
enum class Place { kInput, kOutput, kConstant, kScratch };
struct Slot {
  Place place = Place::kScratch;
  size_t index = 0;  // of the input, the output or the scratch buffer
  const float* constant = nullptr;
  size_t count = 0;  // elements
};
struct Step {
  bool add = false;
  size_t a = 0, b = 0, out = 0;  // slots
};
struct Program {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  size_t scratch_count = 0;
};

class SmallContext final : public ExecutionContext {
 public:
  SmallContext(std::shared_ptr<const Program> program, Host host, int64_t grain)
      : program_(std::move(program)), host_(host), grain_(grain), scratch_(program_->scratch_count) {
    for (const Slot& slot : program_->slots)
      if (slot.place == Place::kScratch) scratch_[slot.index].resize(slot.count);
  }

  Status Execute(const RunArgs& run) override {
    for (const Step& step : program_->steps) {
      const float* const a = Elements(run, step.a);
      const float* const b = Elements(run, step.b);
      float* const out = Elements(run, step.out);
      const bool add = step.add;
      host_.ParallelFor(static_cast<int64_t>(program_->slots[step.out].count), grain_, [=](int64_t i, int64_t end) {
        for (; i < end; ++i) out[i] = add ? a[i] + b[i] : a[i] < 0 ? 0 : a[i];  // NaN stays NaN
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
    return scratch_[slot.index].data();
  }

  std::shared_ptr<const Program> program_;
  Host host_;
  int64_t grain_;
  std::vector<std::vector<float>> scratch_;  // one buffer for each value that stays inside the partition
};

class SmallExecutable final : public Executable {
 public:
  SmallExecutable(Program program, Host host, int64_t grain)
      : program_(std::make_shared<const Program>(std::move(program))), host_(host), grain_(grain) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<SmallContext>(program_, host_, grain_));
  }

 private:
  std::shared_ptr<const Program> program_;
  Host host_;
  int64_t grain_;
};

class Small final : public PartitionDelegate {
 public:
  static OptionSchema Options() {
    return OptionSchema()
        .Enum("only", "both", {"both", "Add", "Relu"}, "which operators to take")
        .Int("grain", 4096, 1, 1 << 24, "elements that are worth a thread");
  }

  Verdict Supports(const NodeView& node) override {
    if (!node.Is("Add") && !node.Is("Relu"))
      return Verdict::No(Reason::kOperatorUnknown, "only Add and Relu are known");
    if (options().Enum("only") != "both" && !node.Is(options().Enum("only")))
      return Verdict::No(Reason::kOther, "the option `only` names the other operator");
    for (size_t i = 0; i < node.input_count(); ++i) {
      const ValueView value = node.input(i);
      if (value.dtype() != DType::kFloat32) return Verdict::No(Reason::kDType, "float32 only");
      if (!value.shape_known()) return Verdict::No(Reason::kShapeDynamic, "extents must be known");
      const Span<const int64_t> first = node.input(0).dims(), dims = value.dims();
      if (first.size() != dims.size() || !std::equal(first.begin(), first.end(), dims.begin()))
        return Verdict::No(Reason::kShape, "both sides must have one shape");
    }
    return Verdict::Yes();
  }

  Result<std::unique_ptr<Executable>> Compile(const PartitionView& partition) override {
    Program program;
    std::map<deputy_value_id, size_t> known;
    const auto add = [&](const ValueView& value, Place place, size_t index) {
      Slot slot{place, index, nullptr, static_cast<size_t>(value.element_count())};
      if (place == Place::kConstant) slot.constant = static_cast<const float*>(value.constant());
      program.slots.push_back(slot);
      return known[value.id()] = program.slots.size() - 1;
    };
    const auto slot_of = [&](const ValueView& value) {
      const auto found = known.find(value.id());
      if (found != known.end()) return found->second;
      return value.is_constant() ? add(value, Place::kConstant, 0)
                                 : add(value, Place::kScratch, program.scratch_count++);
    };
    for (size_t i = 0; i < partition.inputs().size(); ++i) add(partition.inputs()[i], Place::kInput, i);
    for (size_t i = 0; i < partition.outputs().size(); ++i) add(partition.outputs()[i], Place::kOutput, i);
    for (const NodeView& node : partition.nodes()) {
      const bool is_add = node.Is("Add");
      const size_t a = slot_of(node.input(0)), b = slot_of(node.input(is_add ? 1 : 0));
      program.steps.push_back({is_add, a, b, slot_of(node.output(0))});
    }
    return std::unique_ptr<Executable>(
        std::make_unique<SmallExecutable>(std::move(program), host(), options().Int("grain")));
  }
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(Small, SMALL_ID, "Add and Relu in float32")
