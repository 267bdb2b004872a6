// The program's own exit(), quick_exit() and _exit(), which plugins find before those of the C library: _exit() runs no
// exit handlers, and the others run none that is left when destructors run, so that calls would not be reported. Calls
// from inside the C library, such as exit()'s and the one after main, are not intercepted.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "deputy/process.hpp"

namespace {

[[noreturn]] void End(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

// Through the C library's function.
[[noreturn]] void EndBy(const char* function, int status) {
  if (void* const found = dlsym(RTLD_NEXT, function)) reinterpret_cast<void (*)(int)>(found)(status);
  End(status);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void _exit(int status) {
  deputy::CheckExit(__builtin_return_address(0));
  End(status);
}

__attribute__((visibility("default"))) void _Exit(int status) noexcept {
  deputy::CheckExit(__builtin_return_address(0));
  End(status);
}

__attribute__((visibility("default"))) void exit(int status) noexcept {
  deputy::CheckExit(__builtin_return_address(0));
  EndBy("exit", status);
}

__attribute__((visibility("default"))) void quick_exit(int status) noexcept {
  deputy::CheckExit(__builtin_return_address(0));
  EndBy("quick_exit", status);
}

}  // extern "C"
