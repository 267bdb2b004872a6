// The store: entries that are whole are found, everything else is as if it were not there.
#include "store/store.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/file_writer.hpp"
#include "unit/store/store_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

class StoreTest : public StoreFolder {
 protected:
  void SetAge(std::string_view key, std::chrono::hours age, EntryKind kind = EntryKind::kBlob) const {
    fs::last_write_time(PathOf(key, kind), fs::file_time_type::clock::now() - age);
  }
};

// Permissions do not bind root: it runs as another user meanwhile, who owns the test's folders.
class WithoutPrivileges {
 public:
  explicit WithoutPrivileges(const fs::path& owned) {
    if (geteuid() != 0) return;
    constexpr uid_t kNobody = 65534;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(owned))
      EXPECT_EQ(chown(entry.path().c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(chown(owned.c_str(), kNobody, kNobody), 0);
    EXPECT_EQ(seteuid(kNobody), 0);
    switched_ = true;
  }
  ~WithoutPrivileges() {
    if (switched_ && seteuid(0) != 0) ADD_FAILURE();
  }
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;

 private:
  bool switched_ = false;
};

TEST_F(StoreTest, WhatWasSavedIsFoundAlignedAndWithItsText) {
  for (const EntryKind kind : kEntryKinds) {
    const std::string text = "text of a " + std::string(NameOf(kind));
    Open().Save(kind, KeyOf("a"), text, bytes_);
    const std::optional<StoredEntry> found = Open().Find(kind, KeyOf("a"));
    ASSERT_TRUE(found.has_value()) << NameOf(kind);
    EXPECT_EQ(found->text, text);
    EXPECT_EQ(std::vector<uint8_t>(found->bytes.begin(), found->bytes.end()), bytes_);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(found->bytes.data()) % 64, 0u);
  }
  EXPECT_EQ(log_, "");
}

TEST_F(StoreTest, AnEntryMayHaveTextAloneOrBytesAlone) {
  Store store = Open();
  store.Save(EntryKind::kVerdict, KeyOf("text"), std::string(4095, 't'), {});
  store.Save(EntryKind::kVerdict, KeyOf("bytes"), "", bytes_);
  EXPECT_EQ(store.Find(EntryKind::kVerdict, KeyOf("text"))->text, std::string(4095, 't'));
  EXPECT_EQ(Found(store, "text", EntryKind::kVerdict), std::vector<uint8_t>());
  EXPECT_EQ(store.Find(EntryKind::kVerdict, KeyOf("bytes"))->text, "");
  EXPECT_EQ(Found(store, "bytes", EntryKind::kVerdict), bytes_);
}

TEST_F(StoreTest, ATextOverTheLimitIsOneWarning) {
  Store store = Open();
  store.Save(EntryKind::kVerdict, KeyOf("a"), std::string(4096, 't'), bytes_);
  EXPECT_EQ(Found(store, "a", EntryKind::kVerdict), std::nullopt);
  EXPECT_EQ(CountInLog("must be at most 4095 bytes, got 4096"), 1u) << log_;
}

TEST_F(StoreTest, AnotherKeyOrKindFindsNothingAndLogsNothing) {
  Save("a", "", bytes_);
  EXPECT_EQ(Found("b"), std::nullopt);
  EXPECT_EQ(Found("a", EntryKind::kVerdict), std::nullopt);
  EXPECT_EQ(log_, "");
}

TEST_F(StoreTest, TheSameKeyOfSeveralKindsAreSeveralEntries) {
  Save("a", "", bytes_);
  Open().Save(EntryKind::kModel, KeyOf("a"), "", std::vector<uint8_t>{1});
  EXPECT_EQ(Found("a"), bytes_);
  EXPECT_EQ(Found("a", EntryKind::kModel), std::vector<uint8_t>{1});
}

