#include "base/trust.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
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

TEST(Trust, R193_TheOverflowUserIsNotTrusted) {
  EXPECT_EQ(OverflowUser(), 65534u) << "this machine has another one";
  if (geteuid() == OverflowUser()) GTEST_SKIP() << "it is this user";
  EXPECT_EQ(ReasonFor(OverflowUser(), 0, 0644), "belongs to user 65534");
}

TEST(Trust, R193_AUserNamespaceDoesNotMakeItTrusted) {
  const auto in_namespace = [](uid_t owner) {
    const pid_t child = fork();
    if (child == 0) {
      struct stat root {};
      if (unshare(CLONE_NEWUSER) != 0) _exit(2);
      if (stat("/", &root) != 0 || root.st_uid != OverflowUser() || geteuid() != OverflowUser()) _exit(3);
      _exit(IsTrustedOwner(owner) ? 1 : 0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  const int of_root = in_namespace(OverflowUser());
  if (of_root == 2) GTEST_SKIP() << "user namespaces are not allowed here";
  EXPECT_EQ(of_root, 0) << "1: the owner of / counts; 3: the namespace is not as expected";
  EXPECT_EQ(in_namespace(kStranger), 0);
}

TEST(Trust, R194_GroupZeroIsNeverPrivate) {
  EXPECT_EQ(ReasonFor(0, 0, 0664), "group 0 may write to it (mode 0664); chmod go-w");
  EXPECT_EQ(ReasonFor(geteuid(), 0, 0775), "group 0 may write to it (mode 0775); chmod go-w");
}

TEST(Trust, R194_TheOverflowGroupIsNeverPrivate) {
  EXPECT_EQ(ReasonFor(geteuid(), 65534, 0664), "group 65534 may write to it (mode 0664); chmod go-w");
}

}  // namespace
}  // namespace deputy::host
