// Who shares a place with whom, on plans of steps without any computation in them.
#include "plan/buffer_planner.hpp"

#include <gtest/gtest.h>

#include <random>

#include "plan/make_plan.hpp"
#include "plan/step_order.hpp"

namespace deputy::host {
namespace {

constexpr size_t kPlugin = 0, kCpu = 1;

class Overlaid final : public Executable {
 public:
  explicit Overlaid(std::vector<Alias> aliases) : aliases_(std::move(aliases)) {}
  std::vector<Alias> aliases() const override { return aliases_; }
  Result<std::unique_ptr<ExecutionContext>> CreateContext() const override {
    return Status(StatusCode::kNotSupported, "never run");
  }

 private:
  std::vector<Alias> aliases_;
};

class Homes : public testing::Test {
 protected:
  ValueId Value(std::vector<int64_t> dims = {4}, DType dtype = DType::kFloat32) {
    return graph_->AddValue("", {dtype, true, std::move(dims)});
  }
  void AddStep(size_t delegate, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
               std::vector<Alias> aliases = {}) {
    Step step;
    step.partition = static_cast<uint32_t>(plan_.placement.partitions.size());
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.executable = std::make_shared<Overlaid>(std::move(aliases));
    plan_.placement.partitions.emplace_back();
    plan_.placement.partitions.back().delegate = delegate;
    plan_.steps.push_back(std::move(step));
  }
  void Finish(bool top_level = true) {
    plan_.graph = graph_;
    PlanBuffers(plan_, StepOrder(plan_), kCpu, top_level);
  }
  // In the same place, by walking the ring.
  bool Share(ValueId a, ValueId b) const {
    for (ValueId id = plan_.slots[a].next_alias; id != a; id = plan_.slots[id].next_alias)
      if (id == b) return true;
    return false;
  }

  static constexpr Alias kView{0, 0, true}, kOverwrite{0, 0, false};
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Plan plan_;
};

TEST_F(Homes, AResultOverwritesAnInputThatIsReadForTheLastTime) {
  const ValueId x = Value(), a = Value(), b = Value(), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {a}, {b}, {kOverwrite});
  AddStep(kCpu, {b}, {y});
  Finish();
  EXPECT_TRUE(Share(a, b));
  EXPECT_EQ(plan_.slots[a].offset, plan_.slots[b].offset);
  EXPECT_EQ(plan_.arena_bytes, 64u);
  EXPECT_FALSE(plan_.steps[1].is_view);
}

TEST_F(Homes, AnInputThatIsReadLaterIsNotOverwritten) {
  const ValueId x = Value(), a = Value(), b = Value(), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {a}, {b}, {kOverwrite});
  AddStep(kCpu, {a, b}, {y});
  Finish();
  EXPECT_FALSE(Share(a, b));
}

TEST_F(Homes, AValueThatIsStillReadThroughAViewIsNotOverwritten) {
  const ValueId x = Value(), a = Value(), view = Value({2, 2}), b = Value(), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {a}, {view}, {kView});
  AddStep(kCpu, {a}, {b}, {kOverwrite});
  AddStep(kCpu, {view, b}, {y});
  Finish();
  EXPECT_TRUE(Share(a, view));
  EXPECT_FALSE(Share(a, b));
}

TEST_F(Homes, AValueThatOnlyABranchReadsKeepsItsPlaceUntilThen) {
  const ValueId x = Value(), a = Value(), b = Value(), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {x}, {b});
  AddStep(kCpu, {b}, {y});
  plan_.steps.back().branches = {{nullptr, {a}}};
  Finish();
  EXPECT_NE(plan_.slots[a].offset, plan_.slots[b].offset);
}

TEST_F(Homes, TheModelsInputIsNeverOverwritten) {
  const ValueId x = Value(), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {y}, {kOverwrite});
  Finish();
  EXPECT_FALSE(Share(x, y));
}

TEST_F(Homes, WhatAPluginMadeOrReadsIsNotOverwritten) {
  const ValueId x = Value(), a = Value(), b = Value(), c = Value(), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kPlugin, {x}, {a});
  AddStep(kCpu, {a}, {b}, {kOverwrite});
  AddStep(kPlugin, {b}, {c}, {});
  AddStep(kCpu, {c}, {y}, {kOverwrite});
  Finish();
  EXPECT_FALSE(Share(a, b));
  EXPECT_FALSE(Share(c, y));
}

