// Files judged with their whole path: what others could put in their place.
#include "base/judged_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kStranger = 54321;  // no account has this number

// <folder>/above/place/file, all of them of this user alone.
class JudgedFiles : public ::testing::Test {
 protected:
  JudgedFiles() {
    fs::create_directories(place());
    std::ofstream(file()) << "text";
    fs::permissions(above(), fs::perms(0755));
    fs::permissions(place(), fs::perms(0755));
    fs::permissions(file(), fs::perms(0644));
  }
  fs::path above() const { return fs::canonical(folder_.path()) / "above"; }
  fs::path place() const { return above() / "place"; }
  fs::path file() const { return place() / "file"; }

  static JudgedFile Judge(const fs::path& path) {
    Result<JudgedFile> judged = OpenJudged(path);
    EXPECT_TRUE(judged.ok()) << judged.status().ToString();
    return judged.ok() ? std::move(judged).value() : JudgedFile();
  }
  static StatusCode Read(const fs::path& path, bool strict = false) {
    return ReadTrustedFile(path, 100, {.strict = strict}).status().code();
  }

  TempFolder folder_;
};

TEST_F(JudgedFiles, OneOfThisUserAloneIsTrustedAndRead) {
  const JudgedFile judged = Judge(file());
  EXPECT_EQ(judged.distrust(true), "");
  EXPECT_EQ(judged.resolved, file());
  EXPECT_EQ(*ReadTrustedFile(file(), 100), "text");
}

TEST_F(JudgedFiles, R160_EachPartOfThePathIsJudgedByItself) {
  fs::permissions(file(), fs::perms(0666));
  EXPECT_EQ(Judge(file()).own, file().string() + " (owner " + std::to_string(geteuid()) +
                                   ", mode 0666): users other than you and root may write to it; chmod go-w " +
                                   file().string());
  EXPECT_EQ(Read(file()), StatusCode::kFailedPrecondition);
  fs::permissions(file(), fs::perms(0644));
  fs::permissions(place(), fs::perms(0777));
  EXPECT_EQ(Judge(file()).own, "");
  EXPECT_NE(Judge(file()).folder, "");
  EXPECT_EQ(Judge(file()).above, Judge(file()).folder);
  EXPECT_EQ(Read(file()), StatusCode::kFailedPrecondition);
  fs::permissions(place(), fs::perms(0755));
  fs::permissions(above(), fs::perms(0777));
  EXPECT_EQ(Judge(file()).folder, "");
  EXPECT_NE(Judge(file()).above, "");
  EXPECT_EQ(Read(file()), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Read(above() / "place" / ".." / "place" / "file"), StatusCode::kFailedPrecondition);
}

TEST_F(JudgedFiles, InAStickyFolderOthersMayAddButNotReplace) {
  fs::permissions(place(), fs::perms(01777));
  EXPECT_EQ(Judge(file()).above, "");
  EXPECT_NE(Judge(file()).folder, "");
  EXPECT_EQ(Read(file()), StatusCode::kOk);
  EXPECT_EQ(Read(file(), /*strict=*/true), StatusCode::kFailedPrecondition);
  EXPECT_NE(Judge(place()).own, "");
}

TEST_F(JudgedFiles, R160_WhatAnotherOwnsInAStickyFolderIsReplaceable) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  fs::permissions(above(), fs::perms(01777));
  fs::create_symlink("place", above() / "link");
  EXPECT_EQ(Read(above() / "link" / "file"), StatusCode::kOk);
  ASSERT_EQ(lchown((above() / "link").c_str(), kStranger, kStranger), 0);
  EXPECT_NE(Judge(above() / "link" / "file").above.find("belongs to user 54321"), std::string::npos);
  EXPECT_EQ(Read(above() / "link" / "file"), StatusCode::kFailedPrecondition);
  ASSERT_EQ(chown(place().c_str(), kStranger, kStranger), 0);
  EXPECT_EQ(Read(file()), StatusCode::kFailedPrecondition);
  // A sticky folder of another user protects nothing from that one.
  ASSERT_EQ(chown(place().c_str(), 0, 0), 0);
  ASSERT_EQ(chown(above().c_str(), kStranger, kStranger), 0);
  fs::permissions(above(), fs::perms(01755));
  EXPECT_EQ(Read(file()), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(ReadTrustedFile(file(), 100, {.also = kStranger}).ok()) << "one who counts as root";
}

