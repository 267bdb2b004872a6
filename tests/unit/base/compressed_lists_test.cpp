#include "base/compressed_lists.hpp"

#include <gtest/gtest.h>

namespace deputy::host {
namespace {

std::vector<uint32_t> ListOf(const CompressedLists& lists, size_t list) {
  return {lists[list].begin(), lists[list].end()};
}

CompressedLists Three() {
  return CompressedLists(3, [](const auto& add) {
    add(2, 7);
    add(0, 5);
    add(2, 3);
    add(2, 7);
    add(0, 5);
  });
}

TEST(CompressedLists, KeepTheOrderInWhichNumbersAreAdded) {
  const CompressedLists lists = Three();
  EXPECT_EQ(lists.size(), 3u);
  EXPECT_EQ(ListOf(lists, 0), (std::vector<uint32_t>{5, 5}));
  EXPECT_TRUE(lists[1].empty());
  EXPECT_EQ(ListOf(lists, 2), (std::vector<uint32_t>{7, 3, 7}));
}

TEST(CompressedLists, SortedListsHaveEachNumberOnce) {
  CompressedLists lists = Three();
  lists.SortUnique();
  EXPECT_EQ(ListOf(lists, 0), (std::vector<uint32_t>{5}));
  EXPECT_TRUE(lists[1].empty());
  EXPECT_EQ(ListOf(lists, 2), (std::vector<uint32_t>{3, 7}));
}

TEST(CompressedLists, NoListsAreEmpty) {
  CompressedLists none;
  none.SortUnique();
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(CompressedLists(0, [](const auto&) {}).size(), 0u);
}

}  // namespace
}  // namespace deputy::host