TEST_F(Homes, AViewOfAPluginsResultIsNotOverwrittenEither) {
  const ValueId x = Value(), a = Value(), view = Value({2, 2}), b = Value({2, 2}), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kPlugin, {x}, {a});
  AddStep(kCpu, {a}, {view}, {kView});
  AddStep(kCpu, {view}, {b}, {kOverwrite});
  AddStep(kCpu, {b}, {y});
  Finish();
  EXPECT_TRUE(Share(a, view));
  EXPECT_FALSE(Share(view, b));
}

TEST_F(Homes, OtherExtentsOrTypesAreNotOverwritten) {
  const ValueId x = Value(), a = Value(), b = Value({2, 2}), c = Value({2, 2}, DType::kInt32), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {a}, {b}, {kOverwrite});
  AddStep(kCpu, {b}, {c}, {kOverwrite});
  AddStep(kCpu, {c}, {y});
  Finish();
  EXPECT_FALSE(Share(a, b));
  EXPECT_FALSE(Share(b, c));
}

TEST_F(Homes, AViewOfTheModelsInputLiesAtTheCallers) {
  const ValueId x = Value(), view = Value({2, 2}), y = Value({2, 2});
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {view}, {kView});
  AddStep(kCpu, {view}, {y});
  Finish();
  EXPECT_TRUE(Share(x, view));
  EXPECT_EQ(plan_.slots[view].storage, StorageClass::kBound);
  EXPECT_TRUE(plan_.steps[0].is_view);
}

TEST_F(Homes, AnOutputThatIsAViewIsMadeAtTheCallersAtOnce) {
  const ValueId x = Value(), a = Value(), y = Value({2, 2});
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {a}, {y}, {kView});
  Finish();
  EXPECT_TRUE(Share(a, y));
  EXPECT_EQ(plan_.slots[a].storage, StorageClass::kBound);
  EXPECT_EQ(plan_.arena_bytes, 0u);
}

TEST_F(Homes, TwoOutputsLieInTwoPlaces) {
  const ValueId x = Value(), y = Value(), z = Value({2, 2});
  graph_->inputs = {x};
  graph_->outputs = {y, z};
  AddStep(kCpu, {x}, {y});
  AddStep(kCpu, {y}, {z}, {kView});
  Finish();
  EXPECT_FALSE(Share(y, z));
  EXPECT_FALSE(plan_.steps[1].is_view);
}

TEST_F(Homes, AnOutputThatIsAViewOfAnInputIsCopied) {
  const ValueId x = Value(), y = Value({2, 2});
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {y}, {kView});
  Finish();
  EXPECT_FALSE(Share(x, y));
  EXPECT_FALSE(plan_.steps[0].is_view);
}

TEST_F(Homes, ValuesOfUnknownExtentsShareNothing) {
  const ValueId x = Value(), a = Value({kUnknownDim}), b = Value({kUnknownDim}), y = Value();
  graph_->inputs = {x};
  graph_->outputs = {y};
  AddStep(kCpu, {x}, {a});
  AddStep(kCpu, {a}, {b}, {kView});
  AddStep(kCpu, {b}, {y});
  Finish();
  EXPECT_EQ(plan_.slots[b].storage, StorageClass::kDynamic);
  EXPECT_FALSE(Share(a, b));
}

// Random plans whose steps are run in a random order that their waits allow, several at once. Each block of the arena
// holds the number of the value that was last written there.
class Overlap : public Homes {
 protected:
  uint32_t Random(size_t end) { return static_cast<uint32_t>(engine_() % end); }

  void MakePlan(uint32_t seed, bool overlaps) {
    engine_.seed(seed);
    graph_ = std::make_shared<Graph>();
    plan_ = Plan();
    plan_.overlaps = overlaps;
    std::vector<ValueId> made = {Value()};
    graph_->inputs = made;
    for (uint32_t steps = 5 + Random(30); steps != 0; --steps) {
      std::vector<ValueId> inputs, outputs;
      for (uint32_t reads = 1 + Random(3); reads != 0; --reads)
        inputs.push_back(made[made.size() - 1 - Random(std::min<size_t>(made.size(), 8))]);
      const size_t delegate = Random(3) == 0 ? kPlugin : kCpu;
      std::vector<Alias> aliases;
      if (delegate == kCpu && Random(2) == 0) aliases.push_back({0, 0, Random(3) == 0});
      outputs.push_back(aliases.empty() ? Value({16 * (1 + Random(4))}) : Value(graph_->values[inputs[0]].type.dims));
      if (aliases.empty() && Random(4) == 0) outputs.push_back(Value({16}));
      made.insert(made.end(), outputs.begin(), outputs.end());
      AddStep(delegate, std::move(inputs), std::move(outputs), std::move(aliases));
    }
    graph_->outputs = {made.back(), made[made.size() / 2]};
    Finish(/*top_level=*/Random(2) == 0);
  }

