/* Preloaded, it lets calls about regular files fail: those named by FAILING_CALL (create, write, fsync, rename), with
 * the error number FAILING_ERROR. How often it did is appended to the file FAILING_CALL_COUNT, a byte for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
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
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

ssize_t write(int file, const void *bytes, size_t size) {
  if (IsRegular(file) && Fails("write")) return -1;
  return syscall(SYS_write, file, bytes, size);
}

int fsync(int file) { return Fails("fsync") ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return Fails("fsync") ? -1 : (int)syscall(SYS_fdatasync, file); }

int renameat(int from, const char *old, int to, const char *name) {
  return Fails("rename") ? -1 : (int)syscall(SYS_renameat2, from, old, to, name, 0);
}

static int OpenAt(int folder, const char *path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && Fails("create")) return -1;
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