TEST_F(StoreTest, ARemovedEntryIsNotFound) {
  Store store = Open();
  EXPECT_TRUE(store.Remove(EntryKind::kBlob, KeyOf("a")).ok()) << "there is none";
  Save("a", "", bytes_);
  EXPECT_TRUE(store.Remove(EntryKind::kVerdict, KeyOf("a")).ok());
  EXPECT_EQ(Found(store, "a"), bytes_);
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(store.Remove(EntryKind::kBlob, KeyOf("a")).ok());
    EXPECT_EQ(Found(store, "a"), std::nullopt);
  }
  EXPECT_EQ(log_, "");
}

TEST_F(StoreTest, TheFolderIsForTheUserAlone) {
  Save("a", "", bytes_);
  struct stat about {};
  ASSERT_EQ(stat(folder_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

TEST_F(StoreTest, AFileThatOthersMayWriteIsNotBelieved) {
  Save("a", "", bytes_);
  fs::permissions(PathOf("a"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(Found("a"), std::nullopt);
  EXPECT_NE(log_.find("users other than you"), std::string::npos) << log_;
}

TEST_F(StoreTest, ALinkIsNotFollowedAndIsReplaced) {
  Save("a", "", bytes_);
  fs::rename(PathOf("a"), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", PathOf("a"));
  EXPECT_EQ(Found("a"), std::nullopt);
  EXPECT_NE(log_.find("symbolic link"), std::string::npos) << log_;
  Save("a", "", {1});
  EXPECT_EQ(Found("a"), std::vector<uint8_t>{1});
  EXPECT_TRUE(fs::exists(folder_ / "elsewhere"));
}

TEST_F(StoreTest, ADirectoryInPlaceOfAnEntryIsOneWarningOfEachKindAndStays) {
  fs::create_directories(PathOf("a") / "more");
  fs::permissions(folder_, fs::perms::owner_all);
  Store store = Open();
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(Found(store, "a"), std::nullopt);
    store.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_);
  }
  EXPECT_TRUE(fs::exists(PathOf("a") / "more"));
  EXPECT_EQ(CountInLog("is a directory, not a regular file"), 1u) << log_;
  EXPECT_EQ(CountInLog("cannot be written"), 1u) << log_;
}

TEST_F(StoreTest, WhatWasNotUsedForLongestMakesRoom) {
  Store store = Open(1000);  // five entries of 135 bytes fit beside a sixth, of 400 not
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    store.Save(EntryKind::kBlob, KeyOf(name), "", bytes_);
    SetAge(name, std::chrono::hours(name[0] == 'a' ? 1 : 10));
  }
  ASSERT_TRUE(Found(store, "b").has_value());  // used just now
  store.Save(EntryKind::kBlob, KeyOf("large"), "", std::vector<uint8_t>(400, 1));
  EXPECT_TRUE(Found(store, "large").has_value());
  EXPECT_TRUE(Found(store, "a").has_value());
  EXPECT_TRUE(Found(store, "b").has_value());
  EXPECT_EQ(
      int(Found(store, "c").has_value()) + int(Found(store, "d").has_value()) + int(Found(store, "e").has_value()), 1);
}

TEST_F(StoreTest, SmallDecisionsStayWhereLargeBlobsMakeRoom) {
  Store store = Open(1'000'000);
  for (const char* name : {"blob 1", "blob 2", "blob 3"}) {
    store.Save(EntryKind::kBlob, KeyOf(name), "", std::vector<uint8_t>(300'000));
    SetAge(name, std::chrono::hours(name[5] - '0'));
  }
  for (const EntryKind kind : {EntryKind::kVerdict, EntryKind::kPlacement}) {
    store.Save(kind, KeyOf("decision"), "", bytes_);
    SetAge("decision", std::chrono::hours(100), kind);
  }
  store.Save(EntryKind::kBlob, KeyOf("new"), "", std::vector<uint8_t>(300'000));
  EXPECT_TRUE(Found(store, "decision", EntryKind::kVerdict).has_value());
  EXPECT_TRUE(Found(store, "decision", EntryKind::kPlacement).has_value());
  EXPECT_TRUE(Found(store, "blob 1").has_value());
  EXPECT_TRUE(Found(store, "blob 2").has_value());
  EXPECT_FALSE(Found(store, "blob 3").has_value());
}

TEST_F(StoreTest, DecisionsCountTowardsTheLimitAndMakeRoomForEachOther) {
  Store store = Open(1000);  // seven of 135 bytes
  for (int i = 0; i < 20; ++i) {
    store.Save(EntryKind::kVerdict, KeyOf(std::to_string(i)), "", bytes_);
    SetAge(std::to_string(i), std::chrono::hours(20 - i), EntryKind::kVerdict);
  }
  uint64_t total = 0;
  for (const EntryInfo& entry : Entries(store)) total += entry.bytes;
  EXPECT_EQ(total, 7u * 135);
  EXPECT_TRUE(Found(store, "19", EntryKind::kVerdict).has_value());
  EXPECT_FALSE(Found(store, "0", EntryKind::kVerdict).has_value());
}

TEST_F(StoreTest, ReplacingAnEntryDoesNotMakeRoomForBoth) {
  Store store = Open(1000);
  store.Save(EntryKind::kBlob, KeyOf("other"), "", bytes_);
  for (int time = 0; time < 3; ++time)
    store.Save(EntryKind::kBlob, KeyOf("large"), "", std::vector<uint8_t>(700, uint8_t(time)));
  EXPECT_TRUE(Found(store, "other").has_value());
  EXPECT_EQ(Found(store, "large"), std::vector<uint8_t>(700, 2));
}

TEST_F(StoreTest, AnEntryOverTheLimitIsOneWarning) {
  Store store = Open(500);
  store.Save(EntryKind::kBlob, KeyOf("a"), "", std::vector<uint8_t>(600, 1));
  store.Save(EntryKind::kBlob, KeyOf("b"), "", std::vector<uint8_t>(600, 1));
  EXPECT_EQ(Found(store, "a"), std::nullopt);
  EXPECT_EQ(CountInLog("an entry of 728 bytes exceeds the size limit of the cache, 500 bytes"), 1u) << log_;
}

TEST_F(StoreTest, AFolderThatCannotBeMadeIsOneWarning) {
  WriteAll(folder_, bytes_);  // a file in its place
  Store store = Open();
  store.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_);
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_EQ(CountInLog("continuing without"), 1u) << log_;
  EXPECT_EQ(store.List(false).status().code(), StatusCode::kUnavailable);
}

TEST_F(StoreTest, AFolderThatOthersMayWriteIsNotUsedAtAll) {
  Save("a", "", bytes_);
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  Store store = Open();
  EXPECT_EQ(Found(store, "a"), std::nullopt);
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_EQ(store.Remove(EntryKind::kBlob, KeyOf("a")).code(), StatusCode::kUnavailable);
  EXPECT_FALSE(fs::exists(PathOf("b")));
  EXPECT_TRUE(fs::exists(PathOf("a"))) << "nothing in it is touched";
  EXPECT_NE(log_.find("users other than you"), std::string::npos) << log_;
  EXPECT_EQ(CountInLog("is not used"), 1u) << log_;
  EXPECT_NE(store.List(false).status().message().find("users other than you"), std::string::npos);
}

TEST_F(StoreTest, AFolderOfAnotherUserIsNotUsedAtAll) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  Save("a", "", bytes_);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  Store store = Open();
  EXPECT_EQ(Found(store, "a"), std::nullopt);
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_FALSE(fs::exists(PathOf("b")));
  EXPECT_NE(log_.find("belongs to user 12345"), std::string::npos) << log_;
}

TEST_F(StoreTest, R197_AFolderThatOthersCouldReplaceIsNotUsedAtAll) {
  const fs::path above = folder_ / "above", folder = above / "cache";
  fs::create_directories(above);
  fs::permissions(folder_, fs::perms(0755));
  Store before(StoreOptions{folder, 1 << 20});
  EXPECT_EQ(before.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_), "");
  fs::permissions(above, fs::perms(0777));
  Store store(StoreOptions{folder, 1 << 20});
  EXPECT_EQ(Found(store, "a"), std::nullopt);
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_FALSE(fs::exists(folder / EntryFileName(EntryKind::kBlob, KeyOf("b"))));
  EXPECT_EQ(CountInLog("is not used: " + fs::canonical(above).string() + " (owner"), 1u) << log_;
  EXPECT_EQ(store.List(false).status().code(), StatusCode::kUnavailable);
  // In a sticky folder others cannot.
  fs::permissions(above, fs::perms(01777));
  Store sticky(StoreOptions{folder, 1 << 20});
  EXPECT_EQ(Found(sticky, "a"), bytes_);
}

TEST_F(StoreTest, R197_NothingIsMadeWhereOthersCouldReplaceIt) {
  const fs::path theirs = folder_ / "theirs", target = folder_ / "target";
  fs::create_directories(theirs);
  fs::create_directories(target);
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(theirs, fs::perms(0777));
  fs::create_directory_symlink(target, theirs / "link");
  for (const fs::path& folder : {theirs / "a" / "cache", theirs / "link" / "cache", theirs / "link" / "a" / "cache"}) {
    Store store(StoreOptions{folder, 1 << 20});
    EXPECT_NE(store.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_).find("is not used: "), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(theirs / "a"));
  EXPECT_TRUE(fs::is_empty(target));
}

TEST_F(StoreTest, AFolderThatTakesThePlaceOfTheCheckedOneIsNotUsed) {
  Store store = Open();
  store.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_);
  fs::rename(folder_, folder_.string() + "-moved");
  fs::create_directory(folder_);
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_TRUE(Found(store, "b").has_value());
}

TEST_F(StoreTest, AFolderThatWasRemovedIsMadeAgain) {
  Store store = Open();
  store.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_);
  fs::remove_all(folder_);
  EXPECT_EQ(Found(store, "a"), std::nullopt);
  EXPECT_TRUE(Entries(store).empty());
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_EQ(Found(store, "b"), bytes_);
  EXPECT_TRUE(fs::exists(PathOf("b")));
  EXPECT_EQ(log_, "");
}

TEST_F(StoreTest, AFolderInPlaceOfARemovedOneIsChecked) {
  Store store = Open();
  store.Save(EntryKind::kBlob, KeyOf("a"), "", bytes_);
  fs::remove_all(folder_);
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_NE(log_.find("users other than you"), std::string::npos) << log_;
}

TEST_F(StoreTest, AReadOnlyFolderIsReadAndIsOneWarningWhenWritten) {
  Save("a", "", bytes_);
  WriteAll(PathOf("damaged"), bytes_);
  fs::permissions(folder_, fs::perms::owner_write, fs::perm_options::remove);
  const WithoutPrivileges without(scratch_.path());
  Store store = Open();
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(Found(store, "a"), bytes_);
    EXPECT_EQ(Found(store, "damaged"), std::nullopt);
    store.Save(EntryKind::kBlob, KeyOf("b"), "", bytes_);
    store.Save(EntryKind::kBlob, KeyOf("a"), "", std::vector<uint8_t>{1});
    EXPECT_EQ(store.Remove(EntryKind::kBlob, KeyOf("a")).code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(Found(store, "a"), bytes_);
  EXPECT_TRUE(fs::exists(PathOf("damaged")));
  EXPECT_EQ(CountInLog("has 7 bytes"), 1u) << "what cannot be removed is logged once: " << log_;
  EXPECT_EQ(CountInLog("cannot be written"), 1u) << log_;
  EXPECT_EQ(CountInLog("what it has already is used"), 1u) << log_;
  EXPECT_EQ(CountInLog("\n"), 2u) << log_;
}

TEST_F(StoreTest, AFullDiskLeavesTheOldEntryAndNothingElse) {
  Save("a", "", bytes_);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{4096, old.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Store store = Open();
  store.Save(EntryKind::kBlob, KeyOf("a"), "", std::vector<uint8_t>(100'000));
  store.Save(EntryKind::kBlob, KeyOf("b"), "", std::vector<uint8_t>(100'000));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(Found(store, "a"), bytes_);
  EXPECT_EQ(Found(store, "b"), std::nullopt);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(CountInLog("cannot be written"), 1u) << log_;
}

TEST_F(StoreTest, WhatAKilledWriterLeftIsRemovedAfterAnHour) {
  Save("a", "", bytes_);
  const fs::path old = folder_ / (std::string(kTemporaryPrefix) + "old"),
                 fresh = folder_ / (std::string(kTemporaryPrefix) + "fresh");
  WriteAll(old, bytes_);
  WriteAll(fresh, bytes_);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(3));
  Save("d", "", bytes_);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "it may still be written";
}

TEST_F(StoreTest, FilesThatAreNoEntriesAreLeftAlone) {
  Save("a", "", bytes_);
  const std::string key = HexText(KeyOf("a"));
  std::string upper = key;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const std::string names[] = {"notes.txt",     "x.blob",           key, key + ".blob.old", key + ".timing", ".blob",
                               upper + ".blob", "a" + key + ".blob"};
  for (const std::string& name : names) {
    WriteAll(folder_ / name, std::vector<uint8_t>(10'000));
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  }
  Store store = Open(1000);
  for (int i = 0; i < 20; ++i) store.Save(EntryKind::kBlob, KeyOf(std::to_string(i)), "", bytes_);
  EXPECT_TRUE(Found(store, "19").has_value()) << "they do not count towards the limit";
  for (const std::string& name : names) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  for (const EntryInfo& entry : Entries(store)) EXPECT_EQ(entry.state, EntryState::kIntact);
}

TEST_F(StoreTest, AListNamesEveryEntryAndChangesNothing) {
  Store store = Open();
  EXPECT_TRUE(Entries(store).empty()) << "there is no folder yet";
  EXPECT_FALSE(fs::exists(folder_));
  store.Save(EntryKind::kVerdict, KeyOf("v"), "right", {});
  store.Save(EntryKind::kBlob, KeyOf("b"), "format 1", bytes_);
  SetAge("b", std::chrono::hours(5));
  std::vector<uint8_t> damaged = ReadAll<std::vector<uint8_t>>(PathOf("b"));
  store.Save(EntryKind::kBlob, KeyOf("d"), "format 1", bytes_);
  damaged = ReadAll<std::vector<uint8_t>>(PathOf("d"));
  damaged.back() ^= 1;
  WriteAll(PathOf("d"), damaged);
  const auto used = fs::last_write_time(PathOf("b"));

  for (const bool check : {false, true}) {
    const Result<std::vector<EntryInfo>> listed = store.List(check);
    ASSERT_TRUE(listed.ok());
    ASSERT_EQ(listed->size(), 3u);
    EXPECT_EQ(listed->back().kind, EntryKind::kVerdict);
    for (const EntryInfo& entry : *listed) {
      const bool bad = entry.key == KeyOf("d");
      EXPECT_EQ(entry.state, !check ? EntryState::kUnchecked : bad ? EntryState::kDamaged : EntryState::kIntact);
      EXPECT_EQ(entry.problem, check && bad ? "is damaged: its checksum does not match" : "");
      EXPECT_EQ(entry.bytes, fs::file_size(store.PathOf(entry.kind, entry.key)));
      EXPECT_EQ(entry.text, check && bad ? "" : entry.kind == EntryKind::kBlob ? "format 1" : "right");
      const auto age = std::chrono::system_clock::now() - entry.last_use;
      EXPECT_EQ(age > std::chrono::hours(4), entry.key == KeyOf("b"));
    }
  }
  EXPECT_EQ(fs::last_write_time(PathOf("b")), used);
  EXPECT_TRUE(fs::exists(PathOf("d")));
  EXPECT_EQ(log_, "");
}

}  // namespace
}  // namespace deputy::host