  bool RunsRight() {
    blocks_.assign(plan_.arena_bytes / 64, kNone);
    contents_.assign(graph_->values.size(), kNone);
    std::vector<uint8_t> state(plan_.steps.size(), 0);  // 1: runs, 2: has ended
    for (size_t left = 2 * state.size(); left != 0;) {
      const uint32_t index = Random(state.size());
      const Step& step = plan_.steps[index];
      const bool is_ready =
          std::all_of(step.waits.begin(), step.waits.end(), [&](uint32_t w) { return state[w] == 2; });
      if (state[index] == 2 || !is_ready) continue;
      if (!Holds(step, /*ends=*/state[index] == 1)) return false;
      if (state[index] == 0) Write(step);
      ++state[index];
      --left;
    }
    return std::all_of(graph_->outputs.begin(), graph_->outputs.end(), [&](ValueId id) { return Holds(id); });
  }

 private:
  bool Holds(ValueId id) const {
    const Slot& slot = plan_.slots[id];
    if (slot.storage != StorageClass::kArena) return true;
    for (size_t at = slot.offset / 64; at < (slot.offset + slot.bytes) / 64; ++at)
      if (blocks_[at] != contents_[id]) return false;
    return true;
  }
  // The inputs of a step, and its outputs once they are written. A step may overwrite its own input.
  bool Holds(const Step& step, bool ends) const {
    for (const ValueId id : step.inputs)
      if (!(ends && Share(id, step.outputs[0])) && !Holds(id)) return false;
    return !ends || std::all_of(step.outputs.begin(), step.outputs.end(), [&](ValueId id) { return Holds(id); });
  }
  void Write(const Step& step) {
    for (const ValueId id : step.outputs) {
      const Slot& slot = plan_.slots[id];
      contents_[id] = step.is_view ? contents_[step.inputs[0]] : id;
      if (slot.storage != StorageClass::kArena || step.is_view) continue;
      for (size_t at = slot.offset / 64; at < (slot.offset + slot.bytes) / 64; ++at) blocks_[at] = id;
    }
  }

  std::mt19937 engine_;
  std::vector<ValueId> blocks_, contents_;
};

TEST_F(Overlap, NoValueIsOverwrittenBeforeItsLastReaderHasEnded) {
  size_t bytes = 0, bytes_in_order = 0, all_bytes = 0, wrong_in_order = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    MakePlan(seed, /*overlaps=*/true);
    for (int run = 0; run < 10; ++run) ASSERT_TRUE(RunsRight());
    bytes += plan_.arena_bytes;
    for (const Slot& slot : plan_.slots) all_bytes += slot.storage == StorageClass::kArena ? slot.bytes : 0;
    MakePlan(seed, /*overlaps=*/false);
    wrong_in_order += RunsRight() ? 0 : 1;
    bytes_in_order += plan_.arena_bytes;
  }
  // A plan for one order is denser, and wrong for others.
  EXPECT_GT(wrong_in_order, 100u);
  EXPECT_GT(bytes, bytes_in_order);
  EXPECT_LT(bytes, all_bytes * 3 / 4);
}

TEST_F(Overlap, APlanForOneOrderKeepsItsSize) {
  for (const auto& [seed, bytes] : {std::pair(1u, 1280u), std::pair(2u, 1216u), std::pair(3u, 1088u)}) {
    MakePlan(seed, /*overlaps=*/false);
    EXPECT_EQ(plan_.arena_bytes, bytes) << seed;
  }
}

TEST_F(Overlap, ValuesOfAPlanWithTooManyStepsShareNothing) {
  const auto chain = [&](size_t length) {
    graph_ = std::make_shared<Graph>();
    plan_ = Plan();
    plan_.overlaps = true;
    ValueId last = Value({16});
    graph_->inputs = {last};
    for (size_t i = 0; i < length; ++i) {
      const ValueId next = Value({16});
      AddStep(kCpu, {last}, {next}, {kOverwrite});
      last = next;
    }
    Finish(/*top_level=*/false);
    return plan_.arena_bytes;
  };
  EXPECT_EQ(chain(1000), 64u);
  EXPECT_EQ(chain(StepOrder::kMostSteps + 1), 64 * (StepOrder::kMostSteps + 1));
}

}  // namespace
}  // namespace deputy::host
