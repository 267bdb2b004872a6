// Installed bundles: versions beside each other, one of them in use, after any process that was killed.
#include "bundle/installed.hpp"

#include <functional>
#include <set>

#include "base/file_writer.hpp"
#include "bundle/contents.hpp"
#include "bundle/signature.hpp"
#include "support/killed_process.hpp"
#include "unit/bundle/bundle_folder.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

class Installed : public BundleFolder {
 protected:
  fs::path root() const { return path() / "root"; }

  std::string Install(const fs::path& file, const std::string& key = "", bool allow_downgrade = false) const {
    const Result<BundleVerification> result = bundle::Install(file, key, root(), nullptr, allow_downgrade);
    if (!result.ok()) return result.status().ToString();
    return result->problems.empty() ? "" : result->problems.front().rule + ": " + result->problems.front().message;
  }
  // The model of the version in use, whose files are all intact; "none" without a version.
  std::string InUse() const {
    std::error_code error;
    const fs::path version = fs::read_symlink(root() / "a" / "current", error);
    if (error) return "none";
    const fs::path folder = root() / "a" / version;
    const Result<ReadBundle> read = ReadBundleFolder(folder);
    if (!read.ok()) return read.status().ToString();
    std::vector<BundleProblem> problems;
    CheckFiles(folder, read->checksums, problems);
    return problems.empty() ? ReadAll<std::string>(folder / "models" / "m.dpm") : problems.front().message;
  }
  std::string Versions() const {
    const Result<std::vector<InstalledBundle>> list = List(root());
    std::string text;
    for (const InstalledBundle& bundle : *list) text += bundle.version + (bundle.current ? "* " : " ");
    return text;
  }
  bool HasTemporaries() const {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root()))
      if (entry.path().filename().string().starts_with(kTemporaryPrefix)) return true;
    return false;
  }

  // Kills a process at each of its stops; the root is as it is now before each of them. Returns the models that were in
  // use afterwards. After each, `after` must succeed and leave no temporary.
  std::set<std::string> KillEverywhere(const std::function<void()>& work, const std::function<void()>& after) {
    const fs::path kept = path() / "kept";
    fs::rename(root(), kept);
    std::set<std::string> found;
    for (size_t stop = 1;; stop += 2) {
      fs::remove_all(root());
      fs::copy(kept, root(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
      const bool killed = KillAtStop(stop, work);
      found.insert(InUse());
      after();
      EXPECT_FALSE(HasTemporaries()) << stop;
      if (!killed) {
        EXPECT_GT(stop, 60u) << "the process was killed at its system calls";
        return found;
      }
      if (HasFailure()) return found;
    }
  }
};

TEST_F(Installed, VersionsAreBesideEachOther) {
  EXPECT_EQ(Install(Pack("1.0", "old")), "");
  EXPECT_EQ(InUse(), "old");
  EXPECT_EQ(Install(Pack("1.1", "new")), "");
  EXPECT_EQ(InUse(), "new");
  EXPECT_EQ(Versions(), "1.0 1.1* ");
  EXPECT_FALSE(HasTemporaries());
}

TEST_F(Installed, RollbackGoesToTheVersionBeforeAndBack) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  EXPECT_EQ(RollBack(root(), "a", "").status().message(), "no version of 'a' was in use before");
  ASSERT_EQ(Install(Pack("1.1", "new")), "");
  ASSERT_EQ(Install(Pack("1.2", "newest")), "");
  EXPECT_EQ(RollBack(root(), "a", "")->version, "1.1");
  EXPECT_EQ(InUse(), "new");
  EXPECT_EQ(RollBack(root(), "a", "")->version, "1.2");
  EXPECT_EQ(RollBack(root(), "a", "1.0")->version, "1.0");
  EXPECT_EQ(InUse(), "old");
  EXPECT_EQ(RollBack(root(), "a", "1.5").status().message(), "version 1.5 is not installed (installed: 1.0, 1.1, 1.2)");
  EXPECT_EQ(RollBack(root(), "b", "").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(RollBack(root(), "..", "").ok());
}

TEST_F(Installed, R172_ALowerVersionIsRefusedUnlessItIsAllowed) {
  const fs::path lower = Pack("1.9", "old");
  ASSERT_EQ(Install(Pack("1.10", "new")), "");
  EXPECT_EQ(Install(lower),
            "downgrade: version 1.9 is lower than 1.10, which is in use; --allow-downgrade installs it all the same, "
            "'bundle rollback' goes back to an installed one");
  EXPECT_EQ(Versions(), "1.10* ");
  EXPECT_EQ(InUse(), "new");
  EXPECT_EQ(Install(lower, "", /*allow_downgrade=*/true), "");
  EXPECT_EQ(InUse(), "old");
  EXPECT_EQ(Install(Pack("1.10", "new")), "") << "a higher one needs no permission";
  EXPECT_EQ(RollBack(root(), "a", "")->version, "1.9") << "nor does going back";
  EXPECT_EQ(Install(lower), "") << "nor does the one in use";
}

TEST_F(Installed, R172_WithoutOneInUseTheHighestThatIsInstalledCounts) {
  ASSERT_EQ(Install(Pack("1.9", "old")), "");
  ASSERT_EQ(Install(Pack("1.10", "new")), "");
  fs::remove(root() / "a" / "current");
  EXPECT_NE(Install(Pack("1.9", "old")).find("is lower than 1.10, which is installed"), std::string::npos);
}

TEST_F(Installed, R161_ARootThatOthersMayWriteIsNotChanged) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  const fs::path next = Pack("1.1", "new");
  for (const mode_t mode : {0777, 01777}) {
    fs::permissions(root(), fs::perms(mode));
    EXPECT_NE(Install(next).find("is not trusted: "), std::string::npos) << Install(next);
    EXPECT_EQ(RollBack(root(), "a", "1.0").status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(Remove(root(), "a", "").code(), StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(InUse(), "old");
}

TEST_F(Installed, R196_AFolderThatOthersMayWriteIsNotChanged) {
  const fs::path old = Pack("1.0", "old"), next = Pack("1.1", "new");
  ASSERT_EQ(Install(old), "");
  for (const mode_t mode : {0777, 01777}) {
    fs::permissions(root() / "a", fs::perms(mode));
    EXPECT_NE(Install(next).find("is not trusted: "), std::string::npos) << Install(next);
    EXPECT_EQ(RollBack(root(), "a", "1.0").status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(Remove(root(), "a", "").code(), StatusCode::kFailedPrecondition);
    EXPECT_FALSE(HasTemporaries());
  }
  EXPECT_EQ(Versions(), "1.0* ");
}

TEST_F(Installed, R196_ALinkInThePlaceOfABundleIsNotFollowed) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  const fs::path target = path() / "target";
  fs::rename(root() / "a", target);
  fs::create_directory_symlink(target, root() / "a");
  EXPECT_NE(Install(Pack("1.1", "new")).find("is not a folder but a symbolic link"), std::string::npos);
  EXPECT_EQ(Remove(root(), "a", "").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(RollBack(root(), "a", "1.0").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fs::exists(target / "1.1"));
  EXPECT_FALSE(HasTemporaries());
}

TEST_F(Installed, R196_AVersionThatOthersMayWriteIsReplaced) {
  const fs::path file = Pack("1.0", "old");
  for (const char* part : {"", "models", "models/m.dpm"}) {
    ASSERT_EQ(Install(file), "");
    const fs::path place = root() / "a" / "1.0" / part;
    fs::permissions(place, fs::perms(0777));
    EXPECT_EQ(Install(file), "");
    EXPECT_EQ(fs::status(place).permissions() & fs::perms::others_write, fs::perms::none) << part;
    EXPECT_EQ(InUse(), "old");
  }
  ASSERT_EQ(Install(Pack("1.1", "new")), "");
  fs::permissions(root() / "a" / "1.0", fs::perms(0777));
  EXPECT_EQ(RollBack(root(), "a", "1.0").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(InUse(), "new");
}

TEST_F(Installed, R196_NoRootIsMadeWhereOthersCouldReplaceIt) {
  const fs::path theirs = path() / "theirs";
  fs::create_directory(theirs);
  fs::permissions(theirs, fs::perms(0777));
  const auto made = bundle::Install(Pack("1.0", "old"), "", theirs / "a" / "root", nullptr);
  EXPECT_EQ(made.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_FALSE(fs::exists(theirs / "a"));
}

TEST_F(Installed, AVersionInUseIsNotRemoved) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  ASSERT_EQ(Install(Pack("1.1", "new")), "");
  EXPECT_EQ(Remove(root(), "a", "1.1").message(), "version 1.1 of 'a' is in use");
  EXPECT_TRUE(Remove(root(), "a", "1.0").ok());
  EXPECT_EQ(Versions(), "1.1* ");
  EXPECT_EQ(RollBack(root(), "a", "").status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Remove(root(), "a", "").ok());
  EXPECT_EQ(Versions(), "");
  EXPECT_EQ(Remove(root(), "a", "").code(), StatusCode::kNotFound);
}

TEST_F(Installed, ADamagedVersionIsRepairedByItsBundle) {
  const fs::path file = Pack("1.0", "old");
  ASSERT_EQ(Install(file), "");
  EXPECT_EQ(Install(file), "");
  WriteAll(root() / "a" / "1.0" / "models" / "m.dpm", std::string("odd"));
  EXPECT_EQ(InUse(), "the SHA-256 of 'models/m.dpm' is not the one in SHA256SUMS");
  EXPECT_EQ(Install(file), "");
  EXPECT_EQ(InUse(), "old");
}

TEST_F(Installed, AVersionHasOneContent) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  EXPECT_EQ(Install(Pack("1.0", "new")),
            "installed: version 1.0 is installed with other contents; remove it, or give this bundle another version");
  EXPECT_EQ(InUse(), "old");
}

TEST_F(Installed, ABundleWithAProblemChangesNothing) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  ASSERT_TRUE(MakeKeys(path() / "k.key", path() / "k.pub").ok());
  ASSERT_TRUE(MakeKeys(path() / "o.key", path() / "o.pub").ok());
  EXPECT_EQ(Install(Pack("1.1", "new"), (path() / "k.pub").string()), "signature: is not signed");
  const fs::path file = Pack("1.1", "new", path() / "k.key");
  EXPECT_NE(Install(file, (path() / "o.pub").string()).find("signature: SHA256SUMS.minisig: is signed with the key"),
            std::string::npos);
  EXPECT_EQ(Versions(), "1.0* ");
  EXPECT_EQ(InUse(), "old");
  EXPECT_FALSE(HasTemporaries());
  EXPECT_EQ(Install(file, (path() / "k.pub").string()), "");
}

TEST_F(Installed, AnInstallationKilledAtAnySystemCallLeavesTheOldOrTheNewVersion) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  const fs::path file = Pack("1.1", "new");
  const auto work = [&] { Install(file); };
  const auto after = [&] {
    EXPECT_EQ(Install(file), "");
    EXPECT_EQ(InUse(), "new");
  };
  EXPECT_EQ(KillEverywhere(work, after), (std::set<std::string>{"old", "new"}));
}

TEST_F(Installed, ARollbackKilledAtAnySystemCallLeavesOneOfBothVersions) {
  ASSERT_EQ(Install(Pack("1.0", "old")), "");
  ASSERT_EQ(Install(Pack("1.1", "new")), "");
  const auto work = [&] { (void)RollBack(root(), "a", "").ok(); };
  const auto after = [&] { EXPECT_TRUE(RollBack(root(), "a", "1.0").ok()); };
  EXPECT_EQ(KillEverywhere(work, after), (std::set<std::string>{"old", "new"}));
}

}  // namespace
}  // namespace deputy::host::bundle
