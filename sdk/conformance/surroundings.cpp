#include "surroundings.hpp"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

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
  for (const auto& [name, value] : environment)
    if (before.environment.count(name) == 0 || before.environment.at(name) != value) changed("the variable " + name);
  for (const auto& [name, value] : before.environment)
    if (environment.count(name) == 0) changed("the variable " + name);
  return changes;
}

}  // namespace deputy::conformance
