// Writers that are killed, and several at once: a reader finds one whole version of an entry, or none.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <random>
#include <set>
#include <thread>

#include "base/file_writer.hpp"
#include "support/killed_process.hpp"
#include "unit/store/store_folder.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

class Processes : public StoreFolder {
 protected:
  // Kills a process that saves "new" at each of its stops in turn; `prepare` makes the store as it was before. Returns
  // the bytes that the entry had afterwards; nothing: there was no entry.
  std::set<std::optional<std::vector<uint8_t>>> KillEverywhere(const std::function<void()>& prepare,
                                                               const std::vector<uint8_t>& saved, uint64_t max_bytes) {
    std::set<std::optional<std::vector<uint8_t>>> found;
    for (size_t stop = 1;; ++stop) {
      fs::remove_all(folder_);
      prepare();
      const bool killed =
          KillAtStop(stop, [&] { Open(max_bytes).Save(EntryKind::kPlacement, KeyOf("a"), "new", saved); });
      const std::optional<StoredEntry> entry = Open().Find(EntryKind::kPlacement, KeyOf("a"));
      found.insert(entry ? std::optional(std::vector<uint8_t>(entry->bytes.begin(), entry->bytes.end()))
                         : std::nullopt);
      if (entry) {
        EXPECT_EQ(entry->text, entry->bytes.size() == saved.size() ? "new" : "old") << "stop " << stop;
      }
      for (const EntryInfo& info : Entries())
        EXPECT_EQ(info.state, EntryState::kIntact) << "stop " << stop << ": " << info.problem;
      if (!killed) {
        EXPECT_EQ(entry->text, "new");
        EXPECT_GT(stop, 20u) << "the writer was killed at its system calls";
        return found;
      }
      Open(max_bytes).Save(EntryKind::kPlacement, KeyOf("a"), "after", bytes_);
      EXPECT_EQ(Open().Find(EntryKind::kPlacement, KeyOf("a"))->text, "after") << "stop " << stop;
      if (HasFailure()) return found;
    }
  }
};

TEST_F(Processes, AWriterKilledAtAnySystemCallLeavesNothingOrTheNewEntry) {
  const std::vector<uint8_t> saved(20'000, 2);
  EXPECT_EQ(KillEverywhere([] {}, saved, 1 << 20),
            (std::set<std::optional<std::vector<uint8_t>>>{std::nullopt, saved}));
  EXPECT_EQ(log_, "");
}

TEST_F(Processes, AWriterKilledAtAnySystemCallLeavesTheOldOrTheNewEntry) {
  const std::vector<uint8_t> old(30'000, 1), saved(20'000, 2);
  const auto prepare = [&] { Open().Save(EntryKind::kPlacement, KeyOf("a"), "old", old); };
  EXPECT_EQ(KillEverywhere(prepare, saved, 1 << 20), (std::set<std::optional<std::vector<uint8_t>>>{old, saved}));
  EXPECT_EQ(log_, "");
}

TEST_F(Processes, AWriterKilledWhileItMakesRoomLeavesTheOldOrTheNewEntry) {
  const std::vector<uint8_t> old(30'000, 1), saved(20'000, 2);
  const auto prepare = [&] {
    Open().Save(EntryKind::kPlacement, KeyOf("a"), "old", old);
    for (const char* key : {"b", "c", "d"}) Save(key, "other", old);
  };
  EXPECT_EQ(KillEverywhere(prepare, saved, 70'000), (std::set<std::optional<std::vector<uint8_t>>>{old, saved}));
  EXPECT_EQ(log_, "");
}

// Saves, finds and removes entries that others use, too. Returns what was wrong.
std::string UseStore(Store& store, const std::string& user) {
  const auto content = [](const std::string& text) {
    std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(text)));
    std::vector<uint8_t> bytes(random() % 20'000);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  };
  std::mt19937 random(static_cast<unsigned>(user[0]));
  bool met = false;  // an entry of another user
  for (int round = 0; round < 600 || (!met && round < 100'000); ++round) {
    const EntryKind kind = kEntryKinds[random() % 3];
    const std::string key = std::to_string(random() % 3);
    const std::string identity = key + "." + std::string(NameOf(kind)) + " of ";
    switch (random() % 16) {
      case 0:
        if (!store.Remove(kind, KeyOf(key)).ok()) return "an entry cannot be removed";
        break;
      case 1:
        if (!store.List(true).ok()) return "the folder cannot be listed";
        break;
      case 2:
      case 3:
      case 4:
      case 5:
      case 6: {
        const std::string text = identity + user + std::to_string(round);
        store.Save(kind, KeyOf(key), text, content(text));
        break;
      }
      default: {
        const std::optional<StoredEntry> found = store.Find(kind, KeyOf(key));
        if (!found) break;
        if (!found->text.starts_with(identity)) return identity + user + " was found as " + found->text;
        const std::vector<uint8_t> expected = content(found->text);
        if (!std::equal(found->bytes.begin(), found->bytes.end(), expected.begin(), expected.end()))
          return found->text + " has other bytes";
        met |= found->text[identity.size()] != user[0];
      }
    }
  }
  return met ? "" : "no entry of the other user was found";
}

constexpr uint64_t kSmallStore = 60'000;  // less than all entries need: room is made all the time

TEST_F(Processes, TwoThatUseOneFolderAtOnceFindWholeEntriesOnly) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    close(gate[1]);
    char end;
    (void)!read(gate[0], &end, 1);  // until both are there
    Store store = Open(kSmallStore);
    const std::string wrong = UseStore(store, i == 0 ? "x" : "y") + log_;
    if (!wrong.empty()) fprintf(stderr, "%s\n", wrong.c_str());
    _exit(wrong.empty() ? 0 : 1);
  }
  close(gate[0]);
  close(gate[1]);
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const EntryInfo& info : Entries()) EXPECT_EQ(info.state, EntryState::kIntact) << info.problem;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_))
    EXPECT_TRUE(ParseEntryFileName(file.path().filename().string())) << file.path();
}

TEST_F(Processes, TwoThreadsThatUseOneStoreAtOnceFindWholeEntriesOnly) {
  Store store = Open(kSmallStore);
  std::string wrong[2];
  std::thread other([&] { wrong[0] = UseStore(store, "x"); });
  wrong[1] = UseStore(store, "y");
  other.join();
  EXPECT_EQ(wrong[0], "");
  EXPECT_EQ(wrong[1], "");
  EXPECT_EQ(log_, "");
}

}  // namespace
}  // namespace deputy::host
