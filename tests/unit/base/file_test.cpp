#include "base/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/memory_file.hpp"
#include "support/resident_memory.hpp"

namespace deputy::host {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() : folder_(std::filesystem::temp_directory_path() / ("deputy_file_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(FileTest, AMissingFileIsNotFound) {
  const auto file = MappedFile::Open(folder_ / "absent");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(file.status().where(), (folder_ / "absent").string());
}

TEST_F(FileTest, ADirectoryIsRefusedByItsKind) {
  const auto file = MappedFile::Open(folder_);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(), "is a directory, not a file");
}

TEST_F(FileTest, APipeIsRefusedWithoutWaitingForAWriter) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const auto file = ReadTextFile(folder_ / "pipe", 100);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().message(), "is a pipe, not a file");
}

TEST_F(FileTest, DroppedPagesComeBackFromTheFile) {
  const std::string text(3 * 4096 + 17, 'x');
  std::ofstream(folder_ / "long") << text;
  const auto file = MappedFile::Open(folder_ / "long");
  ASSERT_TRUE(file.ok());
  const auto read = [&] { return std::string((*file)->bytes().begin(), (*file)->bytes().end()); };
  ASSERT_EQ(read(), text);
  EXPECT_NE(ResidentBytes((*file)->bytes()), 0u);
  (*file)->DropPages();
  // A page that is only begun stays.
  EXPECT_LE(ResidentBytes((*file)->bytes()), 4096u);
  EXPECT_EQ(read(), text);
}

TEST_F(FileTest, R21_ACopyDoesNotChangeWithItsFile) {
  const std::string text(3 * 4096 + 17, 'x');
  for (const size_t left : {text.size(), size_t{0}}) {
    std::ofstream(folder_ / "long") << text;
    const auto file = MappedFile::Open(folder_ / "long", FileAccess::kCopied);
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    std::ofstream(folder_ / "long") << std::string(left, 'y');
    const auto read = [&] { return std::string((*file)->bytes().begin(), (*file)->bytes().end()); };
    EXPECT_EQ(read(), text);
    (*file)->DropPages();
    EXPECT_EQ(read(), text);
    char byte = 'z';
    EXPECT_EQ(pwrite((*file)->descriptor(), &byte, 1, 0), -1) << "nothing changes the copy";
    EXPECT_EQ(pread((*file)->descriptor(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'x');
  }
}

TEST_F(FileTest, AFileThatEndsWhileItIsCopiedIsRefused) {
  std::ofstream(folder_ / "short") << "text";
  const Descriptor file(open((folder_ / "short").c_str(), O_RDONLY | O_CLOEXEC));
  const auto copy = SealedCopy(file.get(), 5);
  ASSERT_FALSE(copy.ok());
  EXPECT_EQ(copy.status().message(), "ends after 4 of 5 bytes");
}

TEST_F(FileTest, AnEmptyFileHasNoBytes) {
  std::ofstream(folder_ / "empty").close();
  for (const FileAccess access : {FileAccess::kMapped, FileAccess::kCopied}) {
    const auto file = MappedFile::Open(folder_ / "empty", access);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE((*file)->bytes().empty());
  }
}

TEST_F(FileTest, AFileOverTheLimitIsRefused) {
  std::ofstream(folder_ / "long") << std::string(101, 'x');
  EXPECT_EQ(ReadTextFile(folder_ / "long", 100).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace deputy::host
