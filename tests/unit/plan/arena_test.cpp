#include "plan/arena.hpp"

#include <gtest/gtest.h>

#include <random>

namespace deputy::host {
namespace {

Slot ArenaSlot(size_t bytes) {
  Slot slot;
  slot.storage = StorageClass::kArena;
  slot.bytes = bytes;
  return slot;
}

TEST(AssignOffsets, AChainReusesTwoBuffers) {
  std::vector<Slot> slots(10, ArenaSlot(1024));
  std::vector<uint32_t> first, last;
  for (uint32_t i = 0; i < 10; ++i) {
    first.push_back(i);
    last.push_back(std::min(i + 1, 9u));
  }
  EXPECT_EQ(AssignOffsets(slots, first, last, 10), 2048u);
}

TEST(AssignOffsets, TheHoleAtTheEndIsExtended) {
  std::vector<Slot> slots{ArenaSlot(64), ArenaSlot(128)};
  const std::vector<uint32_t> first{0, 1}, last{0, 1};
  EXPECT_EQ(AssignOffsets(slots, first, last, 2), 128u);
}

TEST(AssignOffsets, NeighbouringHolesBecomeOne) {
  std::vector<Slot> slots{ArenaSlot(64), ArenaSlot(64), ArenaSlot(128)};
  const std::vector<uint32_t> first{0, 0, 2}, last{1, 0, 2};
  EXPECT_EQ(AssignOffsets(slots, first, last, 3), 128u);
}

TEST(AssignOffsets, TheSmallestHoleThatFitsIsTakenTheFirstOfEqualOnes) {
  // Holes of 128, 64 and 64 bytes between values that stay.
  std::vector<Slot> slots{ArenaSlot(128), ArenaSlot(64), ArenaSlot(64), ArenaSlot(64),
                          ArenaSlot(64),  ArenaSlot(64), ArenaSlot(64), ArenaSlot(128)};
  const std::vector<uint32_t> first{0, 0, 0, 0, 0, 0, 1, 1}, last{0, 2, 0, 2, 0, 2, 2, 2};
  EXPECT_EQ(AssignOffsets(slots, first, last, 3), 448u);
  EXPECT_EQ(slots[6].offset, 192u);
  EXPECT_EQ(slots[7].offset, 0u);
}

TEST(AssignOffsets, R30_SumsBeyondAnyAddressAreSaidBySize) {
  std::vector<Slot> slots(5, ArenaSlot(size_t{1} << 62));
  const std::vector<uint32_t> first(5, 0), last(5, 1);
  EXPECT_EQ(AssignOffsets(slots, first, last, 2), SIZE_MAX);
}

TEST(AssignOffsets, ValuesWithoutBytesHavePlacesOfTheirOwn) {
  std::vector<Slot> slots(2, ArenaSlot(0));
  AssignOffsets(slots, std::vector<uint32_t>{0, 0}, std::vector<uint32_t>{0, 0}, 1);
  EXPECT_NE(slots[0].offset, slots[1].offset);
}

TEST(AssignOffsets, RandomLifetimesNeverOverlap) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 engine(seed);
    const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
    std::vector<Slot> slots;
    std::vector<uint32_t> first, last;
    for (int i = 0; i < 60; ++i) {
      slots.push_back(ArenaSlot(random() % 5000));
      first.push_back(random() % 40);
      last.push_back(first.back() + random() % (40 - first.back()));
    }
    const size_t total = AssignOffsets(slots, first, last, 40);
    for (size_t a = 0; a < slots.size(); ++a) {
      EXPECT_EQ(slots[a].offset % 64, 0u);
      EXPECT_LE(slots[a].offset + slots[a].bytes, total);
      for (size_t b = 0; b < a; ++b) {
        const bool together = first[a] <= last[b] && first[b] <= last[a];
        const bool apart =
            slots[a].offset + slots[a].bytes <= slots[b].offset || slots[b].offset + slots[b].bytes <= slots[a].offset;
        EXPECT_TRUE(!together || apart || slots[a].bytes == 0 || slots[b].bytes == 0);
      }
    }
  }
}

}  // namespace
}  // namespace deputy::host
