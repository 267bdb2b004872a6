// Quotas of control groups, read from folders that look like /proc and the mounts of the groups.
#include "base/cpu_quota.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

class CpuQuotaTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<double> Quota() const { return CpuQuota(folder_.path()); }

  const TempFolder folder_;
};

TEST_F(CpuQuotaTest, R184_WithoutGroupsThereIsNone) { EXPECT_FALSE(Quota().has_value()); }

TEST_F(CpuQuotaTest, R184_OfVersionTwoIsTheLeastOfTheGroupAndThoseAbove) {
  Write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  Write("proc/self/cgroup", "0::/system.slice/npu.service\n");
  Write("sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n");
  Write("sys/fs/cgroup/system.slice/npu.service/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(Quota().value_or(0), 1.5);
  Write("sys/fs/cgroup/system.slice/npu.service/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(Quota().value_or(0), 0.5);
}

TEST_F(CpuQuotaTest, R184_OfVersionOneIsThatOfTheController) {
  Write("proc/self/mountinfo",
        "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  Write("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/jobs/one\n0::/\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(Quota().has_value());
  Write("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "250000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(Quota().value_or(0), 2.5);
}

// A container with the namespace of its machine: its group is mounted, and named with the whole path.
TEST_F(CpuQuotaTest, R184_OfAPartOfTheHierarchy) {
  Write("proc/self/mountinfo", "32 23 0:28 /docker/ab\\040c /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  Write("proc/self/cgroup", "4:cpu:/docker/ab c\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(Quota().value_or(0), 2);
}

}  // namespace
}  // namespace deputy::host
