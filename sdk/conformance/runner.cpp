#include "runner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>

#include "trap.hpp"

namespace deputy::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kField = '\x1f', kRecord = '\x1e', kEnd = 'E';
constexpr int kMostRestarts = 12;

std::string Cleaned(std::string text) {
  for (char& letter : text)
    if (letter == kField || letter == kRecord) letter = ' ';
  return text;
}

template <class Bytes>
void WriteAll(int fd, const Bytes& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

// A process that runs one test.
struct Child {
  const Test* test = nullptr;
  size_t index = 0;  // of the test
  int64_t first_case = 0;
  int restarts = 0;
  pid_t pid = -1;
  int pidfd = -1, pipe = -1, out = -1, err = -1;
  Progress* progress = nullptr;
  Clock::time_point begin, deadline;
  int64_t seen_case = -1;  // the last one whose beginning was seen; each has the whole time
  std::string received;
  bool timed_out = false;
};

// Functions that did not return, with the number of tests in which that happened. The next tests wait for them only for
// a moment, so that a hang costs its time limit once.
using HungFunctions = std::map<std::string, int>;

std::chrono::milliseconds PatienceWith(const HungFunctions& hung, const char* function) {
  const auto found = hung.find(function);
  if (found == hung.end()) return std::chrono::hours(1);
  return std::chrono::milliseconds(found->second < 3 ? 2000 : 300);
}

Clock::time_point DeadlineOf(const Child& child, const HungFunctions& hung) {
  const Progress& progress = *child.progress;
  if (hung.empty() || hung.count(progress.function) == 0) return child.deadline;
  const Clock::time_point since{std::chrono::nanoseconds(progress.since_ns)};
  return std::min(child.deadline,
                  since + std::chrono::duration_cast<Clock::duration>(PatienceWith(hung, progress.function)));
}

[[noreturn]] void RunChild(const Child& child, int pipe, const Settings& settings) {
  setpgid(0, 0);
  dup2(child.out, STDOUT_FILENO);
  dup2(child.err, STDERR_FILENO);
  UseProgress(child.progress);
  InstallTrap();
  {
    TestRun run(settings, child.first_case, [&](const Finding& finding) {
      WriteAll(pipe, std::string(1, static_cast<char>(finding.kind)) + kField + Cleaned(finding.subject) + kField +
                         Cleaned(finding.text) + kRecord);
    });
    run.SetName(child.test->name);
    child.test->run(run);
  }
  WriteAll(pipe, std::string(1, kEnd) + kRecord);
  strcpy(child.progress->function, "exit");
  child.progress->subject[0] = 0;
  std::exit(0);
}

int Scratch(const char* name) { return static_cast<int>(syscall(SYS_memfd_create, name, 1u /* MFD_CLOEXEC */)); }

bool Start(Child& child, const Settings& settings) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  child.out = Scratch("stdout");
  child.err = Scratch("stderr");
  child.progress = MakeProgress();
  child.progress->next_case = child.first_case;
  child.begin = Clock::now();
  child.deadline = child.begin + std::chrono::seconds(settings.timeout_s);
  child.pid = fork();
  if (child.pid == 0) RunChild(child, ends[1], settings);
  close(ends[1]);
  child.pipe = ends[0];
  fcntl(child.pipe, F_SETFL, O_NONBLOCK);
  child.pidfd = static_cast<int>(syscall(SYS_pidfd_open, child.pid, 0));
  return child.pid > 0;
}

void Drain(Child& child) {
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(child.pipe, buffer, sizeof buffer);
    if (count <= 0) return;
    child.received.append(buffer, static_cast<size_t>(count));
  }
}

