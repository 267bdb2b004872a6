#include "surroundings.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

extern char** environ;

namespace deputy::conformance {
namespace {

size_t EntriesIn(const char* folder) {
  DIR* opened = opendir(folder);
  if (opened == nullptr) return 0;
  size_t count = 0;
  while (const dirent* entry = readdir(opened))
    if (entry->d_name[0] != '.') ++count;
  closedir(opened);
  return count;
}

}  // namespace

size_t ThreadCount() { return EntriesIn("/proc/self/task"); }

size_t ThreadsBeyond(size_t before) {
  for (int i = 0; i < 100 && ThreadCount() > before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const size_t now = ThreadCount();
  return now > before ? now - before : 0;
}

Usage Usage::Take() {
  const auto heap = mallinfo2();
  return {heap.uordblks + heap.hblkhd, EntriesIn("/proc/self/fd"), ThreadCount()};
}

Surroundings Surroundings::Take() {
  Surroundings now;
  const char* locale = std::setlocale(LC_ALL, nullptr);
  now.locale = locale == nullptr ? "" : locale;
  char folder[4096];
  if (getcwd(folder, sizeof folder) != nullptr) now.folder = folder;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* sign = std::strchr(*entry, '=');
    if (sign != nullptr) now.environment[std::string(*entry, static_cast<size_t>(sign - *entry))] = sign + 1;
  }
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    now.signals.push_back(std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)) + "/" +
                          std::to_string(sigismember(&mask, signal)));
  }
  now.umask = ::umask(0);
  ::umask(now.umask);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  std::string& allowed = now.settings["the processors of the calling thread (sched_setaffinity)"];
  if (sched_getaffinity(0, sizeof processors, &processors) == 0)
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &processors)) allowed += std::to_string(cpu) + " ";
  now.settings["the priority of the calling thread (nice)"] = std::to_string(getpriority(PRIO_PROCESS, 0));
  now.settings["the scheduling policy of the calling thread"] = std::to_string(sched_getscheduler(0));
  now.settings["whether the process can be dumped (PR_SET_DUMPABLE)"] =
      std::to_string(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
  for (const auto& [limit, name] : {std::pair{RLIMIT_NOFILE, "open files"}, std::pair{RLIMIT_STACK, "stacks"},
                                    std::pair{RLIMIT_AS, "address space"}, std::pair{RLIMIT_DATA, "data"},
                                    std::pair{RLIMIT_CORE, "core files"}, std::pair{RLIMIT_FSIZE, "file sizes"},
                                    std::pair{RLIMIT_NPROC, "processes"}, std::pair{RLIMIT_MEMLOCK, "locked memory"}}) {
    rlimit value{};
    getrlimit(limit, &value);
    now.settings[std::string("the limit of ") + name + " (setrlimit)"] =
        std::to_string(value.rlim_cur) + "/" + std::to_string(value.rlim_max);
  }
  for (int stream = 0; stream < 3; ++stream)
    now.settings["flags of descriptor " + std::to_string(stream) + " (O_NONBLOCK)"] =
        std::to_string(fcntl(stream, F_GETFL));
  return now;
}

std::string Surroundings::ChangesSince(const Surroundings& before) const {
  std::string changes;
  const auto changed = [&](const std::string& name) { changes += (changes.empty() ? "" : ", ") + name; };
  if (locale != before.locale) changed("the locale (" + before.locale + " to " + locale + ")");
  if (folder != before.folder) changed("the working folder");
  if (umask != before.umask) changed("the umask");
  for (size_t i = 0; i < signals.size(); ++i)
    if (signals[i] != before.signals[i]) changed(std::string("the handling of ") + strsignal(static_cast<int>(i + 1)));
  for (const auto& [name, value] : settings)
    if (before.settings.count(name) == 0 || before.settings.at(name) != value) changed(name);
  for (const auto& [name, value] : environment)
    if (before.environment.count(name) == 0 || before.environment.at(name) != value) changed("the variable " + name);
  for (const auto& [name, value] : before.environment)
    if (environment.count(name) == 0) changed("the variable " + name);
  return changes;
}

}  // namespace deputy::conformance
