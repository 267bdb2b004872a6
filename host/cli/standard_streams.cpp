#include "cli/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/terminal/progress.hpp"

namespace deputy::cli {
namespace {

int first_failure = 0;            // errno of the first PrintOnStdout that failed
std::FILE* own_output = nullptr;  // null: stdout itself

// Zero if all output was written, otherwise errno; EIO if it is unknown.
int LostOutput() {
  if (first_failure != 0) return first_failure;
  errno = 0;
  if (std::fflush(OwnOutput()) != 0 || std::ferror(OwnOutput()) != 0) return errno != 0 ? errno : EIO;
  // Some file systems report a lack of space only when a file is closed. The stream itself stays open: a plugin that is
  // being closed may end the program with an error, which is printed.
  const int copy = dup(fileno(OwnOutput()));
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

void MoveOutputAside() {
  constexpr int kFirst = 10;  // beyond those that shells and tests give programs
  const int copy = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirst);
  if (copy < 0) return;
  own_output = fdopen(copy, "w");
  if (own_output == nullptr) {  // a stdout that is closed, or open for reading: printing on it fails
    close(copy);
    return;
  }
  std::setvbuf(own_output, nullptr, _IOLBF, BUFSIZ);
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

std::FILE* OwnOutput() { return own_output == nullptr ? stdout : own_output; }

void FlushOutput() { std::fflush(OwnOutput()); }

void PrintOnStdout(std::string_view text) {
  ClearProgress();
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), OwnOutput()) == text.size() || first_failure != 0) return;
  first_failure = errno != 0 ? errno : EIO;
}

int FinishOutput(int exit_status) {
  const int lost = LostOutput();
  if (lost == 0 || exit_status >= kUsage) return exit_status;
  return FailRun("the output could not be written: " + std::string(std::strerror(lost)));
}

}  // namespace deputy::cli
