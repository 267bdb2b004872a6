// The file of an entry: every byte of it is checked, and it is what its name says.
#include "store/entry_file.hpp"

#include <cstring>
#include <random>

#include "unit/store/store_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

using FileBytes = std::vector<uint8_t>;

constexpr size_t kVersionAt = 8, kKindAt = 12, kSizeAt = 24, kKeyAt = 32, kChecksumAt = 64;

class EntryFile : public StoreFolder {
 protected:
  EntryFile() {
    Save("a", "format 1", bytes_);
    whole_ = ReadAll<FileBytes>(PathOf("a"));
  }
  // Puts a file in place of the entry, with the checksum that it must have.
  void Write(FileBytes file) const {
    std::memset(file.data() + kChecksumAt, 0, sizeof(Digest));
    const Digest checksum = Digester().Add(file).Finish();
    std::memcpy(file.data() + kChecksumAt, checksum.data(), checksum.size());
    WriteAll(PathOf("a"), file);
  }

  FileBytes whole_;
};

TEST_F(EntryFile, NamesAreParsedStrictly) {
  for (const EntryKind kind : kEntryKinds)
    EXPECT_EQ(ParseEntryFileName(EntryFileName(kind, KeyOf("a"))), std::pair(kind, KeyOf("a")));
  const std::string key = HexText(KeyOf("a"));
  for (const std::string& name : {std::string(), std::string("x.blob"), key, key + ".", key + ".blobs", key + "blob",
                                  key.substr(1) + ".blob", "0" + key + ".blob", "G" + key.substr(1) + ".blob"})
    EXPECT_EQ(ParseEntryFileName(name), std::nullopt) << name;
}

TEST_F(EntryFile, TheLayoutIsThatOfTheDocument) {
  EXPECT_EQ(std::string(whole_.begin(), whole_.begin() + kVersionAt), "DPTYSTOR");
  EXPECT_EQ(whole_[kVersionAt], 1u);
  EXPECT_EQ(whole_[kKindAt], 0u);
  EXPECT_EQ(whole_[16], std::strlen("format 1"));
  EXPECT_EQ(whole_[kSizeAt], bytes_.size());
  EXPECT_EQ(std::memcmp(whole_.data() + kKeyAt, KeyOf("a").data(), sizeof(Digest)), 0);
  EXPECT_EQ(std::string(whole_.begin() + 96, whole_.begin() + 104), "format 1");
  EXPECT_EQ(FileBytes(whole_.begin() + 128, whole_.end()), bytes_);
  Write(whole_);
  EXPECT_EQ(ReadAll<FileBytes>(PathOf("a")), whole_) << "the checksum is that of the document";
}

TEST_F(EntryFile, EveryFlippedBitOfASmallEntryIsDetected) {
  for (size_t bit = 0; bit < 8 * whole_.size(); ++bit) {
    FileBytes damaged = whole_;
    damaged[bit / 8] ^= uint8_t(1u << bit % 8);
    WriteAll(PathOf("a"), damaged);
    EXPECT_EQ(Found("a"), std::nullopt) << "bit " << bit;
    EXPECT_FALSE(fs::exists(PathOf("a"))) << "bit " << bit;
  }
  EXPECT_NE(log_.find("made again"), std::string::npos);
}

// 1,000 of the bits of entries of all kinds and of sizes from none to 100 kB.
TEST_F(EntryFile, AThousandFlippedBitsAreDetected) {
  constexpr unsigned kSeed = 20'261'122;
  std::mt19937 random(kSeed);
  struct Kept {
    EntryKind kind;
    std::string key, text;
    FileBytes bytes, file;
  };
  std::vector<Kept> kept;
  Store store = Open();
  for (const EntryKind kind : kEntryKinds) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{700}, size_t{100'000} >> static_cast<unsigned>(kind)}) {
      Kept entry{kind, std::to_string(kept.size()), std::string(random() % 200, 't'), FileBytes(size), {}};
      for (uint8_t& byte : entry.bytes) byte = static_cast<uint8_t>(random());
      store.Save(kind, KeyOf(entry.key), entry.text, entry.bytes);
      entry.file = ReadAll<FileBytes>(PathOf(entry.key, kind));
      kept.push_back(std::move(entry));
    }
  }
  for (int round = 0; round < 1000; ++round) {
    const Kept& entry = kept[random() % kept.size()];
    const size_t bit = random() % (8 * entry.file.size());
    FileBytes damaged = entry.file;
    damaged[bit / 8] ^= uint8_t(1u << bit % 8);
    WriteAll(PathOf(entry.key, entry.kind), damaged);
    const std::string where = "bit " + std::to_string(bit) + " of a " + std::string(NameOf(entry.kind)) + " of " +
                              std::to_string(damaged.size()) + " bytes, round " + std::to_string(round) + " of seed " +
                              std::to_string(kSeed);
    size_t reported = 0;
    const Result<std::vector<EntryInfo>> listed = store.List(true);
    for (const EntryInfo& info : *listed) reported += info.state != EntryState::kIntact;
    ASSERT_EQ(reported, 1u) << where;
    ASSERT_EQ(Found(store, entry.key, entry.kind), std::nullopt) << where;
    ASSERT_FALSE(fs::exists(PathOf(entry.key, entry.kind))) << where;
    store.Save(entry.kind, KeyOf(entry.key), entry.text, entry.bytes);
    const std::optional<StoredEntry> found = store.Find(entry.kind, KeyOf(entry.key));
    ASSERT_TRUE(found.has_value()) << where;
    ASSERT_EQ(found->text, entry.text) << where;
    ASSERT_EQ(FileBytes(found->bytes.begin(), found->bytes.end()), entry.bytes) << where;
  }
  EXPECT_EQ(CountInLog("made again"), 1000u);
}

