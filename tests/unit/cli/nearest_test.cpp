#include "cli/nearest.hpp"

#include <gtest/gtest.h>

namespace deputy::cli {
namespace {

TEST(DidYouMean, OneLetterOffIsSuggested) {
  EXPECT_EQ(DidYouMean("imge", {"logits", "image"}), "; did you mean 'image'?");
}

TEST(DidYouMean, SwappedLettersAreOneEdit) { EXPECT_EQ(DidYouMean("rnu", {"run"}), "; did you mean 'run'?"); }

TEST(DidYouMean, FarAwayIsNotSuggested) { EXPECT_EQ(DidYouMean("frobnicate", {"run", "partition"}), ""); }

TEST(DidYouMean, FirstOfEqualsWins) { EXPECT_EQ(DidYouMean("in_3", {"in_1", "in_2"}), "; did you mean 'in_1'?"); }

TEST(DidYouMean, NothingIsNearNothing) { EXPECT_EQ(DidYouMean("", {"a"}), ""); }

}  // namespace
}  // namespace deputy::cli
