// Files and folders: what is read, in which order, and what is refused.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/config/load.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;
using testing::NamesOf;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / ("deputy_" + std::string(test->name()) + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path Write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  static Result<Config> LoadFile(const fs::path& path) {
    ConfigLoader loader;
    loader.AddFile(path);
    return loader.Finish();
  }

  fs::path folder_;
};

// Seed row 63.
TEST_F(FilesTest, FileIsReadWithItsPathInTheOrigins) {
  const fs::path path = Write("a.yaml", "version: 1\nfallback: none\n");
  const Result<Config> config = LoadFile(path);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->fallback.origin.ToString(), path.string() + ":2:11");
}

TEST_F(FilesTest, R67_MissingFileIsRefused) {
  const fs::path path = folder_ / "absent.yaml";
  const Result<Config> config = LoadFile(path);
  EXPECT_EQ(config.status().ToString(), path.string() + ": cannot open: No such file or directory");
  EXPECT_EQ(config.status().code(), StatusCode::kConfig);
}

TEST_F(FilesTest, R67_FolderIsRefused) {
  EXPECT_EQ(LoadFile(folder_).status().ToString(), folder_.string() + ": is a directory, not a file");
}

TEST_F(FilesTest, R67_PipeIsRefusedWithoutWaitingForAWriter) {
  const fs::path path = folder_ / "pipe.yaml";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(LoadFile(path).status().ToString(), path.string() + ": is a pipe, not a file");
}

TEST_F(FilesTest, R67_DeviceIsRefused) {
  EXPECT_EQ(LoadFile("/dev/zero").status().ToString(), "/dev/zero: is a device, not a file");
}

TEST_F(FilesTest, R67_FileWithoutPermissionIsRefused) {
  const fs::path path = Write("secret.yaml", "version: 1\n");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  // The superuser may read anything: be someone else for the moment.
  const bool root = geteuid() == 0;
  if (root) {
    ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  const Result<Config> config = LoadFile(path);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ(config.status().ToString(), path.string() + ": cannot open: Permission denied");
}

TEST_F(FilesTest, R67_LoopOfLinksIsRefused) {
  const fs::path path = folder_ / "loop.yaml";
  fs::create_symlink(path, path);
  EXPECT_EQ(LoadFile(path).status().ToString(), path.string() + ": cannot open: Too many levels of symbolic links");
}

TEST_F(FilesTest, R57_FileOver256KibIsRefusedUnread) {
  const fs::path path = Write("large.yaml", "");
  fs::resize_file(path, 100 * 1024 * 1024);
  EXPECT_EQ(LoadFile(path).status().ToString(), path.string() + ": is 104857600 bytes, more than the limit of 262144");
}

TEST_F(FilesTest, FileNameWithControlCharactersIsEscapedInMessages) {
  const fs::path path = Write("a\x1b[1m\n.yaml", "version: 1\nx: 1\n");
  const std::string text = LoadFile(path).status().ToString();
  EXPECT_TRUE(testing::Contains(text, "a\\x1b[1m\\x0a.yaml:2:1: unknown key 'x'")) << text;
}

TEST_F(FilesTest, R66_RelativePathsAreRelativeToTheirFile) {
  const fs::path path = Write("etc/a.yaml",
                              "version: 1\n"
                              "plugins: {paths: [./plugins, ../lib/x, /abs/./y, $deputy/plugins, $deputy]}\n"
                              "cache: {dir: cache}\n");
  const Result<Config> config = LoadFile(path);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const auto& paths = config->plugins.paths;
  ASSERT_EQ(paths.size(), 5u);
  EXPECT_EQ(*paths[0], (folder_ / "etc/plugins").string());
  EXPECT_EQ(*paths[1], (folder_ / "lib/x").string());
  EXPECT_EQ(*paths[2], "/abs/y");
  EXPECT_EQ(*paths[3], "$deputy/plugins");
  EXPECT_EQ(*paths[4], "$deputy");
  EXPECT_EQ(*config->cache.dir, (folder_ / "etc/cache").string());
}

TEST_F(FilesTest, R66_TwoDotsBehindALinkAreLeftToTheSystem) {
  fs::create_directories(folder_ / "elsewhere" / "deep");
  fs::create_directories(folder_ / "etc" / "folder");
  fs::create_symlink(folder_ / "elsewhere" / "deep", folder_ / "etc" / "link");
  const fs::path path =
      Write("etc/a.yaml",
            "version: 1\n"
            "plugins: {paths: [link/../plugins, link/../../a, folder/../b, absent/./../c, ../../../x]}\n");
  const Result<Config> config = LoadFile(path);
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const auto& paths = config->plugins.paths;
  EXPECT_EQ(*paths[0], (folder_ / "etc/link/../plugins").string());
  EXPECT_EQ(*paths[1], (folder_ / "etc/link/../../a").string());
  EXPECT_EQ(*paths[2], (folder_ / "etc/b").string());
  EXPECT_EQ(*paths[3], (folder_ / "etc/c").string());
  EXPECT_EQ(*paths[4], (folder_.parent_path().parent_path() / "x").string());
}

TEST_F(FilesTest, R66_PathsOfEachLayerKeepTheirOwnBase) {
  ConfigLoader loader;
  loader.AddFile(Write("one/a.yaml", "version: 1\nplugins: {paths: [p]}\n"));
  loader.AddFile(Write("two/b.yaml", "version: 1\ncache: {dir: c}\n"));
  loader.AddSetting("delegates=[]");
  const Result<Config> config = loader.Finish();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(*config->plugins.paths[0], (folder_ / "one/p").string());
  EXPECT_EQ(*config->cache.dir, (folder_ / "two/c").string());
}

TEST_F(FilesTest, RelativePathBehindASettingIsRelativeToTheWorkingDirectory) {
  EXPECT_EQ(*testing::Good("version: 1\n", {"cache.dir=here"}).cache.dir, (fs::current_path() / "here").string());
}

TEST_F(FilesTest, R66_OtherVariablesAreNotExpanded) {
  constexpr const char* kMessage = "must be a folder, or one under $deputy, not ";
  constexpr const char* kReason = ": only $deputy is expanded; write ./ before a name that begins so";
  const auto problem = [](const std::string& path) {
    return testing::ProblemsOf("version: 1\nplugins: {paths: [" + path + "]}\n");
  };
  for (const std::string path : {"$HOME/plugins", "$deputyx", "~/plugins"})
    EXPECT_EQ(problem(path), "t.yaml:2:19: 'paths' " + (kMessage + ("'" + path + "'")) + kReason);
  EXPECT_EQ(problem("\"\""), "t.yaml:2:19: 'paths' " + (kMessage + std::string("'' in quotes")));
}

TEST_F(FilesTest, DropInsMergeInTheOrderOfTheirNames) {
  Write("conf.d/20-b.yaml", "version: 1\ndelegates: [{name: b, device: 2}]\nfallback: none\n");
  Write("conf.d/10-a.yaml", "version: 1\ndelegates: [{name: a}, {name: b, device: 1}]\n");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("config.yaml", "version: 1\ndelegates: [{name: main}]\nfallback: cpu\n"));
  const Result<Config> config = loader.Finish();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(NamesOf(*config), (std::vector<std::string>{"main", "a", "b"}));
  EXPECT_EQ(*config->delegates[2].device, "2");
  EXPECT_EQ(*config->fallback, Fallback::kDisabled);
  ASSERT_EQ(loader.files().size(), 3u);
  EXPECT_EQ(loader.files()[1], folder_ / "conf.d/10-a.yaml");
}

