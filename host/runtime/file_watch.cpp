#include "runtime/file_watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <set>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace deputy::host {
namespace {

namespace fs = std::filesystem;

// Programs change a file in several steps, and packages several files.
constexpr int kQuietMs = 100;
constexpr std::chrono::seconds kLongestBurst(2);
constexpr int kMostLinks = 8;  // one behind the other
// A file counts once it is written, not while it is.
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ATTRIB |
                             IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// Folders in which a change makes the path lead to something else: its own, or the nearest one above that exists; that
// of each link on the way; and those of the targets of links.
void AddFolders(const fs::path& path, int links, std::set<fs::path>& folders) {
  std::error_code ignored;
  fs::path way;
  for (auto part = path.begin(); part != path.end(); ++part) {
    const fs::path above = way;
    way /= *part;
    if (!fs::is_symlink(way, ignored)) continue;
    folders.insert(above);
    fs::path target = above / fs::read_symlink(way, ignored);
    for (auto rest = std::next(part); rest != path.end(); ++rest) target /= *rest;
    if (links != 0) AddFolders(target, links - 1, folders);
  }
  if (fs::is_directory(path, ignored)) folders.insert(path);
  way = path.parent_path();
  while (!fs::is_directory(way, ignored) && way.has_relative_path()) way = way.parent_path();
  folders.insert(way);
}

void AddState(std::string& text, const fs::path& path) {
  struct stat link {
  }, file{};
  if (lstat(path.c_str(), &link) != 0) return;
  (void)stat(path.c_str(), &file);
  for (const struct stat& of : {link, file})
    text += fmt::format("{} {}:{} {} {}.{} {}.{}\n", path.native(), of.st_dev, of.st_ino, of.st_size, of.st_mtim.tv_sec,
                        of.st_mtim.tv_nsec, of.st_ctim.tv_sec, of.st_ctim.tv_nsec);
}

}  // namespace

Result<std::unique_ptr<FileWatch>> FileWatch::Start(Places places, std::function<void()> changed) {
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return Error(StatusCode::kUnavailable, "files cannot be watched: {}", std::strerror(errno));
  std::unique_ptr<FileWatch> made(new FileWatch(std::move(places), std::move(changed), std::move(wake)));
  DEPUTY_RETURN_IF_ERROR(made->WatchPlaces());
  DEPUTY_ASSIGN_OR_RETURN(made->thread_, StartThread([self = made.get()] { self->Run(); }));
  return made;
}

FileWatch::~FileWatch() {
  ends_ = true;
  Wake();
  if (thread_.joinable()) thread_.join();
}

void FileWatch::Wake() {
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

Status FileWatch::WatchPlaces() {
  watched_ = places_();
  Status status = WatchFolders();
  seen_ = Look();  // after the watches begin: a change is seen or told
  return status;
}

Status FileWatch::WatchFolders() {
  Descriptor notify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (notify.get() < 0)
    return Error(StatusCode::kUnavailable, "files cannot be watched: {}", std::strerror(errno))
        .Advise("raise fs.inotify.max_user_instances");
  const auto find = [this] {
    std::set<fs::path> folders;
    std::error_code ignored;
    for (const fs::path& place : watched_) AddFolders(fs::absolute(place, ignored), kMostLinks, folders);
    return folders;
  };
  // Again if a folder has appeared between the search and the watch of the one above it.
  for (std::set<fs::path> folders = find(), before; folders != before; before = std::exchange(folders, find()))
    for (const fs::path& folder : folders)
      if (inotify_add_watch(notify.get(), folder.c_str(), kEvents) < 0 && errno != ENOENT && errno != EACCES)
        return Error(StatusCode::kUnavailable, "the folder cannot be watched: {}", std::strerror(errno))
            .At(folder.string())
            .Advise("raise fs.inotify.max_user_watches");
  notify_ = std::move(notify);
  return {};
}

std::string FileWatch::Look() const {
  std::string text;
  for (const fs::path& place : watched_) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(place, ignored);
    if (!is_folder || fs::is_symlink(place, ignored)) AddState(text, place);
    if (!is_folder) continue;
    for (const fs::path& file : PathsIn(place, ignored))
      if (file.extension() == ".yaml") AddState(text, file);
  }
  return text;
}

bool FileWatch::Await(int milliseconds) {
  pollfd events[] = {{notify_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (poll(events, 2, milliseconds) < 0 && errno == EINTR) {
  }
  char taken[4096];
  while (read(notify_.get(), taken, sizeof taken) > 0) {
  }
  (void)!read(wake_.get(), taken, sizeof(uint64_t));
  return events[0].revents != 0 && events[1].revents == 0;
}

void FileWatch::Run() {
  while (!ends_) {
    try {
      if (Await(-1)) {
        const auto end = std::chrono::steady_clock::now() + kLongestBurst;
        while (Await(kQuietMs) && std::chrono::steady_clock::now() < end) {
        }
      }
      Status status;
      for (bool again = !ends_; again;) {
        const std::vector<fs::path> places = watched_;
        const std::string seen = seen_;
        status = WatchPlaces();  // also where nothing has changed: a new folder needs a watch
        // Other places: what they were meanwhile is not known.
        again = !ends_ && (watched_ != places || seen_ != seen);
        if (again) changed_();
      }
      if (!status.ok()) Log(LogLevel::kWarning, "{}; further changes may be missed", status.ToString());
    } catch (const std::bad_alloc&) {
      Log(LogLevel::kWarning, "no memory to look at files that have changed");
    }
  }
}

}  // namespace deputy::host
