// The libraries that a plugin brings into the process: those that users other than root and this one could change are
// found before anything is loaded.
#include "plugin/discovery/needed_libraries.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;
using testing::EntryOf;
using testing::FixturePath;
using testing::PatientScan;
using testing::ReadBytes;
using testing::TempFolder;

// The fixture with these folders in DT_RUNPATH, or in DT_RPATH.
std::vector<uint8_t> WithFolders(const std::string& folders, int64_t tag = DT_RUNPATH) {
  std::vector<uint8_t> bytes = ReadBytes(FixturePath("needs_helper"));
  const std::string begin = "/fixture/xxxx";
  const auto place = std::search(bytes.begin(), bytes.end(), begin.begin(), begin.end());
  EXPECT_NE(place, bytes.end());
  EXPECT_LT(folders.size(), 240u);
  std::copy(folders.begin(), folders.end(), place);
  place[static_cast<std::ptrdiff_t>(folders.size())] = 0;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = segment.p_offset; at < segment.p_offset + segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, bytes.data() + at, sizeof entry);
      if (entry.d_tag == DT_RUNPATH) entry.d_tag = tag;
      std::memcpy(bytes.data() + at, &entry, sizeof entry);
    }
  }
  return bytes;
}

// <folder>/plugins for the plugin, <folder>/libraries/helper.so, <folder>/theirs.
class NeededLibraries : public ::testing::Test {
 protected:
  NeededLibraries() {
    for (const char* name : {"plugins", "libraries", "theirs"}) {
      fs::create_directory(root() / name);
      fs::permissions(root() / name, fs::perms(0755));
    }
    AddHelper(helper());
  }
  fs::path root() const { return fs::canonical(folder_.path()); }
  fs::path libraries() const { return root() / "libraries"; }
  fs::path theirs() const { return root() / "theirs"; }
  fs::path helper() const { return libraries() / "helper.so"; }
  static void AddHelper(const fs::path& path) {
    fs::create_directories(path.parent_path());
    fs::copy_file(FixturePath("helper"), path);
    fs::permissions(path, fs::perms(0755));
  }
  static void Open(const fs::path& path, bool to_others = true) {
    fs::permissions(path, fs::perms(to_others ? 0777 : 0755));
  }
  // What is said of the fixture with these folders.
  std::string Distrust(const std::string& folders, int64_t tag = DT_RUNPATH, const LibraryFolders& process = {}) const {
    const std::vector<uint8_t> bytes = WithFolders(folders, tag);
    return DistrustOfLibraries(root() / "plugins" / "needs_helper.so", MemorySource(bytes), process);
  }
  static std::string Reason(const fs::path& path, mode_t mode = 0777) {
    return fmt::format("{} (owner {}, mode {:04o}): users other than you and root may write to it; chmod go-w {}",
                       path.string(), geteuid(), mode, path.string());
  }

  TempFolder folder_;
};

TEST_F(NeededLibraries, OfRootAndTheUserAreNoReason) {
  EXPECT_EQ(Distrust(libraries()), "");
  EXPECT_EQ(Distrust("$ORIGIN/../libraries:${ORIGIN}:/usr/lib"), "");
  EXPECT_EQ(Distrust(libraries(), DT_RPATH), "");
  EXPECT_EQ(Distrust(libraries(), DT_RUNPATH, FoldersOfThisProcess()), "");
  EXPECT_EQ(Distrust(root() / "absent" / "folder"), "");
}

TEST_F(NeededLibraries, R195_OneThatOthersMayWriteIsFound) {
  Open(helper());
  for (const int64_t tag : {DT_RUNPATH, DT_RPATH}) {
    EXPECT_EQ(Distrust(libraries(), tag), "its library helper.so: " + Reason(helper()));
    EXPECT_EQ(Distrust("/absent:$ORIGIN/../libraries", tag).substr(0, 22), "its library helper.so:");
  }
  EXPECT_EQ(Distrust(theirs()), "") << "it is not there";
}

TEST_F(NeededLibraries, R195_OneOfAnotherUserIsFound) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(helper().c_str(), 12345, 12345), 0);
  EXPECT_EQ(Distrust(libraries()), fmt::format("its library helper.so: {0} (owner 12345, mode 0755): belongs to user "
                                               "12345; chown root {0}",
                                               helper().string()));
}

TEST_F(NeededLibraries, R195_OneBehindALinkIsJudgedByBothEnds) {
  AddHelper(theirs() / "real.so");
  fs::create_symlink(theirs() / "real.so", root() / "plugins" / "helper.so");
  EXPECT_EQ(Distrust("$ORIGIN"), "");
  Open(theirs());
  EXPECT_EQ(Distrust("$ORIGIN"), "its library helper.so: " + Reason(theirs()));
}

