// Tensors of the caller and states of a session, as a run needs them.
#include "runtime/tensor_binding.hpp"

#include <gtest/gtest.h>

#include "runtime/held_states.hpp"
#include "unit/execute/cpu_plan.hpp"

namespace deputy::host {
namespace {

TEST(TensorBindingTest, AMisalignedTensorDoesNotFit) {
  alignas(16) float memory[8] = {};
  auto* bytes = reinterpret_cast<uint8_t*>(memory);
  Tensor tensor = *Tensor::Wrap(DType::kFloat32, {2}, bytes + 4, 8);
  EXPECT_FALSE(Misaligned(tensor));
  ASSERT_TRUE(MakeFit(tensor, DType::kFloat32, Shape{2}).ok());
  EXPECT_EQ(tensor.data(), bytes + 4);
  tensor = *Tensor::Wrap(DType::kFloat32, {2}, bytes + 2, 8);
  EXPECT_TRUE(Misaligned(tensor));
  ASSERT_TRUE(MakeFit(tensor, DType::kFloat32, Shape{2}).ok());
  EXPECT_NE(tensor.data(), bytes + 2);
  EXPECT_FALSE(Misaligned(*Tensor::Wrap(DType::kUint8, {3}, bytes + 1, 3)));
}

using HeldStatesTest = CpuPlanTest;

TEST_F(HeldStatesTest, ASuccessfulRunKeepsItsStateAndBeginResetsIt) {
  TestGraph made;
  made.Input("x").Input("sum").Node("y", "Relu", {"x"}).Node("next", "Add", {"x", "sum"}).Output("y").Output("next");
  made.graph.initial_states = {*Tensor::FromValues<float>(DType::kFloat32, {4}, std::vector<float>{1, 1, 1, 1})};
  ASSERT_TRUE(Prepare(made.graph).ok());
  Tensor x = *Tensor::FromValues<float>(DType::kFloat32, {4}, std::vector<float>{5, 5, 5, 5}), y = x;
  HeldStates states;
  ASSERT_TRUE(states.Begin(*plan_->graph).ok());
  ASSERT_TRUE(states.Attach(*plan_).ok());
  const auto next = [&] {
    execution_->Bind(made.Value("x"), x.mutable_data());
    execution_->Bind(made.Value("y"), y.mutable_data());
    states.Bind(*execution_);
    EXPECT_TRUE(execution_->Run().ok());
    return Values(made.Value("next"))[0];
  };
  EXPECT_EQ(next(), 6);
  EXPECT_EQ(next(), 6) << "a run whose states were not kept changes nothing";
  ASSERT_TRUE(states.Keep(*execution_).ok());
  EXPECT_EQ(next(), 11);
  ASSERT_TRUE(states.Begin(*plan_->graph).ok());
  EXPECT_EQ(next(), 6);
}

}  // namespace
}  // namespace deputy::host
