// Which plugin files are believed, and which plugins are run: those that only root and the user can change, and that
// somebody asked for.
#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "plugin/discovery/registry.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;
using testing::EntryOf;
using testing::PatientScan;
using testing::TempFolder;

const PluginEntry& ScannedIn(const TempFolder& folder, PluginRegistry& registry, const std::string& file = "good.so") {
  registry.Scan(PatientScan(folder.path()));
  return EntryOf(registry, file);
}

TEST(PluginTrust, FileThatOthersMayWriteIsRefusedWithTheReason) {
  const TempFolder folder;
  fs::permissions(folder.Add("good"), fs::perms::others_write, fs::perm_options::add);
  PluginRegistry registry;
  const PluginEntry& entry = ScannedIn(folder, registry);
  EXPECT_FALSE(entry.accepted);
  EXPECT_EQ(NameOf(entry.reason), "untrusted");
  EXPECT_NE(entry.text.find("users other than you and root may write to it"), std::string::npos) << entry.text;
  EXPECT_TRUE(registry.delegate_ids().empty());
}

TEST(PluginTrust, FileOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const TempFolder folder;
  ASSERT_EQ(chown(folder.Add("good").c_str(), 12345, 12345), 0);
  PluginRegistry registry;
  EXPECT_EQ(ScannedIn(folder, registry).text, "belongs to user 12345");
}

TEST(PluginTrust, FileThatASharedGroupMayWriteIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to any group";
  const TempFolder folder;
  const fs::path file = folder.Add("good");
  ASSERT_EQ(chown(file.c_str(), 0, 54321), 0);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  PluginRegistry registry;
  EXPECT_EQ(ScannedIn(folder, registry).reason, RejectReason::kUntrusted);
}

TEST(PluginTrust, AccessListThatLetsAnotherUserWriteIsRefused) {
  // Version 2, then tag, permissions, id: as `setfacl -m u:12345:rw FILE` makes it.
  constexpr uint16_t kNone = 0xffff;
  const uint16_t list[] = {2,    0,                 // version
                           0x01, 6, kNone, kNone,   // the owner
                           0x02, 6, 12345, 0,       // user 12345
                           0x04, 4, kNone, kNone,   // the group
                           0x10, 6, kNone, kNone,   // the mask
                           0x20, 4, kNone, kNone};  // others
  for (const bool of_folder : {false, true}) {
    const TempFolder folder;
    const fs::path file = folder.Add("good");
    const fs::path& shared = of_folder ? folder.path() : file;
    if (setxattr(shared.c_str(), "system.posix_acl_access", list, sizeof list, 0) != 0)
      GTEST_SKIP() << "no access control lists here";
    PluginRegistry registry;
    const PluginEntry& entry = ScannedIn(folder, registry, of_folder ? folder.path().filename() : file.filename());
    EXPECT_EQ(entry.reason, RejectReason::kUntrusted);
    EXPECT_NE(entry.text.find("may write to it by its access control list"), std::string::npos) << entry.text;
  }
}

TEST(PluginTrust, FilesThatTravelWithThePluginAreHeldToTheSame) {
  const std::string wanted = "its file helper.so: users other than you and root may write to it";
  const TempFolder folder;
  folder.Add("missing_dependency");
  fs::permissions(folder.Add("helper"), fs::perms::others_write, fs::perm_options::add);
  PluginRegistry registry;
  const PluginEntry& entry = ScannedIn(folder, registry, "missing_dependency.so");
  EXPECT_EQ(entry.reason, RejectReason::kUntrusted);
  EXPECT_EQ(entry.text.substr(0, wanted.size()), wanted);
  fs::permissions(folder.path() / "helper.so", fs::perms::others_write, fs::perm_options::remove);
  PluginRegistry later;
  EXPECT_EQ(ScannedIn(folder, later, "missing_dependency.so").reason, RejectReason::kLoadFailed);
}

TEST(PluginTrust, FolderThatOthersMayWriteIsRefusedAsAWhole) {
  for (const fs::perms more : {fs::perms::others_write, fs::perms::others_write | fs::perms::sticky_bit}) {
    const TempFolder folder;
    folder.Add("good");
    fs::permissions(folder.path(), more, fs::perm_options::add);
    PluginRegistry registry;
    registry.Scan(PatientScan(folder.path()));
    ASSERT_EQ(registry.entries().size(), 1u);
    EXPECT_EQ(registry.entries()[0]->path, folder.path());
    EXPECT_EQ(registry.entries()[0]->reason, RejectReason::kUntrusted);
    EXPECT_TRUE(registry.delegate_ids().empty());
  }
}

TEST(PluginTrust, LinkIsJudgedByTheFolderThatItLeadsTo) {
  const TempFolder trusted, open;
  fs::create_symlink(open.Add("good"), trusted.path() / "good.so");
  fs::permissions(open.path(), fs::perms::others_write, fs::perm_options::add);
  PluginRegistry registry;
  const PluginEntry& entry = ScannedIn(trusted, registry);
  EXPECT_EQ(entry.reason, RejectReason::kUntrusted);
  EXPECT_NE(entry.text.find("its folder " + fs::canonical(open.path()).string()), std::string::npos) << entry.text;
}