TEST_F(FilesTest, DropInsBesideTwoFilesAreReadOnce) {
  Write("conf.d/10-a.yaml", "version: 1\nfallback: none\n");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("one.yaml", "version: 1\n"));
  loader.AddFileWithDropIns(Write("two.yaml", "version: 1\nfallback: cpu\n"));
  ASSERT_EQ(loader.files().size(), 3u);
  EXPECT_EQ(loader.files()[1], folder_ / "conf.d/10-a.yaml");
  const Result<Config> config = loader.Finish();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->fallback.origin.source, (folder_ / "two.yaml").string());
}

TEST_F(FilesTest, DropInsOfPackagesAreReadAmongThoseOfTheSystemByName) {
  Write("share/10-a.yaml", "version: 1\ndelegates: [{name: a}]\n");
  Write("share/30-c.yaml", "version: 1\ndelegates: [{name: c}]\n");
  Write("etc/conf.d/20-b.yaml", "version: 1\ndelegates: [{name: a, enabled: false}, {name: b}]\n");
  const fs::path path = Write("etc/deputy.yaml", "version: 1\ndelegates: [{name: main}]\n");
  for (const bool is_named : {false, true}) {
    ConfigLoader loader;
    if (is_named) {
      loader.AddFileWithDropIns(path, {}, {folder_ / "share", {}});
    } else {
      loader.AddInstalled(path, {folder_ / "share", {}});
    }
    const Result<Config> config = loader.Finish();
    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(NamesOf(*config), (std::vector<std::string>{"main", "a", "b", "c"}));
    EXPECT_FALSE(*config->delegates[1].enabled);
  }
}

TEST_F(FilesTest, DropInOfTheSystemReplacesThatOfAPackage) {
  Write("share/a.yaml", "version: 1\ndelegates: [{name: a}]\nfallback: none\n");
  Write("share/b.yaml", "version: 1\ndelegates: [{name: b}]\n");
  Write("etc/conf.d/a.yaml", "version: 1\n");
  ConfigLoader loader;
  loader.AddInstalled(folder_ / "etc/deputy.yaml", {folder_ / "share", {}});  // which does not exist
  const Result<Config> config = loader.Finish();
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(NamesOf(*config), (std::vector<std::string>{"b"}));
  EXPECT_EQ(*config->fallback, Fallback::kCpu);
}