std::string ContentOf(int fd, size_t most) {
  std::string text(most, 0);
  const ssize_t count = pread(fd, text.data(), most, 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// Parses the received records; true when the test reached its end.
bool Parse(const std::string& received, std::vector<Finding>& findings) {
  bool ended = false;
  for (size_t from = 0; from < received.size();) {
    const size_t end = received.find(kRecord, from);
    if (end == std::string::npos) break;
    const std::string record = received.substr(from, end - from);
    from = end + 1;
    const size_t first = record.find(kField), second = record.find(kField, first + 1);
    if (record[0] == kEnd) ended = true;
    if (first == std::string::npos || second == std::string::npos) continue;
    findings.push_back(
        {static_cast<FindingKind>(record[0]), record.substr(first + 1, second - first - 1), record.substr(second + 1)});
  }
  return ended;
}

// The abnormal end of the process; "" for a normal one.
std::string Ending(const Child& child, int status, bool ended, int timeout_s) {
  const std::string function = child.progress->function;
  const std::string where = function.empty() ? "" : " in " + function;
  if (child.timed_out && Clock::now() < child.deadline) return "did not return" + where + ", as before in another test";
  if (child.timed_out)
    return "did not finish within " + std::to_string(timeout_s) + " s" + (where.empty() ? "" : ";" + where);
  if (WIFSIGNALED(status)) {
    std::string text = std::string("killed by ") + strsignal(WTERMSIG(status)) + where;
    if (child.progress->fault[0] != 0) text += ": it " + std::string(child.progress->fault);
    const std::string said = FirstLine(ContentOf(child.err, 512));
    return said.empty() ? text : text + "; stderr: " + said;
  }
  if (!ended) return "ended the process with exit status " + std::to_string(WEXITSTATUS(status)) + where;
  if (WEXITSTATUS(status) != 0) return "the process ended with status " + std::to_string(WEXITSTATUS(status));
  return "";
}

void Close(Child& child) {
  kill(-child.pid, SIGKILL);  // processes that the plugin has left behind
  for (const int fd : {child.pidfd, child.pipe, child.out, child.err}) close(fd);
  DropProgress(child.progress);
}

// Waits for one of the children to end or to exceed its time.
std::list<Child>::iterator WaitForOne(std::list<Child>& children, const HungFunctions& hung,
                                      std::chrono::seconds limit) {
  for (;;) {
    std::vector<pollfd> fds;
    auto nearest = Clock::time_point::max();
    for (Child& child : children) {
      fds.push_back({child.pidfd, POLLIN, 0});
      fds.push_back({child.pipe, POLLIN, 0});
      if (child.progress->next_case != child.seen_case) {
        child.seen_case = child.progress->next_case;
        child.deadline = Clock::now() + limit;
      }
      nearest = std::min(nearest, DeadlineOf(child, hung));
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(nearest - Clock::now()).count();
    poll(fds.data(), fds.size(), static_cast<int>(std::clamp<int64_t>(left, 0, hung.empty() ? 1000 : 100)));
    size_t at = 0;
    for (auto child = children.begin(); child != children.end(); ++child, at += 2) {
      Drain(*child);
      if ((fds[at].revents & POLLIN) != 0) return child;
      if (child->progress->next_case == child->seen_case && Clock::now() >= DeadlineOf(*child, hung)) {
        child->timed_out = true;
        kill(child->pid, SIGKILL);
        return child;
      }
    }
  }
}

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
  WriteAll(pipe, all.bytes());
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

std::vector<TestResult> RunTests(const std::vector<Test>& tests, const Settings& settings) {
  std::vector<TestResult> results(tests.size());
  std::list<Child> running;
  std::list<Child> waiting;
  HungFunctions hung;
  for (size_t i = 0; i < tests.size(); ++i) {
    results[i].name = tests[i].name;
    Child child;
    child.test = &tests[i];
    child.index = i;
    waiting.push_back(child);
  }
  while (!waiting.empty() || !running.empty()) {
    while (!waiting.empty() && running.size() < static_cast<size_t>(settings.jobs)) {
      running.splice(running.end(), waiting, waiting.begin());
      if (Start(running.back(), settings)) continue;
      results[running.back().index].findings.push_back({FindingKind::kFailed, "", "no process could be started"});
      running.pop_back();
    }
    if (running.empty()) continue;
    const auto child = WaitForOne(running, hung, std::chrono::seconds(settings.timeout_s));
    int status = 0;
    waitpid(child->pid, &status, 0);
    Drain(*child);
    TestResult& result = results[child->index];
    const bool ended = Parse(child->received, result.findings);
    const std::string ending = Ending(*child, status, ended, settings.timeout_s);
    const std::string subject = child->progress->subject;
    if (!ending.empty()) result.findings.push_back({FindingKind::kFailed, subject, ending});
    const std::string printed = ContentOf(child->out, 256);
    if (!printed.empty())
      result.findings.push_back(
          {FindingKind::kFailed, "", "it wrote to stdout, which is the host's: " + FirstLine(printed)});
    result.seconds += std::chrono::duration<double>(Clock::now() - child->begin).count();
    const int64_t next = child->progress->next_case;
    if (child->timed_out && child->progress->function[0] != 0) {
      ++hung[child->progress->function];
      if (!subject.empty())
        result.findings.push_back({FindingKind::kNote, "",
                                   "the cases behind " + subject + " were not run, because " +
                                       child->progress->function + " did not return"});
    }
    if (!child->timed_out && !ending.empty() && !subject.empty() && next > child->first_case &&
        child->restarts < kMostRestarts) {
      Child again;
      again.test = child->test;
      again.index = child->index;
      again.first_case = next;
      again.restarts = child->restarts + 1;
      waiting.push_front(again);
    }
    Close(*child);
    running.erase(child);
  }
  return results;
}

TestResult RunHere(const Test& test, const Settings& settings) {
  TestResult result{test.name, "", {}, 0};
  TestRun run(settings, 0, [&](const Finding& finding) { result.findings.push_back(finding); });
  run.SetName(test.name);
  test.run(run);
  return result;
}

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
