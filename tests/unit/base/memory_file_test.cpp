#include "base/memory_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>

namespace deputy::host {
namespace {

std::string FailureOf(uint64_t size) { return UnsealedMemory(size).status().message(); }

TEST(MemoryFile, AFailureNamesTheCallThatFailed) {
  EXPECT_EQ(FailureOf(UINT64_MAX), "no shared memory of 18446744073709551615 bytes: ftruncate: Invalid argument");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string failure = FailureOf(8);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failure, "no shared memory of 8 bytes: memfd_create: Too many open files");
}

}  // namespace
}  // namespace deputy::host
