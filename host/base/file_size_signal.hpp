// Writes beyond the limit of file sizes (RLIMIT_FSIZE), for which the kernel sends a signal that ends the process.
#pragma once

#include <signal.h>

#include <ctime>

namespace deputy::host {

// While it lives, such writes of this thread fail with EFBIG, and no signal is delivered for them.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignalBlock() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec now{};
    while (sigtimedwait(&signal_, nullptr, &now) == SIGXFSZ) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  sigset_t signal_, before_;
};

}  // namespace deputy::host
