// Damaged input and missing memory: never a crash, never half a configuration.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <random>

#include "config/show.hpp"
#include "unit/config/load.hpp"

namespace {

// Allocations until one fails; negative: none does.
thread_local long allocations_left = -1;

void* Allocate(size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return Allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace deputy::host {
namespace {

using testing::kEverything;

TEST(RobustnessTest, R68_EveryFailingAllocationIsReported) {
  const Config whole = testing::Good(kEverything, {"delegates.npu0.options.frequency=low", "cpu={threads: 4}"});
  const std::filesystem::path base = "/base";  // made outside: the caller's own allocations are the caller's
  long failing = 0;
  for (;; ++failing) {
    ConfigLoader loader;
    allocations_left = failing;
    loader.AddText("t.yaml", kEverything, base);
    loader.AddSetting("delegates.npu0.options.frequency=low");
    loader.AddSetting("cpu={threads: 4}");
    const Result<Config> config = loader.Finish();
    allocations_left = -1;
    if (config.ok()) {
      EXPECT_EQ(*config, whole);
      break;
    }
    ASSERT_EQ(config.status().code(), StatusCode::kResourceExhausted)
        << "allocation " << failing << ": " << config.status().ToString();
  }
  EXPECT_GT(failing, 500);
}

TEST(RobustnessTest, R68_FailingAllocationWhileReportingIsReported) {
  constexpr std::string_view kBad =
      "version: 1\nfalback: x\ncpu: {threads: &a *b}\ndelegates: [{name: a, before: c}]\n";
  const std::string all = testing::ProblemsOf(kBad);
  const std::filesystem::path base = "/base";
  for (long failing = 0;; ++failing) {
    ConfigLoader loader;
    allocations_left = failing;
    loader.AddText("t.yaml", kBad, base);
    const Result<Config> config = loader.Finish();
    allocations_left = -1;
    ASSERT_FALSE(config.ok());
    if (config.status().code() == StatusCode::kConfig) {
      EXPECT_EQ(config.status().ToString(), all);
      break;
    }
    ASSERT_EQ(config.status().code(), StatusCode::kResourceExhausted) << "allocation " << failing;
  }
}

TEST(RobustnessTest, EveryTruncationLoadsOrIsRefusedWithAPlace) {
  for (size_t size = 0; size < kEverything.size(); ++size) {
    const Result<Config> config = testing::Load(kEverything.substr(0, size));
    EXPECT_TRUE(config.ok() || config.status().ToString().rfind("t.yaml:", 0) == 0) << "first " << size << " bytes";
  }
}

std::string Mutant(std::mt19937& random) {
  constexpr std::string_view kPieces[] = {"[",  "]",   "{",    "}",        ": ",   "\n",  "\n  ", "- ",   "#",
                                          "\"", "'",   "&a ",  "*a",       "!",    "|",   ">",    "%",    "@",
                                          "\t", "---", "...",  "? ",       "<<",   ",",   "\\",   "\r\n", "0",
                                          "~",  "-1",  "\xff", "\xc3\xa9", "null", "1e9", "$",    "  "};
  std::string text(kEverything);
  const auto pick = [&](size_t count) { return static_cast<size_t>(random()) % count; };
  for (size_t edits = 1 + pick(2); edits > 0 && !text.empty(); --edits) {
    const size_t at = pick(text.size());
    switch (pick(5)) {
      case 0: text.erase(at, 1 + pick(20)); break;
      case 1: text.insert(at, kPieces[pick(std::size(kPieces))]); break;
      case 2: text[at] = static_cast<char>(random()); break;
      case 3: text.insert(at, text.substr(pick(text.size()), pick(60))); break;
      case 4: std::swap(text[at], text[pick(text.size())]); break;
    }
  }
  return text;
}

// What is accepted must also survive being shown and read again.
TEST(RobustnessTest, MutantsLoadOrAreRefusedWithAPlace) {
  constexpr unsigned kSeed = 20240607;
  constexpr int kMutants = 2000;
  std::mt19937 random(kSeed);
  int accepted = 0;
  for (int i = 0; i < kMutants; ++i) {
    const std::string text = Mutant(random);
    const Result<Config> config = testing::Load(text);
    if (!config.ok()) {
      ASSERT_EQ(config.status().ToString().rfind("t.yaml:", 0), 0u)
          << "seed " << kSeed << ", mutant " << i << ": " << config.status().ToString();
      continue;
    }
    ++accepted;
    const std::string shown = ShowConfig(*config);
    const Result<Config> again = testing::Load(shown);
    ASSERT_TRUE(again.ok()) << "seed " << kSeed << ", mutant " << i << ": " << again.status().ToString() << "\n"
                            << shown;
    ASSERT_EQ(*again, *config) << "seed " << kSeed << ", mutant " << i << "\n" << shown;
  }
  // Otherwise the mutants would be too wild to find anything.
  EXPECT_GT(accepted, kMutants / 20);
}

}  // namespace
}  // namespace deputy::host
