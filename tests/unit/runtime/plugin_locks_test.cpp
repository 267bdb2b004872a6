// Locks of plugin folders: one list, lists of packages beside it, and lists of a bundle.
#include "runtime/plugin_locks.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/sha256.hpp"
#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

const std::vector<uint8_t> kBytes = {1, 2, 3}, kOtherBytes = {1, 2, 4};

std::string DigestText(const std::vector<uint8_t>& bytes) {
  Sha256 sha256;
  sha256.Add(bytes);
  return HexText(sha256.Finish());
}

class PluginLocksTest : public testing::Test {
 protected:
  PluginLocksTest() : plugins_(fs::canonical(folder_.path()) / "plugins") { fs::create_directory(plugins_); }

  fs::path Write(const std::string& name, const std::string& text) {
    const fs::path path = plugins_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // A list of one file.
  fs::path List(const std::string& name, const std::string& file, const std::vector<uint8_t>& bytes = kBytes) {
    return Write(name, DigestText(bytes) + "  " + file + "\n");
  }
  LockAnswer LookUp(const std::string& file, const std::vector<uint8_t>& bytes = kBytes) const {
    return PluginLocks({}).LookUp(plugins_, file, MemorySource(bytes));
  }

  const TempFolder folder_;
  const fs::path plugins_;
};

TEST_F(PluginLocksTest, WithoutAListThereIsNoLock) {
  EXPECT_EQ(LookUp("a.so").problem, plugins_.string() + " has no lock (SHA256SUMS)");
  fs::create_directory(plugins_ / "SHA256SUMS.d");
  EXPECT_EQ(LookUp("a.so").problem, plugins_.string() + " has no lock (SHA256SUMS)");
  EXPECT_EQ(LookUp("a.so").lock, fs::path());
}

TEST_F(PluginLocksTest, ListsOfPackagesAreOneLock) {
  const fs::path a = List("SHA256SUMS.d/a.sha256", "a.so"), b = List("SHA256SUMS.d/b.sha256", "b.so");
  EXPECT_EQ(LookUp("a.so").problem, "");
  EXPECT_EQ(LookUp("a.so").lock, a);
  EXPECT_EQ(LookUp("b.so").lock, b);
  EXPECT_EQ(LookUp("c.so").problem, "c.so is not listed in " + (plugins_ / "SHA256SUMS.d").string());
}

TEST_F(PluginLocksTest, ListsOfPackagesAddToThatOfTheFolder) {
  const fs::path own = List("SHA256SUMS", "a.so");
  EXPECT_EQ(LookUp("b.so").problem, "b.so is not listed in " + own.string());
  const fs::path b = List("SHA256SUMS.d/b.sha256", "b.so");
  EXPECT_EQ(LookUp("a.so").lock, own);
  EXPECT_EQ(LookUp("b.so").lock, b);
  EXPECT_EQ(LookUp("c.so").problem,
            "c.so is not listed in " + (plugins_ / "SHA256SUMS.d").string() + ", nor in " + own.string());
}

TEST_F(PluginLocksTest, OtherBytesAreNotListed) {
  const fs::path a = List("SHA256SUMS.d/a.sha256", "a.so");
  EXPECT_EQ(LookUp("a.so", kOtherBytes).problem, "its SHA-256 is not the one in " + a.string());
  EXPECT_EQ(LookUp("a.so", kOtherBytes).lock, a);
}

TEST_F(PluginLocksTest, OneOfTwoListsOfAFileIsEnough) {
  List("SHA256SUMS", "a.so", kOtherBytes);
  const fs::path a = List("SHA256SUMS.d/a.sha256", "a.so");
  EXPECT_EQ(LookUp("a.so").problem, "");
  EXPECT_EQ(LookUp("a.so").lock, a);
}

TEST_F(PluginLocksTest, AListOfAnotherNameIsNotRead) {
  for (const char* name : {"a", "a.sha256.dpkg-new", "a.sha256.minisig", "a.SHA256", "sub/a.sha256"})
    List(std::string("SHA256SUMS.d/") + name, "a.so");
  EXPECT_NE(LookUp("a.so").problem, "");
}

TEST_F(PluginLocksTest, R160_AListThatOthersMayChangeListsNothing) {
  const fs::path a = List("SHA256SUMS.d/a.sha256", "a.so");
  List("SHA256SUMS.d/b.sha256", "b.so");
  ASSERT_EQ(chmod(a.c_str(), 0666), 0);
  EXPECT_NE(LookUp("a.so").problem.find(a.string() + ": is not trusted: "), std::string::npos)
      << LookUp("a.so").problem;
  EXPECT_EQ(LookUp("b.so").problem, "");
}

TEST_F(PluginLocksTest, R160_AFolderThatOthersMayAddToListsNothing) {
  List("SHA256SUMS.d/a.sha256", "a.so");
  const fs::path lists = plugins_ / "SHA256SUMS.d";
  for (const mode_t mode : {0777u, 01777u}) {
    ASSERT_EQ(chmod(lists.c_str(), mode), 0);
    EXPECT_NE(LookUp("a.so").problem.find(lists.string() + ": is not trusted: "), std::string::npos);
    EXPECT_EQ(LookUp("a.so").lock, lists);
  }
  ASSERT_EQ(chmod(lists.c_str(), 0755), 0);
  EXPECT_EQ(LookUp("a.so").problem, "");
}

TEST_F(PluginLocksTest, ADamagedListTakesNothingFromOthers) {
  const fs::path a = Write("SHA256SUMS.d/a.sha256", "nonsense\n");
  List("SHA256SUMS.d/b.sha256", "b.so");
  EXPECT_EQ(LookUp("b.so").problem, "");
  EXPECT_EQ(LookUp("a.so").problem.find(a.string() + ": line 1"), 0u) << LookUp("a.so").problem;
  EXPECT_EQ(LookUp("a.so").lock, a);
}

TEST_F(PluginLocksTest, AFileInThePlaceOfTheFolderIsReported) {
  const fs::path lists = Write("SHA256SUMS.d", "");
  EXPECT_EQ(LookUp("a.so").problem, lists.string() + ": cannot list: Not a directory");
}

TEST_F(PluginLocksTest, ThatOfABundleIsAboveIfTheFolderHasNone) {
  const fs::path above = List("../SHA256SUMS", "plugins/a.so");
  EXPECT_EQ(LookUp("a.so").problem, plugins_.string() + " has no lock (SHA256SUMS)");
  Write("../SHA256SUMS", DigestText(kBytes) + "  plugins/a.so\n" + DigestText(kBytes) + "  bundle.json\n");
  EXPECT_EQ(LookUp("a.so").problem, "");
  EXPECT_EQ(fs::canonical(LookUp("a.so").lock), fs::canonical(above));
  List("SHA256SUMS.d/b.sha256", "b.so");
  EXPECT_EQ(LookUp("a.so").problem, "a.so is not listed in " + (plugins_ / "SHA256SUMS.d").string());
}

TEST_F(PluginLocksTest, WithKeysAListThatIsNotSignedListsNothing) {
  const fs::path a = List("SHA256SUMS.d/a.sha256", "a.so");
  PluginLocks locks({"RW" + std::string(54, 'a')});
  EXPECT_EQ(locks.LookUp(plugins_, "a.so", MemorySource(kBytes)).problem,
            a.string() + ": is not signed, which 'trust_keys' requires");
}

TEST_F(PluginLocksTest, WithKeysAListAboveIsThatOfABundleOrNone) {
  const auto problem = [&] {
    return PluginLocks({"RW" + std::string(54, 'a')}).LookUp(plugins_, "a.so", MemorySource(kBytes)).problem;
  };
  List("../SHA256SUMS", "plugins/a.so");
  EXPECT_EQ(problem(), plugins_.string() + " has no lock (SHA256SUMS)");
  const fs::path above = plugins_.parent_path() / "SHA256SUMS";
  List("../SHA256SUMS", "bundle.json");
  EXPECT_EQ(problem(), above.string() + ": is not signed, which 'trust_keys' requires");
  // One that cannot be read may be that of a bundle.
  Write("../SHA256SUMS", "nonsense\n");
  EXPECT_EQ(problem().find(above.string() + ": line 1"), 0u) << problem();
}

}  // namespace
}  // namespace deputy::host
