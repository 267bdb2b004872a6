#include "base/file_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <set>
#include <vector>

#include "base/file.hpp"
#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

constexpr rlim_t kLimit = 4096;

Status Write(const fs::path& path, const std::string& text) {
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  return WriteFileAtomically(path, {&bytes, 1});
}

class FileWriter : public testing::Test {
 protected:
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }
  // How a process ends that calls `before` and then writes more than its limit: the kernel sends SIGXFSZ in the middle.
  int Interrupted(const std::function<void()>& before) const {
    const pid_t child = fork();
    if (child == 0) {
      const rlimit limit{kLimit, kLimit}, none{0, 0};
      setrlimit(RLIMIT_FSIZE, &limit);
      setrlimit(RLIMIT_CORE, &none);
      before();
      (void)Write(folder_ / "f", std::string(10 * kLimit, 'x'));
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  const TempFolder scratch_;
  const fs::path& folder_ = scratch_.path();
};

TEST_F(FileWriter, PiecesAreWrittenInOrderAndReplaceTheOldFile) {
  std::ofstream(folder_ / "f") << "old and longer";
  const std::string one = "one,", two = "two";
  const auto bytes = [](const std::string& text) {
    return std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  const std::span<const uint8_t> pieces[] = {bytes(one), bytes(two)};
  ASSERT_TRUE(WriteFileAtomically(folder_ / "f", pieces).ok());
  EXPECT_EQ(*ReadTextFile(folder_ / "f", 100), "one,two");
  EXPECT_EQ(Names(), std::set<std::string>{"f"});
}

TEST_F(FileWriter, MissingFolderIsAnErrorAndIsNotMade) {
  const Status status = Write(folder_ / "no" / "f", "text");
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(status.where(), (folder_ / "no" / "f").string());
  EXPECT_FALSE(fs::exists(folder_ / "no"));
}

TEST_F(FileWriter, FoldersPipesAndDevicesAreRefusedAndStay) {
  fs::create_directory(folder_ / "folder");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::vector<std::pair<std::string, std::string>> refused = {{"folder", "is a directory"}, {"pipe", "is a pipe"}};
  if (mknod((folder_ / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0)  // for root alone
    refused.emplace_back("device", "is a device");
  for (const auto& [name, why] : refused) {
    struct stat before {
    }, after{};
    ASSERT_EQ(lstat((folder_ / name).c_str(), &before), 0);
    const Status status = Write(folder_ / name, "text");
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << name;
    EXPECT_NE(status.message().find(why), std::string::npos) << status.ToString();
    ASSERT_EQ(lstat((folder_ / name).c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino) << name;
    EXPECT_EQ(before.st_mode, after.st_mode) << name;
  }
  EXPECT_FALSE(Write(folder_ / "folder" / "", "text").ok());
  EXPECT_EQ(Names().size(), refused.size()) << "something was left behind";
}

TEST_F(FileWriter, SymbolicLinksAreNeitherFollowedNorReplaced) {
  std::ofstream(folder_ / "precious") << "precious";
  fs::create_symlink("precious", folder_ / "link");
  fs::create_symlink("nowhere", folder_ / "dangling");
  for (const char* name : {"link", "dangling"}) {
    const Status status = Write(folder_ / name, "text");
    EXPECT_NE(status.message().find("is a symbolic link"), std::string::npos) << status.ToString();
    EXPECT_TRUE(fs::is_symlink(folder_ / name));
  }
  EXPECT_EQ(*ReadTextFile(folder_ / "precious", 100), "precious");
  EXPECT_EQ(Names(), (std::set<std::string>{"dangling", "link", "precious"}));
}

TEST_F(FileWriter, NameWithoutAFolderIsInTheWorkingFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_TRUE(Write("f", "text").ok());
  fs::current_path(before);
  EXPECT_EQ(Names(), std::set<std::string>{"f"});
}

TEST_F(FileWriter, LongestNameCanBeWritten) {
  const std::string name(255, 'n');
  ASSERT_TRUE(Write(folder_ / name, "text").ok());
  EXPECT_EQ(Names(), std::set<std::string>{name});
}

TEST_F(FileWriter, ReplacedFileHandsItsPermissionsOn) {
  const auto shared = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read;
  std::ofstream(folder_ / "f") << "shared";
  fs::permissions(folder_ / "f", shared);
  ASSERT_TRUE(Write(folder_ / "f", "text").ok());
  EXPECT_EQ(fs::status(folder_ / "f").permissions(), shared);
}

TEST_F(FileWriter, WhatReplacesAPrivateFileIsPrivateWhileItIsWritten) {
  const auto own = fs::perms::owner_read | fs::perms::owner_write;
  std::ofstream(folder_ / "f") << "private";
  fs::permissions(folder_ / "f", own);
  const int status = Interrupted([] { signal(SIGXFSZ, [](int) { _exit(7); }); });  // leaves what it has begun
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  ASSERT_EQ(Names().size(), 2u);
  for (const std::string& name : Names()) EXPECT_EQ(fs::status(folder_ / name).permissions(), own) << name;
}

TEST_F(FileWriter, FailedWriteLeavesTheOldFileAlone) {
  std::ofstream(folder_ / "f") << "old";
  const int status = Interrupted([] { signal(SIGXFSZ, SIG_IGN); });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(Names(), std::set<std::string>{"f"});
  EXPECT_EQ(*ReadTextFile(folder_ / "f", 100), "old");
}

TEST_F(FileWriter, TemporaryIsAHiddenNewFileThatNobodyCanForesee) {
  std::set<std::string> all;
  for (int i = 0; i < 3; ++i) {
    const int status = Interrupted([] { signal(SIGXFSZ, [](int) { _exit(7); }); });  // leaves what it has begun
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    const std::set<std::string> names = Names();
    EXPECT_EQ(names.size(), size_t(i) + 1) << "the same name twice";
    all.insert(names.begin(), names.end());
  }
  for (const std::string& name : all) {
    EXPECT_EQ(name.substr(0, kTemporaryPrefix.size()), kTemporaryPrefix);
    EXPECT_EQ(name.size(), kTemporaryPrefix.size() + 32);
  }
}

class FileWriterOn : public FileWriter, public testing::WithParamInterface<int> {};

TEST_P(FileWriterOn, SignalRemovesWhatIsUnfinished) {
  std::ofstream(folder_ / "f") << "old";
  static int sent;
  sent = GetParam();
  const int status = Interrupted([] {
    if (sent != SIGXFSZ) signal(SIGXFSZ, [](int) { raise(sent); });
    RemoveTemporariesOnSignals();
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam()) << status;
  EXPECT_EQ(Names(), std::set<std::string>{"f"});
  EXPECT_EQ(*ReadTextFile(folder_ / "f", 100), "old");
}

INSTANTIATE_TEST_SUITE_P(Each, FileWriterOn, testing::Values(SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ),
                         [](const auto& signal) { return std::string("SIG") + sigabbrev_np(signal.param); });

TEST_F(FileWriter, SignalOfAForkedChildLeavesTheFileOfItsParent) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer delays signals inside handlers";
#endif
  const int status = Interrupted([] {
    signal(SIGXFSZ, [](int) {
      const pid_t child = fork();
      if (child == 0) raise(SIGTERM);
      int end = 0;
      waitpid(child, &end, 0);
      _exit(WIFSIGNALED(end) && WTERMSIG(end) == SIGTERM ? 7 : 8);
    });
    RemoveTemporariesOnSignals();
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(Names().size(), 1u) << "the parent's unfinished file is gone";
}

TEST_F(FileWriter, SignalsThatTheProgramHandlesOrIgnoresStayAsTheyAre) {
  const int status = Interrupted([] {
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, [](int) {});
    RemoveTemporariesOnSignals();
    raise(SIGTERM);
    raise(SIGINT);
  });
  EXPECT_TRUE(WIFEXITED(status)) << status;
}

}  // namespace
}  // namespace deputy::host
