#include "cli/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/progress.hpp"

namespace deputy::cli {
namespace {

int first_failure = 0;  // errno of the first PrintOnStdout that failed

// Zero if all output was written, otherwise errno; EIO if it is unknown.
int LostOutput() {
  if (first_failure != 0) return first_failure;
  errno = 0;
  std::cout.flush();  // the program prints only with stdio, plugins may use cout
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || std::cout.fail()) return errno != 0 ? errno : EIO;
  // Some file systems report a lack of space only when a file is closed. stdout itself stays open: plugins may still
  // print while they are closed.
  const int copy = dup(STDOUT_FILENO);
  return copy >= 0 && close(copy) != 0 ? errno : 0;
}

}  // namespace

void OpenStandardStreams() {
  const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number, which is this one.
    if (open("/dev/null", modes[descriptor]) != descriptor) return;
  }
}

void PrintOnStdout(std::string_view text) {
  ClearProgress();
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() || first_failure != 0) return;
  first_failure = errno != 0 ? errno : EIO;
}

int FinishOutput(int exit_status) {
  const int lost = LostOutput();
  if (lost == 0 || exit_status >= kUsage) return exit_status;
  return FailRun("the output could not be written: " + std::string(std::strerror(lost)));
}

}  // namespace deputy::cli
