#include "plan/verdicts.hpp"

#include <gtest/gtest.h>

#include "store/store.hpp"
#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

constexpr Digest kKey = {1, 2, 3};

class VerdictsTest : public testing::Test {
 protected:
  const TempFolder folder_;
  Store store_{StoreOptions{folder_.path() / "store", 1'000'000}};
};

TEST_F(VerdictsTest, APartitionWithoutAVerdictHasNone) { EXPECT_FALSE(Verdicts(&store_).Find(kKey, 3)); }

TEST_F(VerdictsTest, WithoutAStoreTheyLastAsLongAsTheProcess) {
  Verdicts verdicts(nullptr);
  verdicts.Save(kKey, {});
  EXPECT_TRUE(verdicts.Find(kKey, 3)->right);
}

TEST_F(VerdictsTest, AnotherProcessFindsTheVerdict) {
  Verdicts(&store_).Save(kKey, {});
  EXPECT_TRUE(Verdicts(&store_).Find(kKey, 3)->right);
  Verdicts(&store_).Save(kKey, {false, {0, 2}, "output 'y' differs"});
  const std::optional<PartitionVerdict> found = Verdicts(&store_).Find(kKey, 3);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->right);
  EXPECT_EQ(found->wrong_nodes, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(found->text, "output 'y' differs");
}

TEST_F(VerdictsTest, APartitionThatWasWrongStaysWrong) {
  Verdicts verdicts(&store_);
  verdicts.Save(kKey, {false, {1}, "output 'y' differs"});
  verdicts.Save(kKey, {});
  EXPECT_FALSE(verdicts.Find(kKey, 3)->right);
  Verdicts(&store_).Save(kKey, {});
  EXPECT_FALSE(Verdicts(&store_).Find(kKey, 3)->right) << "of another process";
  verdicts.Save(kKey, {false, {0, 1}, "output 'z' differs"});
  EXPECT_EQ(Verdicts(&store_).Find(kKey, 3)->wrong_nodes, (std::vector<uint32_t>{0, 1}));
}

TEST_F(VerdictsTest, TheSameVerdictIsWrittenOnce) {
  Verdicts verdicts(&store_);
  verdicts.Save(kKey, {});
  ASSERT_TRUE(store_.Remove(EntryKind::kVerdict, kKey).ok());
  verdicts.Save(kKey, {});
  EXPECT_FALSE(store_.Find(EntryKind::kVerdict, kKey));
}

TEST_F(VerdictsTest, OneAboutNodesThatThePartitionDoesNotHaveIsIgnored) {
  Verdicts(&store_).Save(kKey, {false, {3}, "differs"});
  EXPECT_FALSE(Verdicts(&store_).Find(kKey, 3));
}

}  // namespace
}  // namespace deputy::host
