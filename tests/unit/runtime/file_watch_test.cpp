// Watches of files whose folders come later, and of places that become others.
#include "runtime/file_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/temp_folder.hpp"
#include "support/waiting.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public testing::Test {
 protected:
  void Start(std::vector<fs::path> places) {
    SetPlaces(std::move(places));
    Result<std::unique_ptr<FileWatch>> started = FileWatch::Start(
        [this] {
          ++asked_;
          const std::lock_guard lock(mutex_);
          return places_;
        },
        [this] { ++changes_; });
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    watch_ = std::move(started).value();
  }
  void SetPlaces(std::vector<fs::path> places) {
    const std::lock_guard lock(mutex_);
    places_ = std::move(places);
  }
  // Does it, and waits until the watch renews its places for this.
  template <class Act>
  void Renewed(Act&& act) {
    const int before = asked_;
    act();
    EXPECT_TRUE(Eventually([&] { return asked_ > before; }, kLimit));
  }
  // Twice: the end of what the watch does for the first is before the second.
  void AskTwice() {
    for (int i = 0; i < 2; ++i) Renewed([&] { watch_->AskForPlaces(); });
  }
  void MakeFolder(const std::string& name) {
    Renewed([&] { fs::create_directory(Path(name)); });
  }
  bool HasChanged(int times) const {
    return Eventually([&] { return changes_ >= times; }, kLimit);
  }
  fs::path Path(const std::string& name) const { return folder_.path() / name; }
  void Write(const std::string& name, const std::string& text = "text") const { WriteAll(Path(name), text); }

  static constexpr std::chrono::seconds kLimit{20};
  const TempFolder folder_;
  std::mutex mutex_;
  std::vector<fs::path> places_;
  std::atomic<int> asked_{0}, changes_{0};
  std::unique_ptr<FileWatch> watch_;  // ends first
};

TEST_F(FileWatchTest, AFileThatComesLongAfterItsFolderIsAChange) {
  Start({Path("conf.d")});
  MakeFolder("conf.d");
  EXPECT_EQ(changes_, 0) << "an empty folder has no files";
  Write("conf.d/one.yaml");
  EXPECT_TRUE(HasChanged(1));
}

TEST_F(FileWatchTest, AFileBelowFoldersThatComeOneAfterTheOtherIsAChange) {
  Start({Path("one/two/a.yaml")});
  MakeFolder("one");
  MakeFolder("one/two");
  EXPECT_EQ(changes_, 0);
  Write("one/two/a.yaml");
  EXPECT_TRUE(HasChanged(1));
}

TEST_F(FileWatchTest, AFolderThatComesAgainIsWatchedAgain) {
  fs::create_directory(Path("conf.d"));
  Start({Path("conf.d")});
  Renewed([&] { fs::remove(Path("conf.d")); });
  MakeFolder("conf.d");
  EXPECT_EQ(changes_, 0);
  Write("conf.d/one.yaml");
  EXPECT_TRUE(HasChanged(1));
}

TEST_F(FileWatchTest, OtherPlacesAreAChangeAndTheSameAreNone) {
  Write("a.yaml");
  Write("b.yaml");
  Start({Path("a.yaml")});
  AskTwice();
  EXPECT_EQ(changes_, 0);
  SetPlaces({Path("b.yaml")});
  watch_->AskForPlaces();
  EXPECT_TRUE(HasChanged(1)) << "the new file may have changed since it was read";
  AskTwice();
  EXPECT_EQ(changes_, 1);
  Write("b.yaml", "another text");
  EXPECT_TRUE(HasChanged(2));
}

TEST_F(FileWatchTest, PlacesAreAskedForDuringABurstOfOtherFiles) {
  const TempFolder other;
  Start({Path("a.yaml")});
  int written = 0;
  EXPECT_TRUE(Eventually(
      [&] {
        Write("unrelated");
        if (++written == 20) {
          SetPlaces({other.path() / "b.yaml"});
          watch_->AskForPlaces();
        }
        return changes_ != 0;
      },
      kLimit));
  AskTwice();
  EXPECT_EQ(changes_, 1);
  WriteAll(other.path() / "b.yaml", std::string("text"));
  EXPECT_TRUE(HasChanged(2));
}

}  // namespace
}  // namespace deputy::host
