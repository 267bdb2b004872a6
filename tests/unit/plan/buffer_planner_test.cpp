// Who shares a place with whom, on plans of steps without any computation in them.
#include <gtest/gtest.h>

#include "plan/plan.hpp"

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
    PlanBuffers(plan_, kCpu, top_level);
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
  plan_.steps.back().captures = {{a}};
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

}  // namespace
}  // namespace deputy::host
