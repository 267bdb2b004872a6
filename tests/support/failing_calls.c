/* Preloaded, it lets calls about regular files fail: those named by FAILING_CALL (create, write, fsync, rename; open,
 * stat and read of the file FAILING_PATH alone), with the error number FAILING_ERROR; and kill has no effect, as on a
 * process that is stuck in the kernel. How often it did is appended to the file FAILING_CALL_COUNT, a byte for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int Fails(const char *call) {
  const char *named = getenv("FAILING_CALL"), *path = getenv("FAILING_CALL_COUNT");
  if (named == NULL || strcmp(named, call) != 0) return 0;
  const int count = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (count >= 0) {
    (void)!syscall(SYS_write, count, ".", 1);
    close(count);
  }
  const char *number = getenv("FAILING_ERROR");
  errno = number == NULL ? EIO : atoi(number);
  return 1;
}

static int IsRegular(int file) {
  struct stat about;
  return syscall(SYS_fstat, file, &about) == 0 && S_ISREG(about.st_mode);
}

static int IsPath(const char *path) {
  const char *named = getenv("FAILING_PATH");
  return named != NULL && path != NULL && strcmp(named, path) == 0;
}

/* The path that a file is open on; empty where it is not known. */
static const char *PathOf(int file, char *path, size_t most) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, most - 1);
  path[size < 0 ? 0 : size] = 0;
  return path;
}

static int IsOpenOn(int file) {
  char path[4096];
  return IsPath(PathOf(file, path, sizeof path));
}

static int IsIn(int folder, const char *name) {
  char path[4096];
  if (name[0] == '/') return IsPath(name);
  const size_t size = strlen(PathOf(folder, path, sizeof path));
  snprintf(path + size, sizeof path - size, "/%s", name);
  return IsPath(path);
}

ssize_t write(int file, const void *bytes, size_t size) {
  if (IsRegular(file) && Fails("write")) return -1;
  return syscall(SYS_write, file, bytes, size);
}

int kill(pid_t process, int signal) { return Fails("kill") ? 0 : (int)syscall(SYS_kill, process, signal); }

int fsync(int file) { return Fails("fsync") ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return Fails("fsync") ? -1 : (int)syscall(SYS_fdatasync, file); }

int renameat(int from, const char *old, int to, const char *name) {
  return Fails("rename") ? -1 : (int)syscall(SYS_renameat2, from, old, to, name, 0);
}

static int Open(const char *path, int flags, mode_t mode) {
  if (IsPath(path) && Fails("open")) return -1;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return Open(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return Open(path, flags, mode);
}

static int Stat(int file, void *about) {
  if (IsOpenOn(file) && Fails("stat")) return -1;
  return (int)syscall(SYS_fstat, file, about);
}
int fstat(int file, struct stat *about) { return Stat(file, about); }
int fstat64(int file, struct stat64 *about) { return Stat(file, about); }

static ssize_t ReadAt(int file, void *bytes, size_t size, off_t offset) {
  if (IsOpenOn(file) && Fails("read")) return -1;
  return syscall(SYS_pread64, file, bytes, size, offset);
}
ssize_t pread(int file, void *bytes, size_t size, off_t offset) { return ReadAt(file, bytes, size, offset); }
ssize_t pread64(int file, void *bytes, size_t size, off64_t offset) { return ReadAt(file, bytes, size, offset); }

static int OpenAt(int folder, const char *path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && Fails("create")) return -1;
  if (IsIn(folder, path) && Fails("open")) return -1;
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return OpenAt(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return OpenAt(folder, path, flags, mode);
}