TEST_F(EntryFile, EveryCutAndEveryTailIsDetected) {
  for (size_t size = 0; size < whole_.size() + 3; ++size) {
    if (size == whole_.size()) continue;
    FileBytes other = whole_;
    other.resize(size);
    WriteAll(PathOf("a"), other);
    EXPECT_EQ(Found("a"), std::nullopt) << size << " bytes";
    if (size < 96) continue;
    Write(other);  // also where the checksum fits the file
    EXPECT_EQ(Found("a"), std::nullopt) << size << " bytes";
    EXPECT_FALSE(fs::exists(PathOf("a"))) << size << " bytes";
  }
}

TEST_F(EntryFile, AnEntryUnderAnotherKeyIsDetected) {
  fs::rename(PathOf("a"), PathOf("b"));
  EXPECT_EQ(Found("b"), std::nullopt);
  EXPECT_NE(log_.find("belongs to key " + HexText(KeyOf("a"))), std::string::npos) << log_;
}

TEST_F(EntryFile, AnEntryUnderAnotherKindIsDetected) {
  fs::rename(PathOf("a"), PathOf("a", EntryKind::kVerdict));
  EXPECT_EQ(Found("a", EntryKind::kVerdict), std::nullopt);
  EXPECT_NE(log_.find("has kind 0, expected 1"), std::string::npos) << log_;
}

TEST_F(EntryFile, SizesThatDoNotFitTheFileAreDetected) {
  for (const size_t at : {size_t{16}, kSizeAt}) {
    for (const uint64_t size : {uint64_t{4096}, uint64_t{100}, UINT64_MAX, UINT64_MAX - 95, uint64_t{1} << 63}) {
      FileBytes file = whole_;
      std::memcpy(file.data() + at, &size, sizeof size);
      Write(file);
      EXPECT_EQ((*Open().List(false))[0].state, EntryState::kDamaged) << size << " at " << at;
      EXPECT_EQ(Found("a"), std::nullopt) << size << " at " << at;
      EXPECT_FALSE(fs::exists(PathOf("a"))) << size << " at " << at;
    }
  }
}

TEST_F(EntryFile, AnIntactEntryOfAnotherVersionStaysUntilItIsReplaced) {
  FileBytes file = whole_;
  file[kVersionAt] = 2;
  file.resize(5000, 7);  // only the place of the version and the checksum are known
  Write(file);
  Store store = Open();
  EXPECT_EQ(Found(store, "a"), std::nullopt);
  EXPECT_TRUE(fs::exists(PathOf("a")));
  for (const bool check : {false, true}) {
    const EntryInfo info = (*store.List(check))[0];
    EXPECT_EQ(info.state, EntryState::kOther);
    EXPECT_EQ(info.problem, "has version 2 of the format, expected 1");
  }
  EXPECT_EQ(log_, "") << "nothing is wrong";
  store.Save(EntryKind::kBlob, KeyOf("a"), "format 1", bytes_);
  EXPECT_EQ(Found(store, "a"), bytes_);
}

TEST_F(EntryFile, GarbageOfAnyLengthIsNoEntry) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    FileBytes garbage(random() % 300);
    for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random());
    WriteAll(PathOf("a"), garbage);
    ASSERT_EQ(Found("a"), std::nullopt) << "round " << round << " of seed 7";
  }
}

}  // namespace
}  // namespace deputy::host