TEST_F(FilesTest, R161_DropInsOfPackagesThatOthersMayChangeAreRefused) {
  const fs::path path = Write("share/a.yaml", "version: 1\n");
  for (const fs::path& open : {path, path.parent_path()}) {
    fs::permissions(open, fs::perms::others_write, fs::perm_options::add);
    ConfigLoader loader;
    loader.AddInstalled(folder_ / "etc/deputy.yaml", {folder_ / "share", {}});
    const Result<Config> config = loader.Finish();
    fs::permissions(open, fs::perms::others_write, fs::perm_options::remove);
    ASSERT_FALSE(config.ok());
    EXPECT_TRUE(testing::Contains(config.status().ToString(), "is not trusted: ")) << config.status().ToString();
  }
}

TEST_F(FilesTest, DropInThatComesSwitchedOffHasNoPlaceToNote) {
  ConfigLoader loader;
  Write("conf.d/a.yaml", "version: 1\ndelegates: [{name: on}, {name: off, enabled: false}]\n");
  loader.AddFileWithDropIns(Write("config.yaml", "version: 1\ndelegates: [{name: main}]\n"));
  ASSERT_TRUE(loader.Finish().ok());
  ASSERT_EQ(loader.notes().size(), 1u);
  EXPECT_TRUE(testing::Contains(loader.notes()[0].message, "'on' has no 'before'")) << loader.notes()[0].message;
}

TEST_F(FilesTest, EachFolderOfDropInsThatCannotBeOpenedIsReported) {
  ConfigLoader loader;
  for (const char* name : {"one", "two"}) {
    const fs::path file = Write(std::string(name) + "/config.yaml", "version: 1\n");
    fs::create_symlink("conf.d", file.parent_path() / "conf.d");
    loader.AddFileWithDropIns(file);
  }
  const std::string said = loader.Finish().status().ToString();
  for (const char* name : {"one", "two"})
    EXPECT_NE(said.find((folder_ / name / "conf.d").string() + ": cannot open: Too many levels of symbolic links"),
              std::string::npos)
        << said;
}

TEST_F(FilesTest, FileWithoutDropInsIgnoresThem) {
  Write("conf.d/a.yaml", "version: 1\nfallback: none\n");
  EXPECT_EQ(*LoadFile(Write("config.yaml", "version: 1\n"))->fallback, Fallback::kCpu);
}

TEST_F(FilesTest, FileOnTopGoesOverDropIns) {
  Write("sys/conf.d/a.yaml", "version: 1\nfallback: none\n");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("sys/config.yaml", "version: 1\n"));
  loader.AddFile(Write("mine.yaml", "version: 1\nfallback: cpu\n"));
  EXPECT_EQ(*loader.Finish()->fallback, Fallback::kCpu);
}

TEST_F(FilesTest, OnlyYamlFilesAreDropIns) {
  Write("conf.d/README", "hello");
  Write("conf.d/.hidden.yaml", "bad: [");
  Write("conf.d/a.yaml~", "bad: [");
  Write("conf.d/b.yml", "bad: [");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("config.yaml", "version: 1\n"));
  ASSERT_TRUE(loader.Finish().ok());
  ASSERT_EQ(loader.warnings().size(), 1u);
  EXPECT_EQ(loader.warnings()[0].ToString(),
            (folder_ / "conf.d/b.yml").string() + ": is not read: its name does not end in .yaml");
}

TEST_F(FilesTest, ProblemsOfDropInsCarryTheirFile) {
  const fs::path path = Write("conf.d/a.yaml", "version: 1\nfallback: x\n");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("config.yaml", "version: 1\n"));
  EXPECT_EQ(loader.Finish().status().ToString(), path.string() + ":2:11: 'fallback' must be one of cpu, none, not 'x'");
}

TEST_F(FilesTest, R67_DropInThatIsAFolderIsRefused) {
  fs::create_directories(folder_ / "conf.d/a.yaml");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("config.yaml", "version: 1\n"));
  EXPECT_EQ(loader.Finish().status().ToString(), (folder_ / "conf.d/a.yaml").string() + ": is a directory, not a file");
}

TEST_F(FilesTest, DropInFolderThatIsAFileIsRefused) {
  const fs::path path = Write("conf.d", "");
  ConfigLoader loader;
  loader.AddFileWithDropIns(Write("config.yaml", "version: 1\n"));
  EXPECT_EQ(loader.Finish().status().ToString(), path.string() + ": is not a folder");
}

}  // namespace
}  // namespace deputy::host
