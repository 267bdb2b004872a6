// The scan over folders with real plugins. What becomes of each plugin that is wrong stands in
// fixtures_verdict_test.cpp.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "plugin/discovery/registry.hpp"
#include "unit/plugin/support.hpp"

namespace deputy::host {
namespace {

using testing::EntryOf;
using testing::PatientScan;
using testing::TempFolder;

// Seed row 6.
TEST(Scan, GoodPluginIsDescribed) {
  const TempFolder folder;
  folder.Add("good");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  const PluginEntry& entry = EntryOf(registry, "good.so");
  ASSERT_TRUE(entry.accepted) << entry.text;
  EXPECT_EQ(entry.description->vendor, "Deputy's tests");
  const DelegateDescription& delegate = entry.description->delegates.at(0);
  EXPECT_TRUE(delegate.available) << "the environment of its manifest was not set: " << delegate.unavailable;
  EXPECT_EQ(delegate.extensions, std::vector<std::string>{"deputy.options/1"});
  ASSERT_EQ(delegate.options.size(), 3u);
  EXPECT_EQ(delegate.options[1].choices, (std::vector<std::string>{"exact", "fast"}));
}

TEST(Scan, R116_FloodOfOutputDoesNotBlock) {
  const TempFolder folder;
  folder.Add("prints_a_lot");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_TRUE(EntryOf(registry, "prints_a_lot.so").accepted) << EntryOf(registry, "prints_a_lot.so").text;
}

// Seed row 2.
TEST(Scan, MissingDeviceIsReportedAndThePluginStays) {
  const TempFolder folder;
  folder.Add("unavailable");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  const PluginEntry& entry = EntryOf(registry, "unavailable.so");
  ASSERT_TRUE(entry.accepted) << entry.text;
  EXPECT_FALSE(entry.description->delegates.at(0).available);
  EXPECT_EQ(entry.description->delegates.at(0).unavailable, "no device");
}

TEST(Scan, HelperLibraryIsListedAsNoPlugin) {
  const TempFolder folder;
  folder.Add("helper");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_EQ(EntryOf(registry, "helper.so").reason, RejectReason::kNotAPlugin);
}

TEST(Scan, R69_ThingsThatAreNoFilesAreNamed) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path() / "directory.so");
  ASSERT_EQ(mkfifo((folder.path() / "pipe.so").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", folder.path() / "dangling.so");
  std::filesystem::create_symlink("loop.so", folder.path() / "loop.so");
  WriteAll(folder.path() / "empty.so", {});
  WriteAll(folder.path() / "text.so", {'t', 'e', 'x', 't'});
  folder.Add("good");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_EQ(EntryOf(registry, "directory.so").text, "is a directory");
  EXPECT_EQ(EntryOf(registry, "pipe.so").text, "is a pipe");
  EXPECT_EQ(EntryOf(registry, "dangling.so").reason, RejectReason::kMissing);
  EXPECT_EQ(EntryOf(registry, "loop.so").reason, RejectReason::kUnreadable);
  EXPECT_EQ(EntryOf(registry, "empty.so").reason, RejectReason::kNotElf);
  EXPECT_EQ(EntryOf(registry, "text.so").reason, RejectReason::kNotElf);
  EXPECT_TRUE(EntryOf(registry, "good.so").accepted);
}

TEST(Scan, R70_TruncatedPluginsAreRefusedAndTheGoodOneIsFound) {
  const TempFolder folder;
  const std::vector<uint8_t> whole = testing::ReadBytes(testing::FixturePath("good"));
  for (int piece = 1; piece < 8; ++piece)
    WriteAll(folder.path() / ("cut" + std::to_string(piece) + ".so"),
             {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(whole.size()) * piece / 8});
  folder.Add("good");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  for (int piece = 1; piece < 8; ++piece)
    EXPECT_EQ(NameOf(EntryOf(registry, "cut" + std::to_string(piece) + ".so").reason), "truncated");
  EXPECT_TRUE(EntryOf(registry, "good.so").accepted);
}

TEST(Scan, FilesComeInOrderOfNameAndOnlyLibraries) {
  const TempFolder folder;
  folder.Add("helper", "c");
  folder.Add("helper", "a");
  WriteAll(folder.path() / "b.txt", {'x'});
  WriteAll(folder.path() / "b.so", {'x'});
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  std::vector<std::string> names;
  for (const PluginEntry* entry : registry.entries()) names.push_back(entry->path.filename());
  EXPECT_EQ(names, (std::vector<std::string>{"a.so", "b.so", "c.so"}));
}

TEST(Scan, MissingFolderIsAnEntryAndNoFailure) {
  const TempFolder folder;
  folder.Add("good");
  ScanOptions options = PatientScan(folder.path());
  options.paths.insert(options.paths.begin(), folder.path() / "missing");
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_EQ(EntryOf(registry, "missing").reason, RejectReason::kMissing);
  EXPECT_TRUE(EntryOf(registry, "good.so").accepted);
}

TEST(Scan, R80_LinkToTheSameFileIsReportedOnce) {
  const TempFolder folder;
  folder.Add("good", "a");
  std::filesystem::create_symlink("a.so", folder.path() / "b.so");
  std::filesystem::create_hard_link(folder.path() / "a.so", folder.path() / "c.so");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_TRUE(EntryOf(registry, "a.so").accepted);
  EXPECT_EQ(EntryOf(registry, "b.so").reason, RejectReason::kDuplicate);
  EXPECT_EQ(EntryOf(registry, "c.so").reason, RejectReason::kDuplicate);
}

TEST(Scan, R80_SecondPluginWithTheSameIdIsRefused) {
  const TempFolder first, second;
  first.Add("duplicate");
  second.Add("good");
  ScanOptions options = PatientScan(first.path());
  options.paths.push_back(second.path());
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_TRUE(EntryOf(registry, "duplicate.so").accepted);
  EXPECT_EQ(EntryOf(registry, "good.so").reason, RejectReason::kDuplicate);
}

TEST(Scan, R80_SecondPluginWithTheSameDelegateIsNoted) {
  const TempFolder folder;
  folder.Add("good");
  folder.Add("rival");
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  EXPECT_EQ(registry.ProviderOf("good")->path.filename(), "good.so");
  EXPECT_TRUE(EntryOf(registry, "rival.so").accepted);
  ASSERT_EQ(EntryOf(registry, "rival.so").notes.size(), 1u);
  EXPECT_NE(EntryOf(registry, "rival.so").notes[0].find("delegate 'good' comes from"), std::string::npos);
}

TEST(Scan, R92_MissingWorkerRefusesAndNeverLoadsHere) {
  const TempFolder folder;
  folder.Add("crash_in_constructor");
  ScanOptions options = PatientScan(folder.path());
  options.worker = folder.path() / "no-such-worker";
  PluginRegistry registry;
  registry.Scan(options);
  const PluginEntry& entry = EntryOf(registry, "crash_in_constructor.so");
  EXPECT_EQ(entry.reason, RejectReason::kNoWorker);
  EXPECT_NE(entry.text.find("no-such-worker"), std::string::npos) << entry.text;
}

TEST(Scan, R92_WorkerThatCannotBeRunRefuses) {
  const TempFolder folder;
  folder.Add("good");
  WriteAll(folder.path() / "worker", {'x'});
  ScanOptions options = PatientScan(folder.path());
  options.worker = folder.path() / "worker";
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_EQ(EntryOf(registry, "good.so").reason, RejectReason::kNoWorker);
}

TEST(Scan, R92_OtherProgramInPlaceOfTheWorkerIsNoAnswer) {
  const TempFolder folder;
  folder.Add("good");
  ScanOptions options = PatientScan(folder.path());
  options.worker = "/bin/true";
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_EQ(EntryOf(registry, "good.so").reason, RejectReason::kProbeExited);
}

TEST(Scan, R128_ApplicationThatIgnoresItsChildrenIsTolerated) {
  const TempFolder folder;
  folder.Add("good");
  folder.Add("exit_in_constructor");
  const auto before = signal(SIGCHLD, SIG_IGN);
  PluginRegistry registry;
  registry.Scan(PatientScan(folder.path()));
  signal(SIGCHLD, before);
  EXPECT_TRUE(EntryOf(registry, "good.so").accepted) << EntryOf(registry, "good.so").text;
  // Nothing tells how the process ended, so that it counts as ended by others.
  EXPECT_EQ(EntryOf(registry, "exit_in_constructor.so").reason, RejectReason::kProbeKilled);
}

TEST(Scan, ProbesLeaveNoChildrenAndNoDescriptors) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const TempFolder folder;
  folder.Add("good");
  folder.Add("crash_in_constructor");
  const auto before = descriptors();
  for (int round = 0; round < 3; ++round) PluginRegistry().Scan(PatientScan(folder.path()));
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Scan, WithoutProbingTheManifestDecides) {
  const TempFolder folder;
  folder.Add("good");
  ScanOptions options = PatientScan(folder.path());
  options.probe = false;
  PluginRegistry registry;
  registry.Scan(options);
  EXPECT_TRUE(EntryOf(registry, "good.so").accepted);
  EXPECT_EQ(registry.delegate_ids(), std::vector<std::string>{"good"});
  EXPECT_FALSE(EntryOf(registry, "good.so").description);
}

}  // namespace
}  // namespace deputy::host
