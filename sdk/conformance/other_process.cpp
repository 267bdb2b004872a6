#include "other_process.hpp"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "trap.hpp"

namespace deputy::conformance {
namespace {

// The findings, then the job's result.
[[noreturn]] void Work(int pipe, TestRun& run, const std::function<Packed(TestRun&)>& job) {
  Packed found;
  uint64_t count = 0;
  TestRun own(run.settings(), run.first_case(), [&](const Finding& finding) {
    found.Put(std::string(1, static_cast<char>(finding.kind)));
    found.Put(finding.subject);
    found.Put(finding.text);
    ++count;
  });
  const Packed made = job(own);
  Packed all;
  all.Put(count);
  all.Put(found.bytes());
  all.Put(made.bytes());
  for (size_t done = 0; done < all.bytes().size();) {
    const ssize_t written = write(pipe, all.bytes().data() + done, all.bytes().size() - done);
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  std::fflush(nullptr);
  _exit(0);
}

std::vector<uint8_t> ReadAll(int pipe) {
  std::vector<uint8_t> all;
  uint8_t buffer[4096];
  for (;;) {
    const ssize_t count = read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.insert(all.end(), buffer, buffer + count);
  }
}

std::string Ending(int status) {
  const std::string function = SharedProgress()->function;
  const std::string where = function.empty() ? "" : " in " + function;
  if (WIFSIGNALED(status)) {
    const std::string touched = SharedProgress()->fault;
    return std::string("another process was killed by ") + strsignal(WTERMSIG(status)) + where +
           (touched.empty() ? "" : ": it " + touched);
  }
  return "it ended another process with exit status " + std::to_string(WEXITSTATUS(status)) + where;
}

}  // namespace

std::optional<Packed> InOtherProcess(TestRun& run, const std::string& subject,
                                     const std::function<Packed(TestRun&)>& job) {
  int ends[2];
  if (pipe(ends) != 0) {
    run.Failed(subject, "no pipe could be made");
    return std::nullopt;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    Work(ends[1], run, job);
  }
  close(ends[1]);
  Packed all(ReadAll(ends[0]));
  close(ends[0]);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) {
    run.Failed(subject, "no process could be started");
    return std::nullopt;
  }
  if (all.at_end() || status != 0) {
    run.Failed(subject, Ending(status));
    return std::nullopt;
  }
  const uint64_t count = all.TakeNumber();
  Packed found(all.Take());
  for (uint64_t i = 0; i < count; ++i) {
    const std::string kind = found.TakeText(), about = found.TakeText(), text = found.TakeText();
    run.Found({static_cast<FindingKind>(kind[0]), about, text});
  }
  return Packed(all.Take());
}

}  // namespace deputy::conformance
