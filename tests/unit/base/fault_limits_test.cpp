// Which processes a fault under limits tells something about.
#include "base/fault_limits.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace deputy::host {
namespace {

FaultLimits With(std::initializer_list<std::pair<std::string_view, uint64_t>> limits) {
  FaultLimits made;
  for (const auto& [name, most] : limits) made.Add(name, most);
  return made;
}

TEST(FaultLimitsTest, R201_AFaultCountsWhereNoLimitIsLarger) {
  const FaultLimits fault = With({{"timeout", 5}, {"memory_limit", 1000}});
  EXPECT_TRUE(fault.CountsWith(fault));
  EXPECT_TRUE(fault.CountsWith(With({{"timeout", 4}, {"memory_limit", 1000}, {"stack", 7}})));
  EXPECT_FALSE(fault.CountsWith(With({{"timeout", 6}, {"memory_limit", 1000}})));
  EXPECT_FALSE(fault.CountsWith(With({{"timeout", 5}, {"memory_limit", 2000}})));
  EXPECT_FALSE(fault.CountsWith(With({{"timeout", 5}})));  // without a limit of memory
  EXPECT_FALSE(fault.CountsWith({}));
  EXPECT_TRUE(FaultLimits().CountsWith(fault));  // a fault under no limit
}

TEST(FaultLimitsTest, FaultsOfOneOpenedLibraryDoNotCountForAnother) {
  const FaultLimits one = With({{"opened_0000000000000001", 0}}), other = With({{"opened_0000000000000003", 0}});
  EXPECT_TRUE(one.CountsWith(one));
  EXPECT_FALSE(one.CountsWith(other));
  EXPECT_FALSE(one.CountsWith({}));
}

TEST(FaultLimitsTest, R201_OfSeveralTheSmallestCounts) {
  FaultLimits limits = With({{"timeout", 50}});
  limits.Add(With({{"timeout", 40}, {"stack", 8}}));
  limits.Add(With({{"timeout", 60}, {"stack", 9}}));
  EXPECT_EQ(limits, With({{"timeout", 40}, {"stack", 8}}));
}

TEST(FaultLimitsTest, R201_TextsAreReadAgain) {
  const FaultLimits limits = With({{"timeout", 5}, {"memory_limit", UINT64_MAX}, {"sandbox", 0}});
  EXPECT_EQ(FaultLimits::Parse(limits.ToText()), limits);
  EXPECT_EQ(FaultLimits::Parse(""), FaultLimits());
  for (const char* damaged : {"timeout", "timeout:", "timeout:x", ":", "  "})
    EXPECT_FALSE(FaultLimits::Parse(damaged).CountsWith(With({{"timeout", 5}}))) << damaged;
  EXPECT_EQ(With({{"timeout", 5}, {"stack", 1}}).Describe(), "timeout of 5 ms or less");
  EXPECT_EQ(With({{"memory_limit", 256000000}}).Describe(), "memory_limit of 256 MB or less");
  EXPECT_EQ(With({{"sandbox", 0}}).Describe(), "");
}

TEST(FaultLimitsTest, R201_ThoseOfTheSystemAreTheProcesses) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const FaultLimits fault = FaultLimits::OfSystem(true);
  EXPECT_TRUE(fault.CountsWith(FaultLimits::OfSystem(true)));
  EXPECT_FALSE(fault.CountsWith(FaultLimits::OfSystem(false)));
  EXPECT_TRUE(FaultLimits::OfSystem(false).CountsWith(fault));
  const rlimit fewer{before.rlim_cur - 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &fewer), 0);
  const FaultLimits under = FaultLimits::OfSystem(true);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(under.CountsWith(FaultLimits::OfSystem(true)));
  EXPECT_TRUE(fault.CountsWith(under));
}

}  // namespace
}  // namespace deputy::host
