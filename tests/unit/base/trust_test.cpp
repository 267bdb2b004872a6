#include "base/trust.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace deputy::host {
namespace {

constexpr uid_t kStranger = 54321;  // no account has this number
constexpr gid_t kForeignGroup = 54321;

std::string ReasonFor(uid_t user, gid_t group, mode_t mode) {
  struct stat about {};
  about.st_uid = user;
  about.st_gid = group;
  about.st_mode = S_IFREG | mode;
  return ReasonForDistrust(about);
}

TEST(Trust, FilesOfRootAndOfTheUserAreTrusted) {
  EXPECT_EQ(ReasonFor(0, 0, 0644), "");
  EXPECT_EQ(ReasonFor(geteuid(), getegid(), 0755), "");
  EXPECT_EQ(ReasonFor(geteuid(), kForeignGroup, 0754), "") << "a group that may only read";
}

TEST(Trust, FilesOfOthersAreNot) { EXPECT_EQ(ReasonFor(kStranger, 0, 0600), "belongs to user 54321"); }

TEST(Trust, WhatTheWorldMayWriteIsNot) {
  EXPECT_EQ(ReasonFor(geteuid(), getegid(), 0666),
            "users other than you and root may write to it (mode 0666); chmod go-w");
  EXPECT_EQ(ReasonFor(0, 0, 01777), "users other than you and root may write to it (mode 1777); chmod go-w")
      << "as /tmp";
}

TEST(Trust, WhatASharedGroupMayWriteIsNot) {
  EXPECT_EQ(ReasonFor(geteuid(), kForeignGroup, 0664), "group 54321 may write to it (mode 0664); chmod go-w");
}

TEST(Trust, PrivateGroupCountsAsItsUser) { EXPECT_EQ(ReasonFor(0, 0, 0775), "") << "group root has members"; }

}  // namespace
}  // namespace deputy::host