TEST(PluginTrust, R160_WhatOthersCouldReplaceByAFolderAboveIsNeverListed) {
  const TempFolder above;
  const fs::path folder = above.path() / "plugins";
  fs::create_directory(folder);
  fs::rename(above.Add("good"), folder / "good.so");
  ScanOptions options = PatientScan(folder);
  options.look_up_lock = [](const auto& place, const auto&, const auto&) { return LockAnswer{place / "LOCK", ""}; };
  for (const auto& [mode, listed] : {std::pair{0755, true}, {01777, true}, {0777, false}}) {
    fs::permissions(above.path(), fs::perms(mode));
    PluginRegistry registry;
    registry.Scan(options);
    const PluginEntry& entry = EntryOf(registry, "good.so");
    EXPECT_TRUE(entry.accepted) << entry.text;
    EXPECT_EQ(entry.listed, listed) << entry.not_listed;
    EXPECT_EQ(entry.replaceable.empty(), listed);
    EXPECT_EQ(entry.lock, folder / "LOCK");
  }
  options.refuse_untrusted = false;
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_TRUE(EntryOf(registry, "good.so").listed);
  EXPECT_NE(EntryOf(registry, "good.so").distrust.find("users other than you"), std::string::npos) << "it is noted";
}

TEST(PluginTrust, R160_FilesOfThePluginAreJudgedByTheirPathToo) {
  const TempFolder folder, open;
  folder.Add("missing_dependency");
  fs::create_directory(open.path() / "place");
  fs::rename(open.Add("helper"), open.path() / "place" / "helper.so");
  fs::create_symlink(open.path() / "place" / "helper.so", folder.path() / "helper.so");
  ScanOptions options = PatientScan(folder.path());
  options.named.emplace();
  PluginRegistry before;
  before.Scan(options);
  EXPECT_EQ(EntryOf(before, "missing_dependency.so").replaceable, "");
  fs::permissions(open.path(), fs::perms(0777));
  PluginRegistry after;
  after.Scan(options);
  EXPECT_NE(EntryOf(after, "missing_dependency.so").replaceable, "");
}

TEST(PluginTrust, LinkToATrustedFileIsFollowed) {
  const TempFolder folder, other;
  fs::create_symlink(other.Add("good"), folder.path() / "good.so");
  PluginRegistry registry;
  EXPECT_TRUE(ScannedIn(folder, registry).accepted);
}

TEST(PluginTrust, R194_GroupOfRootMayNotWrite) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to group 0";
  const TempFolder folder;
  const fs::path file = folder.Add("good");
  ASSERT_EQ(chown(file.c_str(), 0, 0), 0);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  PluginRegistry registry;
  EXPECT_EQ(ScannedIn(folder, registry).reason, RejectReason::kUntrusted);
}

TEST(PluginTrust, WhereItDoesNotMatterItIsNoted) {
  const TempFolder folder;
  fs::permissions(folder.Add("good"), fs::perms::others_write, fs::perm_options::add);
  fs::permissions(folder.path(), fs::perms::others_write, fs::perm_options::add);
  ScanOptions options = PatientScan(folder.path());
  options.refuse_untrusted = false;
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_TRUE(EntryOf(registry, "good.so").accepted);
  EXPECT_NE(EntryOf(registry, "good.so").distrust, "");
}

TEST(PluginTrust, UnnamedPluginIsListedAndNotRun) {
  const TempFolder folder;
  folder.Add("leaves_a_mark");
  folder.Add("good");
  const fs::path mark = folder.path() / "mark";
  setenv("FIXTURE_MARK", mark.c_str(), 1);
  ScanOptions options = PatientScan(folder.path());
  options.sandbox = false;  // the fixture writes a file
  options.named = {"good", "another"};
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_TRUE(EntryOf(registry, "leaves_a_mark.so").accepted);
  EXPECT_FALSE(EntryOf(registry, "leaves_a_mark.so").description);
  EXPECT_TRUE(EntryOf(registry, "good.so").description);
  EXPECT_EQ(registry.delegate_ids(), (std::vector<std::string>{"good", "leaves_a_mark"}));
  EXPECT_EQ(registry.Load("leaves_a_mark").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fs::exists(mark)) << "it was run";

  PluginRegistry all;
  options.named.reset();
  all.Scan(options);
  unsetenv("FIXTURE_MARK");
  EXPECT_TRUE(fs::exists(mark)) << "the fixture leaves no mark when it is run, so this test proves nothing";
}

TEST(PluginTrust, RefusedFileIsNamedWhereItsDelegateIsMissed) {
  const TempFolder folder;
  fs::permissions(folder.Add("good"), fs::perms::others_write, fs::perm_options::add);
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_NE(registry.RefusalOf("good").find("good.so has it, but users other than you"), std::string::npos);
  EXPECT_EQ(registry.RefusalOf("bad"), "");
}

}  // namespace
}  // namespace deputy::host