TEST_F(JudgedFiles, LinksAreFollowedAndBothEndsJudged) {
  fs::create_directory(above() / "other");
  fs::create_symlink("../place/./file", above() / "other" / "relative");
  fs::create_symlink(above() / "other" / "relative", above() / "absolute");
  EXPECT_EQ(Judge(above() / "absolute").resolved, file());
  fs::permissions(above() / "other", fs::perms(0777));
  EXPECT_EQ(Read(above() / "absolute"), StatusCode::kFailedPrecondition);
  fs::permissions(above() / "other", fs::perms(0755));
  fs::permissions(place(), fs::perms(0777));
  EXPECT_EQ(Read(above() / "absolute"), StatusCode::kFailedPrecondition);
}

TEST_F(JudgedFiles, WhatCannotBeOpenedIsAnErrorOfThatKind) {
  fs::create_symlink("loop", above() / "loop");
  fs::create_symlink("nowhere", above() / "dangling");
  EXPECT_EQ(Read(above() / "loop"), StatusCode::kUnavailable);
  EXPECT_EQ(Read(above() / "dangling"), StatusCode::kNotFound);
  EXPECT_EQ(Read(file() / "below"), StatusCode::kNotFound);
  EXPECT_EQ(Read(place()), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadTrustedFile(file(), 3).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(S_ISDIR(Judge(place() / "").about.st_mode));
}

TEST_F(JudgedFiles, ADescriptorWithoutAPathIsNamedByItsKind) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const auto read = [](int fd) { return ReadTrustedFile(fmt::format("/proc/self/fd/{}", fd), 100).status(); };
  EXPECT_EQ(read(ends[0]).message(), "is a pipe, not a file");
  close(ends[0]);
  close(ends[1]);
  const int kept = open(file().c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_TRUE(read(kept).ok()) << "one that has a path is judged by that";
  fs::remove(file());
  EXPECT_NE(read(kept).message().find("has no path that could be judged"), std::string::npos) << read(kept).ToString();
  close(kept);
}

TEST_F(JudgedFiles, R197_OfAMissingPathTheLongestPartIsOpened) {
  EXPECT_EQ(OpenJudgedPart(place() / "a" / "b")->resolved, place());
  EXPECT_EQ(OpenJudgedPart(place() / "a" / ".." / "b")->resolved, place());
  EXPECT_EQ(OpenJudgedPart(file())->resolved, file());
  fs::create_directory(above() / "other");
  fs::create_symlink("other/absent", above() / "link");
  EXPECT_EQ(OpenJudgedPart(above() / "link" / "a")->resolved, above() / "other");
  EXPECT_TRUE(CheckTrustedToMake(above() / "link" / "a").ok());
  fs::permissions(above() / "other", fs::perms(0777));
  EXPECT_EQ(CheckTrustedToMake(above() / "link" / "a").code(), StatusCode::kFailedPrecondition);
  fs::permissions(above() / "other", fs::perms(01777));
  EXPECT_TRUE(CheckTrustedToMake(above() / "link" / "a").ok()) << "what is made there is safe from others";
  fs::create_symlink("loop", above() / "loop");
  EXPECT_FALSE(OpenJudgedPart(above() / "loop" / "a").ok());
}

TEST_F(JudgedFiles, RelativePathsBeginAtTheWorkingFolder) {
  const int before = open(".", O_PATH | O_CLOEXEC);
  ASSERT_EQ(chdir(place().c_str()), 0);
  EXPECT_EQ(Judge("../place/file").resolved, file());
  fs::permissions(above(), fs::perms(0777));
  EXPECT_EQ(Read("file"), StatusCode::kFailedPrecondition);
  EXPECT_EQ(fchdir(before), 0);
  close(before);
}

}  // namespace
}  // namespace deputy::host
