// Memory that worker processes read: what another process can do with its descriptor, what is found in it, and its end.
#include "isolation/shared_arenas.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace deputy::host::testing {
namespace {

constexpr size_t kArenaBytes = 10000;

TEST(SharedArenas, IsZeroAlignedAndWritableHere) {
  const auto arenas = SharedArenas::Make();
  const std::shared_ptr<uint8_t> memory = arenas->Allocate(kArenaBytes);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % kAlignment, 0u);
  EXPECT_TRUE(std::all_of(memory.get(), memory.get() + kArenaBytes, [](uint8_t byte) { return byte == 0; }));
  memory.get()[kArenaBytes - 1] = 7;
  EXPECT_NE(arenas->Allocate(0), nullptr);
}

TEST(SharedArenas, NoOtherProcessCanWriteOrResizeIt) {
  const auto arenas = SharedArenas::Make();
  const std::shared_ptr<uint8_t> memory = arenas->Allocate(kArenaBytes);
  const int descriptor = arenas->Find(memory.get(), 1)->region.descriptor->get();
  EXPECT_EQ(mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), MAP_FAILED);
  void* const read = mmap(nullptr, kArenaBytes, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(read, MAP_FAILED);
  EXPECT_EQ(mprotect(read, kArenaBytes, PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(pwrite(descriptor, "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(descriptor, 1), -1);
  EXPECT_EQ(ftruncate(descriptor, 10 * kArenaBytes), -1);
  const int again = open(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), O_RDWR | O_CLOEXEC);
  if (again >= 0) {
    EXPECT_EQ(mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
    EXPECT_EQ(pwrite(again, "x", 1, 0), -1);
    close(again);
  }
  memory.get()[5] = 42;
  EXPECT_EQ(static_cast<const uint8_t*>(read)[5], 42);
  munmap(read, kArenaBytes);
}

TEST(SharedArenas, FindsWholeRangesAlone) {
  const auto arenas = SharedArenas::Make();
  const std::shared_ptr<uint8_t> one = arenas->Allocate(kArenaBytes), two = arenas->Allocate(kArenaBytes);
  const auto found = arenas->Find(two.get() + 128, 64);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 128u);
  EXPECT_NE(found->region.id, arenas->Find(one.get(), kArenaBytes)->region.id);
  EXPECT_EQ(arenas->Find(one.get(), found->region.size + 1), std::nullopt);
  EXPECT_EQ(arenas->Find(one.get() + 1, UINT64_MAX), std::nullopt);
  EXPECT_EQ(arenas->Find(&found, sizeof found), std::nullopt);
  EXPECT_EQ(arenas->Find(nullptr, 1), std::nullopt);
}

class Hears final : public SharedArenaUser {
 public:
  void Freed(uint64_t region) override { regions.push_back(region); }
  std::vector<uint64_t> regions;
};

TEST(SharedArenas, UsersHearOfTheEndOfARegion) {
  const auto arenas = SharedArenas::Make();
  Hears hears, left;
  arenas->Add(hears);
  arenas->Add(left);
  arenas->Remove(left);
  std::shared_ptr<uint8_t> memory = arenas->Allocate(kArenaBytes);
  const void* const address = memory.get();
  const uint64_t id = arenas->Find(address, 1)->region.id, before = arenas->generation();
  memory.reset();
  EXPECT_EQ(hears.regions, std::vector<uint64_t>{id});
  EXPECT_TRUE(left.regions.empty());
  EXPECT_EQ(arenas->Find(address, 1), std::nullopt);
  EXPECT_NE(arenas->generation(), before);
  arenas->Remove(hears);
}

TEST(SharedArenas, MemoryOutlivesItsSource) {
  std::shared_ptr<uint8_t> memory = SharedArenas::Make()->Allocate(kArenaBytes);
  memory.get()[0] = 1;
  EXPECT_EQ(memory.get()[0], 1);
}

TEST(SharedArenas, WithoutADescriptorItIsMemoryOfThisProcessAndAWarning) {
  const auto arenas = SharedArenas::Make();
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, std::string_view, std::string_view line) {
    if (level == LogLevel::kWarning) lines.emplace_back(line);
  });
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit none{0, limit.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const std::shared_ptr<uint8_t> memory = arenas->Allocate(kArenaBytes);
  setrlimit(RLIMIT_NOFILE, &limit);
  SetLogSink(nullptr);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(std::all_of(memory.get(), memory.get() + kArenaBytes, [](uint8_t byte) { return byte == 0; }));
  EXPECT_EQ(arenas->Find(memory.get(), 1), std::nullopt);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("10000 bytes cannot be shared with worker processes"), std::string::npos) << lines[0];
}

TEST(SharedArenas, MoreThanTheMachineHasIsNoMemory) {
  EXPECT_EQ(SharedArenas::Make()->Allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(SharedArenas::Make()->Allocate(SIZE_MAX / 2), nullptr);
}

}  // namespace
}  // namespace deputy::host::testing
