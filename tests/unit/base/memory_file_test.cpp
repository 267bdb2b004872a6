#include "base/memory_file.hpp"

#include <fcntl.h>
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

TEST(SharedMemorySize, IsThatOfMemoryThatStays) {
  const Result<Descriptor> memory = SealedMemory(4096 * 3);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(*SharedMemorySize(memory->get()), 4096u * 3);
}

TEST(SharedMemorySize, OfMemoryThatMayBecomeSmallerIsRefused) {
  const Result<Descriptor> memory = UnsealedMemory(4096);
  ASSERT_TRUE(memory.ok());
  const Status status = SharedMemorySize(memory->get()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("F_SEAL_SHRINK"), std::string::npos) << status.ToString();
}

TEST(SharedMemorySize, OfAnotherFileIsRefused) {
  const Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_GE(file.get(), 0);
  for (const int one : {file.get(), -1}) EXPECT_EQ(SharedMemorySize(one).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace deputy::host
