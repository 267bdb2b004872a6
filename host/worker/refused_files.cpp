// The functions are defined here, not wrapped inline.
#undef _FORTIFY_SOURCE

#include "worker/refused_files.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "base/printable.hpp"

namespace deputy::host {
namespace {

constexpr size_t kMostNoted = 8;

std::atomic<bool> notes{false};
std::mutex mutex;
std::vector<std::string>& Noted() {
  static auto* const noted = new std::vector<std::string>;  // threads of the plugin live until the process ends
  return *noted;
}

// Keeps errno. EACCES comes from Landlock, EPERM from refused system calls that make files.
void Note(const char* path) {
  const int error = errno;
  if (notes.load(std::memory_order_relaxed) && path != nullptr && (error == EACCES || error == EPERM)) {
    try {
      const std::lock_guard lock(mutex);
      bool known = Noted().size() >= kMostNoted;
      for (const std::string& other : Noted()) known = known || other == path;
      if (!known) Noted().emplace_back(path);
    } catch (const std::bad_alloc&) {
    }
  }
  errno = error;
}

// The C library's function of this name.
template <class Function>
Function* Next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void NoteRefusedFiles() { notes = true; }

std::string RefusedFilesText() {
  const std::lock_guard lock(mutex);
  std::string text;
  for (const std::string& path : Noted()) text += (text.empty() ? "" : ", ") + Printable(path);
  return text.empty() ? text : "; the sandbox has kept files from the plugin: " + text;
}

}  // namespace deputy::host

using deputy::host::Next;
using deputy::host::Note;

#define DEPUTY_VISIBLE __attribute__((visibility("default")))
// Calls the C library's function, and notes the path where it was refused.
#define DEPUTY_NOTING(function, path, failed, ...)                                      \
  static auto* const next = Next(static_cast<decltype(&function)>(nullptr), #function); \
  const auto result = next(__VA_ARGS__);                                                \
  if (result == (failed)) Note(path);                                                   \
  return result

namespace {

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

DEPUTY_VISIBLE int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  DEPUTY_NOTING(open, path, -1, path, flags, mode);
}

DEPUTY_VISIBLE int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  DEPUTY_NOTING(open64, path, -1, path, flags, mode);
}

DEPUTY_VISIBLE int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  DEPUTY_NOTING(openat, path, -1, folder, path, flags, mode);
}

// The name of another thread is a file of /proc.
DEPUTY_VISIBLE int pthread_setname_np(pthread_t thread, const char* name) {
  static auto* const next = Next(static_cast<decltype(&pthread_setname_np)>(nullptr), "pthread_setname_np");
  const int result = next(thread, name);
  if (result == EACCES || result == EPERM) {
    errno = result;
    Note("/proc/self/task/*/comm");
  }
  return result;
}

DEPUTY_VISIBLE FILE* fopen(const char* path, const char* mode) { DEPUTY_NOTING(fopen, path, nullptr, path, mode); }
DEPUTY_VISIBLE FILE* fopen64(const char* path, const char* mode) { DEPUTY_NOTING(fopen64, path, nullptr, path, mode); }
DEPUTY_VISIBLE DIR* opendir(const char* path) { DEPUTY_NOTING(opendir, path, nullptr, path); }
DEPUTY_VISIBLE int mkstemp(char* path) { DEPUTY_NOTING(mkstemp, path, -1, path); }
DEPUTY_VISIBLE int mkstemp64(char* path) { DEPUTY_NOTING(mkstemp64, path, -1, path); }
DEPUTY_VISIBLE int shm_open(const char* name, int flags, mode_t mode) {
  DEPUTY_NOTING(shm_open, name, -1, name, flags, mode);
}

}  // extern "C"
