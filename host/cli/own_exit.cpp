// The program's own _exit(), which plugins find before that of the C library: ending the process without running its
// exit handlers would leave nothing to report it. Calls from inside the C library, such as exit()'s, do not come here.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "deputy/process.hpp"

extern "C" {

__attribute__((visibility("default"))) void _exit(int status) {
  deputy::CheckExit(__builtin_return_address(0));
  for (;;) syscall(SYS_exit_group, status);
}

__attribute__((visibility("default"))) void _Exit(int status) noexcept {
  deputy::CheckExit(__builtin_return_address(0));
  for (;;) syscall(SYS_exit_group, status);
}

}  // extern "C"
