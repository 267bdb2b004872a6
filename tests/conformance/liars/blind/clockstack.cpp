// The bug: each instance restores, when it is closed, the clock that it found when it was opened; right when instances
// are closed in the reverse order, but otherwise the device is left with the clock that another instance had set.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifndef DEPUTY_PLUGIN_ID  // deputy_add_delegate() defines them and makes the note
#define DEPUTY_PLUGIN_ID "com.example.clockstack"
#define DEPUTY_PLUGIN_VENDOR "Example"
#define DEPUTY_PLUGIN_VERSION "1.0"
#include "deputy/abi/note.h"
DEPUTY_NOTE("id=com.example.clockstack\nversion=1.0\ndelegates=clockstack\n");
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

// Two simulated cards, each with one clock for the whole process.
struct Card {
  const char *id, *name;
  std::atomic<uint64_t> hertz{600000000};
};
Card g_cards[2] = {{"csk-0001", "clockstack card A"}, {"csk-0002", "clockstack card B"}};
constexpr uint64_t kSlowest = 400000000, kFastest = 1000000000,
                   kLevels[] = {0, kSlowest, 600000000, 800000000, kFastest};

struct Work {
  std::atomic<uint64_t> busy_ns{0}, runs{0};
};

class CardContext final : public ExecutionContext {
 public:
  CardContext(std::shared_ptr<const Program> program, Host host, Card* card, std::shared_ptr<Work> work)
      : program_(std::move(program)), host_(host), card_(card), work_(std::move(work)), inner_(program_->inner_count) {
    for (const Slot& slot : program_->slots)
      if (slot.place == Place::kInner) inner_[slot.index].resize(slot.count);
  }

  Status Execute(const RunArgs& run) override {
    uint64_t cycles = 0;
    for (const Step& step : program_->steps) {
      const float* const a = Elements(run, step.a);
      const float* const b = Elements(run, step.b);
      float* const out = Elements(run, step.out);
      const size_t count = program_->slots[step.out].count;
      host_.ParallelFor(static_cast<int64_t>(count), 4096, [=](int64_t i, int64_t end) {
        for (; i < end; ++i) out[i] = step.add ? a[i] + b[i] : a[i] * b[i];
      });
      cycles += 100 + count / 16;
    }
    work_->busy_ns += cycles * 1000000000 / card_->hertz;
    ++work_->runs;
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
  Card* card_;
  std::shared_ptr<Work> work_;
  std::vector<std::vector<float>> inner_;
};

class CardExecutable final : public Executable {
 public:
  CardExecutable(Program program, Host host, Card* card, std::shared_ptr<Work> work)
      : program_(std::make_shared<const Program>(std::move(program))),
        host_(host),
        card_(card),
        work_(std::move(work)) {}
  Result<std::unique_ptr<ExecutionContext>> CreateContext() override {
    return std::unique_ptr<ExecutionContext>(std::make_unique<CardContext>(program_, host_, card_, work_));
  }

 private:
  std::shared_ptr<const Program> program_;
  Host host_;
  Card* card_;
  std::shared_ptr<Work> work_;
};

class ClockStack final : public PartitionDelegate {
 public:
  static constexpr uint32_t kFlags = DEPUTY_DELEGATE_SIMULATED;

  static OptionSchema Options() {
    return OptionSchema().Frequency("frequency", 3, "clock of the card", kSlowest, kFastest);
  }
  static Result<std::vector<DeviceDescription>> Devices(const Host&) {
    std::vector<DeviceDescription> devices;
    for (const Card& card : g_cards)
      devices.push_back({card.id, card.name, DeviceKind::kNpu, uint64_t{1} << 30, "driver 1.7", card.hertz});
    return devices;
  }

  Status Init() override {
    for (Card& card : g_cards)
      if (device_id() == card.id) card_ = &card;
    if (device_id().empty()) card_ = &g_cards[0];
    if (card_ == nullptr) return Status(Code::kUnavailable, "no card '" + device_id() + "'");
    const FrequencyWish wish = options().Frequency("frequency");
    found_ = card_->hertz.exchange(wish.level != 0 ? kLevels[wish.level] : wish.hertz);
    return {};
  }
  ~ClockStack() override {
    if (card_ != nullptr) card_->hertz = found_;
  }

  Result<DeviceState> device_state() const override {
    const FrequencyWish wish = options().Frequency("frequency");
    DeviceState state;
    state.device_name = card_->name;
    state.level_requested = wish.level;
    state.frequency_requested_hz = wish.hertz;
    state.frequency_granted_hz = card_->hertz;
    for (uint32_t level = 1; level <= 4; ++level)
      if (kLevels[level] == state.frequency_granted_hz) state.level_granted = level;
    state.busy_ns = work_->busy_ns;
    state.runs = work_->runs;
    return state;
  }

  Verdict Supports(const NodeView& node) override {
    if (!node.Is("Add") && !node.Is("Mul")) return Verdict::No(Reason::kOperatorUnknown);
    if (node.since_version() < 7) return Verdict::No(Reason::kOther, "an older definition");
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
      const size_t a = slot_of(node.input(0)), b = slot_of(node.input(1));
      program.steps.push_back({node.Is("Add"), a, b, slot_of(node.output(0))});
    });
    return std::unique_ptr<Executable>(std::make_unique<CardExecutable>(std::move(program), host(), card_, work_));
  }

 private:
  Card* card_ = nullptr;
  uint64_t found_ = 0;  // the clock before this instance
  std::shared_ptr<Work> work_ = std::make_shared<Work>();
};

}  // namespace

DEPUTY_EXPORT_DELEGATE(ClockStack, "clockstack", "Add and Mul in float32, simulated on two cards")
