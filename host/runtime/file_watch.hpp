// Changes of the files that a configuration is read from, by inotify.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/status.hpp"

namespace deputy::host {

// Has a thread of its own until it is destroyed, which waits for a call of `changed`.
class FileWatch {
 public:
  // Calls `changed` after one of the places has become another file, also by a link on its path, has other contents, or
  // has appeared or disappeared: once nothing has changed for a tenth of a second, or after two seconds in which
  // something did; and when the places are others. A place that is a folder stands for its files *.yaml. `places` is
  // called at the start and after each change. kUnavailable: the system refuses a watch or a thread.
  using Places = std::function<std::vector<std::filesystem::path>()>;
  static Result<std::unique_ptr<FileWatch>> Start(Places places, std::function<void()> changed);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // The places may be others now. [any-thread]
  void AskForPlaces() { Wake(); }

 private:
  FileWatch(Places places, std::function<void()> changed, Descriptor wake)
      : places_(std::move(places)), changed_(std::move(changed)), wake_(std::move(wake)) {}
  void Wake();
  void Run();
  // Whether an event comes within so many milliseconds, -1: ever. False: none, or the thread is woken.
  bool Await(int milliseconds);
  // Asks for the places, and watches their folders, or those above absent ones.
  Status WatchPlaces();
  Status WatchFolders();
  // The same text as long as nothing has changed.
  std::string Look() const;

  const Places places_;
  const std::function<void()> changed_;
  Descriptor notify_;
  const Descriptor wake_;  // readable: the watch is to end, or to ask for the places
  std::atomic<bool> ends_{false};
  std::vector<std::filesystem::path> watched_;
  std::string seen_;
  std::thread thread_;
};

}  // namespace deputy::host
