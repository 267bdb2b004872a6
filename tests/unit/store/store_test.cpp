// The store: entries that are whole are found, everything else is as if it were not there.
#include "store/store.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <mutex>
#include <random>

#include "base/file_writer.hpp"
#include "base/log.hpp"
#include "support/temp_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<uint8_t>;

Digest KeyOf(std::string_view text) { return Digester().AddText(text).Finish(); }

class StoreFiles : public testing::Test {
 protected:
  StoreFiles() {
    SetLogSink([this](LogLevel level, std::string_view, std::string_view message) {
      if (level >= LogLevel::kWarning) log_ += std::string(message) + "\n";
    });
  }
  ~StoreFiles() override { SetLogSink(nullptr); }

  Store Open(uint64_t max_bytes = 1 << 20) const { return Store(StoreOptions{folder_, max_bytes}); }
  // What the cache has under the key.
  static std::optional<Bytes> Found(Store& cache, const Digest& key) {
    const std::optional<StoredEntry> found = cache.Find(EntryKind::kBlob, key);
    if (!found) return std::nullopt;
    return Bytes(found->bytes.begin(), found->bytes.end());
  }

  const TempFolder scratch_;
  const fs::path folder_ = scratch_.path() / "blobs";
  std::string log_;
  const Bytes blob_ = {10, 20, 30, 40, 50, 60, 70};
};

TEST_F(StoreFiles, WhatWasStoredComesBackAlignedAndWithItsCompatibility) {
  Open().Save(EntryKind::kBlob, KeyOf("a"), "format 1", blob_);
  const std::optional<StoredEntry> found = Open().Find(EntryKind::kBlob, KeyOf("a"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text, "format 1");
  EXPECT_EQ(Bytes(found->bytes.begin(), found->bytes.end()), blob_);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(found->bytes.data()) % 64, 0u);
  EXPECT_EQ(log_, "");
}

TEST_F(StoreFiles, AnotherKeyFindsNothingAndSaysNothing) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  EXPECT_EQ(Found(cache, KeyOf("b")), std::nullopt);
  EXPECT_EQ(log_, "");
}

TEST_F(StoreFiles, TheFolderIsForTheUserAlone) {
  Open().Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  struct stat about {};
  ASSERT_EQ(stat(folder_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

TEST_F(StoreFiles, EveryFlippedBitIsFoundOut) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "format 1", blob_);
  const Bytes whole = ReadAll<Bytes>(cache.PathOf(EntryKind::kBlob, KeyOf("a")));
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    Bytes damaged = whole;
    damaged[byte] ^= uint8_t(1u << byte % 8);
    WriteAll(cache.PathOf(EntryKind::kBlob, KeyOf("a")), damaged);
    EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt) << "byte " << byte;
    EXPECT_FALSE(fs::exists(cache.PathOf(EntryKind::kBlob, KeyOf("a")))) << "byte " << byte;
  }
  EXPECT_NE(log_.find("made again"), std::string::npos);
}

TEST_F(StoreFiles, EveryCutAndEveryTailIsFoundOut) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "format 1", blob_);
  const Bytes whole = ReadAll<Bytes>(cache.PathOf(EntryKind::kBlob, KeyOf("a")));
  for (size_t size = 0; size < whole.size() + 3; ++size) {
    if (size == whole.size()) continue;
    Bytes other = whole;
    other.resize(size);
    WriteAll(cache.PathOf(EntryKind::kBlob, KeyOf("a")), other);
    EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt) << size << " bytes";
  }
}

TEST_F(StoreFiles, AnEntryUnderAnotherName) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  fs::rename(cache.PathOf(EntryKind::kBlob, KeyOf("a")), cache.PathOf(EntryKind::kBlob, KeyOf("b")));
  EXPECT_EQ(Found(cache, KeyOf("b")), std::nullopt);
  EXPECT_NE(log_.find("belongs to key"), std::string::npos) << log_;
}

TEST_F(StoreFiles, AFileThatOthersMayWriteIsNotBelieved) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  fs::permissions(cache.PathOf(EntryKind::kBlob, KeyOf("a")), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt);
  EXPECT_NE(log_.find("users other than you"), std::string::npos) << log_;
}

TEST_F(StoreFiles, ALinkIsNotFollowed) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  fs::rename(cache.PathOf(EntryKind::kBlob, KeyOf("a")), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", cache.PathOf(EntryKind::kBlob, KeyOf("a")));
  EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt);
}