TEST_F(NeededLibraries, R195_AFolderThatCouldGetOneIsFound) {
  Open(theirs());
  const std::string reason = "its library folder " + theirs().string() + ": " + Reason(theirs());
  EXPECT_EQ(Distrust(theirs().string() + ":" + libraries().string()), reason);
  EXPECT_EQ(Distrust(theirs().string() + ":" + libraries().string(), DT_RPATH), reason);
  EXPECT_EQ(Distrust(libraries().string() + ":" + theirs().string()), reason) << "for what is loaded later";
  EXPECT_EQ(Distrust(libraries(), DT_RUNPATH, {{theirs()}, {}}), reason) << "LD_LIBRARY_PATH";
  EXPECT_EQ(Distrust(theirs() / "absent" / "folder").substr(0, 19), "its library folder ");
  fs::create_symlink(theirs() / "absent", root() / "link");
  EXPECT_EQ(Distrust(root() / "link" / "folder").substr(0, 19), "its library folder ");
}

TEST_F(NeededLibraries, R195_AFolderForAKindOfProcessorIsSearchedToo) {
  const fs::path place = libraries() / "glibc-hwcaps" / "x86-64-v2";
  AddHelper(place / "helper.so");
  EXPECT_EQ(Distrust(libraries()), "");
  Open(place / "helper.so");
  EXPECT_EQ(Distrust(libraries()), "its library helper.so: " + Reason(place / "helper.so"));
  Open(place / "helper.so", false);
  Open(place);
  EXPECT_NE(Distrust(libraries()), "");
}

TEST_F(NeededLibraries, R195_OneThatALibraryOfTheSystemNeedsIsFound) {
  const fs::path system = root() / "system";
  fs::create_directory(system);
  const std::vector<uint8_t> needing = WithFolders("");
  std::ofstream(system / "libc.so.6", std::ios::binary)
      .write(reinterpret_cast<const char*>(needing.data()), static_cast<std::streamsize>(needing.size()));
  const std::vector<uint8_t> plugin = ReadBytes(FixturePath("good"));  // needs libc.so.6 alone
  const LibraryFolders process{{libraries()}, {system}};
  const fs::path path = root() / "plugins" / "plugin.so";
  EXPECT_EQ(DistrustOfLibraries(path, MemorySource(plugin), process), "");
  Open(helper());
  EXPECT_EQ(DistrustOfLibraries(path, MemorySource(plugin), process), "its library helper.so: " + Reason(helper()));
}

TEST_F(NeededLibraries, R195_OneThatCannotBeUnderstoodIsNotTrusted) {
  std::ofstream(helper(), std::ios::trunc) << "INPUT(/tmp/other.so)";
  EXPECT_EQ(Distrust(libraries()), "its library helper.so: " + helper().string() +
                                       " is not an ELF file, so that it is not known what it loads");
}

TEST_F(NeededLibraries, R195_TooManyAreNotTrusted) {
  EXPECT_EQ(Distrust("/$LIB$LIB$LIB$LIB$LIB$LIB$LIB$LIB"),
            "it names too many libraries, or folders of them, to be checked");
}

TEST_F(NeededLibraries, R195_SuchAPluginIsNotListed) {
  const fs::path plugins = root() / "plugins";
  const std::vector<uint8_t> bytes = WithFolders(libraries());
  std::ofstream(plugins / "needs_helper.so", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  ScanOptions options = PatientScan(plugins);
  options.sandbox = false;  // which would not open the folder of the helper
  options.look_up_lock = [](const auto& place, const auto&, const auto&) { return LockAnswer{place / "LOCK", ""}; };
  for (const bool open : {false, true}) {
    Open(helper(), open);
    PluginRegistry registry;
    registry.Scan(options);
    const PluginEntry& entry = EntryOf(registry, "needs_helper.so");
    EXPECT_TRUE(entry.accepted) << entry.text;
    EXPECT_EQ(entry.listed, !open) << entry.not_listed;
    EXPECT_EQ(entry.replaceable, open ? "its library helper.so: " + Reason(helper()) : "");
  }
  options.require_listed = true;
  PluginRegistry strict;
  strict.Scan(options);
  EXPECT_EQ(EntryOf(strict, "needs_helper.so").reason, RejectReason::kNotListed);
  options.require_listed = options.refuse_untrusted = false;
  PluginRegistry any;
  any.Scan(options);
  EXPECT_EQ(EntryOf(any, "needs_helper.so").distrust, "its library helper.so: " + Reason(helper())) << "it is noted";
}

TEST_F(NeededLibraries, PathOfOneIsThatInTheEnvironmentFirst) {
  AddHelper(theirs() / "helper.so");
  EXPECT_EQ(PathOfLibrary("helper.so", {{libraries()}, {theirs()}}), helper());
  EXPECT_EQ(PathOfLibrary("helper.so", {{root() / "absent", root() / "plugins"}, {theirs()}}), theirs() / "helper.so");
  EXPECT_EQ(PathOfLibrary("helper.so", {{root() / "plugins"}, {}}), fs::path());
}

TEST_F(NeededLibraries, FoldersOfTheProcessHaveThoseOfTheSystem) {
  const LibraryFolders folders = FoldersOfThisProcess();
  EXPECT_TRUE(std::any_of(folders.own.begin(), folders.own.end(),
                          [](const fs::path& folder) { return fs::exists(folder / "libc.so.6"); }));
}

}  // namespace
}  // namespace deputy::host
