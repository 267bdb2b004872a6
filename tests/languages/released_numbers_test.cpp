// The host's gate with the numbers of releases: plugins built with 1.0 and 1.1, on hosts of either.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "plugin/discovery/elf_image.hpp"
#include "plugin/discovery/manifest.hpp"

namespace deputy::host {
namespace {

constexpr uint32_t k10 = 0x10000, k11 = 0x10001;

std::string Verdict(const std::string& plugin, uint32_t host_abi) {
  std::ifstream file(std::string(DEPUTY_TEST_SMALL) + "/" + plugin + "/" + plugin + ".so", std::ios::binary);
  const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  HostTraits host = ThisHost();
  host.abi_version = host_abi;
  const Checked<Manifest> checked = ReadManifest(MemorySource(bytes), host);
  const Rejection* rejection = RejectionOf(checked);
  return rejection == nullptr ? "accepted" : rejection->text;
}

TEST(ReleasedNumbers, PluginOfOneZeroRunsOnOneZeroAndOneOne) {
  for (const char* plugin : {"small_1_0", "small_1_0_cxx"})
    for (const uint32_t host : {k10, k11}) EXPECT_EQ(Verdict(plugin, host), "accepted") << plugin << " on " << host;
}

TEST(ReleasedNumbers, PluginOfOneOneRunsOnTheOlderOneZero) {
  for (const char* plugin : {"small_1_1", "small_1_1_cxx"})
    for (const uint32_t host : {k10, k11}) EXPECT_EQ(Verdict(plugin, host), "accepted") << plugin << " on " << host;
}

TEST(ReleasedNumbers, PluginThatNeedsOneOneIsRefusedByOneZeroWithThatReason) {
  for (const char* plugin : {"small_needs_1_1", "small_needs_1_1_cxx"}) {
    EXPECT_EQ(Verdict(plugin, k11), "accepted") << plugin;
    EXPECT_EQ(Verdict(plugin, k10), "is built for plugin ABI 1.1 and needs 1.1, this host has 1.0") << plugin;
  }
}

TEST(ReleasedNumbers, PluginsOfTheNextMajorAndOfBetaNumbersAreRefused) {
  EXPECT_EQ(Verdict("small_1_0", 0x20000), "is built for plugin ABI 1.0, this host has 2.0");
  EXPECT_EQ(Verdict("small_c", k10), "is built for plugin ABI 0.2, this host has 1.0");
}

}  // namespace
}  // namespace deputy::host
