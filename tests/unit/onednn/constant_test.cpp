// Converted constants: shared by those who want the same, gone with the last of them.
#include "plugins/onednn/constant.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace onednn {
namespace {

class ConstantStoreTest : public testing::Test {
 protected:
  ConstantStoreTest() : elements_(12) { std::iota(elements_.begin(), elements_.end(), 0.0f); }

  memory::desc Rows() const { return Plain({3, 4}); }
  memory::desc Columns() const { return memory::desc({3, 4}, memory::data_type::f32, memory::dims{1, 3}); }

  std::vector<float> elements_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  ConstantStore store_;
};

TEST_F(ConstantStoreTest, TheSameLayoutIsMadeOnce) {
  const Constant constant(elements_.data(), Rows()), again(elements_.data(), Rows());
  const auto first = store_.Converted(constant, Rows(), Columns(), engine_);
  EXPECT_EQ(store_.Converted(again, Rows(), Columns(), engine_), first);
  EXPECT_EQ(static_cast<const float*>(first->get_data_handle())[1], 4.0f);
}

TEST_F(ConstantStoreTest, OtherElementsOrAnotherViewAreAnotherConversion) {
  std::vector<float> others(elements_.rbegin(), elements_.rend());
  const Constant constant(elements_.data(), Rows()), other(others.data(), Rows());
  const auto first = store_.Converted(constant, Rows(), Columns(), engine_);
  EXPECT_NE(store_.Converted(other, Rows(), Columns(), engine_), first);
  EXPECT_NE(store_.Converted(constant, Permuted(Plain({4, 3}), {1, 0}), Rows(), engine_), first);
}

TEST_F(ConstantStoreTest, NobodyKeepsWhatNobodyUses) {
  const Constant constant(elements_.data(), Rows());
  std::weak_ptr<const memory> kept = store_.Converted(constant, Rows(), Columns(), engine_);
  EXPECT_TRUE(kept.expired());
}

TEST_F(ConstantStoreTest, ARecipeIsFollowedOnlyWhenNeeded) {
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::vector<float>(12, 2.0f);
  };
  const Constant constant("twos", {3, 4}, make), again("twos", {3, 4}, make);
  EXPECT_EQ(made, 0);
  const auto first = store_.Converted(constant, Rows(), Columns(), engine_);
  EXPECT_EQ(store_.Converted(again, Rows(), Columns(), engine_), first);
  EXPECT_EQ(made, 1);
}

TEST(Constant, RecipesTellSmallNumbersApart) { EXPECT_NE(Exactly(1.04e-5f), Exactly(1.05e-5f)); }

TEST(Constant, ARecipeOfAnotherNumberOfElementsIsAnError) {
  const Constant constant("twos", {3, 4}, [] { return std::vector<float>(11, 2.0f); });
  EXPECT_THROW(constant.data(), std::logic_error);
}

TEST(Constant, ReshapedIsTheSameElements) {
  const std::vector<float> elements = {1, 2, 3, 4, 5, 6};
  const auto whole = std::make_shared<Constant>(elements.data(), Plain({6}));
  const auto matrix = Constant::Reshaped(whole, {2, 3});
  EXPECT_EQ(matrix->desc().dims(), (memory::dims{2, 3}));
  EXPECT_EQ(matrix->data(), whole->data());
  EXPECT_EQ(matrix->key(), whole->key());
}

}  // namespace
}  // namespace onednn
