// Archives: the same files give the same bytes, and a changed byte is found. tests/integration/bundle_test.py has
// archives of other writers.
#include "bundle/archive.hpp"

#include <sys/stat.h>

#include "unit/bundle/bundle_folder.hpp"

namespace deputy::host::bundle {
namespace {

namespace fs = std::filesystem;

class ArchiveTest : public BundleFolder {
 protected:
  // "path=text" of each file, or the error.
  static std::string Contents(const fs::path& file) {
    const auto reader = ArchiveReader::Open(file);
    if (!reader.ok()) return reader.status().message();
    std::string all;
    for (;;) {
      const auto entry = (*reader)->Next();
      if (!entry.ok()) return entry.status().message();
      if (!*entry) return all;
      all += (*entry)->path + "=";
      const Status read = (*reader)->Read(**entry, [&](std::span<const uint8_t> piece) {
        all.append(piece.begin(), piece.end());
        return Status();
      });
      if (!read.ok()) return read.message();
      all += "\n";
    }
  }

  fs::path Archive(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) const {
    std::vector<ArchiveFile> list;
    for (const auto& [path, text] : files)
      list.push_back({path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}});
    const Status status = WriteArchive(list, path() / name);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return path() / name;
  }
};

TEST_F(ArchiveTest, FilesAreReadAsTheyWereWritten) {
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(Contents(Archive("a.dpb", {{"b", "1"}, {"d/" + std::string(200, 'n'), ""}, {"a c", large}})),
            "b=1\nd/" + std::string(200, 'n') + "=\na c=" + large + "\n");
}

TEST_F(ArchiveTest, TheSameFilesGiveTheSameBytesUnderAnyUmask) {
  const auto before = ReadAll<std::string>(Archive("a.dpb", {{"a", "1"}, {"b", "2"}}));
  const mode_t mask = umask(0077);
  EXPECT_EQ(ReadAll<std::string>(Archive("b.dpb", {{"a", "1"}, {"b", "2"}})), before);
  umask(mask);
}

TEST_F(ArchiveTest, OneChangedByteAnywhereIsRefused) {
  const fs::path file = Archive("a.dpb", {{"a", "1"}, {"b", std::string(5000, 'x')}});
  const auto good = ReadAll<std::string>(file);
  ASSERT_GT(good.size(), 150u);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1 << i % 8);
    WriteAll(file, bad);
    const auto reader = ArchiveReader::Open(file);
    EXPECT_EQ(reader.status().code(), StatusCode::kInvalidArgument) << "byte " << i;
  }
}

TEST_F(ArchiveTest, AFileOfAnotherLengthIsRefused) {
  const fs::path file = Archive("a.dpb", {{"a", "1"}});
  const auto good = ReadAll<std::string>(file);
  for (size_t size = 0; size < good.size(); ++size) {
    WriteAll(file, good.substr(0, size));
    EXPECT_EQ(ArchiveReader::Open(file).status().code(), StatusCode::kInvalidArgument) << size;
  }
  WriteAll(file, good + '\0');
  EXPECT_EQ(ArchiveReader::Open(file).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ArchiveTest, PathsThatAreNotSafeAreRefused) {
  EXPECT_EQ(Contents(Archive("a.dpb", {{"../x", "1"}})), "the path '../x' leads out of its folder");
  EXPECT_EQ(Contents(Archive("a.dpb", {{"/x", "1"}})), "the path '/x' is absolute");
  EXPECT_EQ(Contents(Archive("a.dpb", {{"a/../../x", "1"}})), "the path 'a/../../x' leads out of its folder");
  EXPECT_EQ(Contents(Archive("a.dpb", {{"x", "1"}, {"x", "2"}})), "the entry 'x' is there twice");
}

TEST_F(ArchiveTest, TooManyFilesAreRefused) {
  std::vector<std::pair<std::string, std::string>> files;
  for (size_t i = 0; i <= kMostFiles; ++i) files.emplace_back(std::to_string(i), "");
  EXPECT_EQ(Contents(Archive("a.dpb", files)), "has more than 1024 files");
}

TEST_F(ArchiveTest, OtherFilesAreNoBundles) {
  EXPECT_EQ(Contents(Write("a.dpb", "")), "is not a bundle");
  EXPECT_EQ(Contents(Write("a.dpb", std::string(1000, 'x'))), "is not a bundle");
  EXPECT_EQ(ArchiveReader::Open(path() / "absent").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(ArchiveReader::Open(path()).ok());
}

}  // namespace
}  // namespace deputy::host::bundle