TEST_F(StoreFiles, WhatWasNotUsedForLongestMakesRoom) {
  Store cache = Open(1000);  // five entries of 135 bytes fit beside a sixth, of 400 not
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    cache.Save(EntryKind::kBlob, KeyOf(name), "", blob_);
    const auto age = std::chrono::hours(name[0] == 'a' ? 1 : 10);
    fs::last_write_time(cache.PathOf(EntryKind::kBlob, KeyOf(name)), fs::file_time_type::clock::now() - age);
  }
  ASSERT_TRUE(Found(cache, KeyOf("b")).has_value());  // used just now
  cache.Save(EntryKind::kBlob, KeyOf("large"), "", Bytes(400, 1));
  EXPECT_TRUE(Found(cache, KeyOf("large")).has_value());
  EXPECT_TRUE(Found(cache, KeyOf("a")).has_value());
  EXPECT_TRUE(Found(cache, KeyOf("b")).has_value());
  EXPECT_EQ(int(Found(cache, KeyOf("c")).has_value()) + int(Found(cache, KeyOf("d")).has_value()) +
                int(Found(cache, KeyOf("e")).has_value()),
            1);
}

TEST_F(StoreFiles, MoreThanTheWholeCacheMayBeIsOneWarning) {
  Store cache = Open(500);
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", Bytes(600, 1));
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", Bytes(600, 1));
  EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt);
  EXPECT_EQ(log_.find("exceeds the size limit of the cache"), log_.rfind("exceeds the size limit of the cache"))
      << log_;
  EXPECT_NE(log_, "");
}

TEST_F(StoreFiles, AFolderThatCannotBeMadeIsOneWarning) {
  WriteAll(folder_, Bytes{1});  // a file in its place
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", blob_);
  EXPECT_NE(log_.find("continuing without"), std::string::npos);
  EXPECT_EQ(log_.find("continuing without"), log_.rfind("continuing without")) << log_;
}

TEST_F(StoreFiles, AFolderThatOthersMayWriteIsNotUsedAtAll) {
  Open().Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  Store cache = Open();
  EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt);
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", blob_);
  EXPECT_FALSE(fs::exists(cache.PathOf(EntryKind::kBlob, KeyOf("b"))));
  EXPECT_TRUE(fs::exists(cache.PathOf(EntryKind::kBlob, KeyOf("a")))) << "nothing in it is touched";
  EXPECT_NE(log_.find("users other than you"), std::string::npos) << log_;
  EXPECT_EQ(log_.find("is not used"), log_.rfind("is not used")) << "one warning: " << log_;
}

TEST_F(StoreFiles, AFolderOfAnotherUserIsNotUsedAtAll) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  Open().Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  Store cache = Open();
  EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt);
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", blob_);
  EXPECT_FALSE(fs::exists(cache.PathOf(EntryKind::kBlob, KeyOf("b"))));
  EXPECT_NE(log_.find("belongs to user 12345"), std::string::npos) << log_;
}

TEST_F(StoreFiles, AFolderThatTakesThePlaceOfTheCheckedOneIsNotUsed) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  const fs::path moved = folder_.string() + "-moved";
  fs::rename(folder_, moved);
  fs::create_directory(folder_);
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", blob_);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_TRUE(Found(cache, KeyOf("b")).has_value());
}

TEST_F(StoreFiles, AFolderThatWasRemovedIsMadeAgain) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  fs::remove_all(folder_);
  EXPECT_EQ(Found(cache, KeyOf("a")), std::nullopt);
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", blob_);
  EXPECT_EQ(Found(cache, KeyOf("b")), blob_);
  EXPECT_TRUE(fs::exists(cache.PathOf(EntryKind::kBlob, KeyOf("b"))));
  EXPECT_EQ(log_, "");
}

TEST_F(StoreFiles, AFolderInPlaceOfARemovedOneIsChecked) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  fs::remove_all(folder_);
  fs::create_directory(folder_);
  fs::permissions(folder_, fs::perms::others_write, fs::perm_options::add);
  cache.Save(EntryKind::kBlob, KeyOf("b"), "", blob_);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_NE(log_.find("users other than you"), std::string::npos) << log_;
}

TEST_F(StoreFiles, WhatADeadProcessLeftIsSweptAway) {
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  const fs::path old = folder_ / (std::string(kTemporaryPrefix) + "old"),
                 fresh = folder_ / (std::string(kTemporaryPrefix) + "fresh");
  WriteAll(old, blob_);
  WriteAll(fresh, blob_);
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(3));
  cache.Save(EntryKind::kBlob, KeyOf("d"), "", blob_);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "it may still be written";
}

TEST_F(StoreFiles, GarbageOfAnyLengthIsNoEntry) {
  std::mt19937 random(7);
  Store cache = Open();
  cache.Save(EntryKind::kBlob, KeyOf("a"), "", blob_);
  for (int round = 0; round < 200; ++round) {
    Bytes garbage(random() % 300);
    for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random());
    WriteAll(cache.PathOf(EntryKind::kBlob, KeyOf("a")), garbage);
    ASSERT_EQ(Found(cache, KeyOf("a")), std::nullopt) << "round " << round << " of seed 7";
  }
}

}  // namespace
}  // namespace deputy::host
