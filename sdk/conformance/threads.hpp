// The threads of a test. Where the system refuses one more, by a limit of the user or of a control group, the test
// fails with a message; the process does not end.
#pragma once

#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace deputy::conformance {

class Threads {
 public:
  Threads() = default;
  ~Threads() { Join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // False where there is no further thread.
  bool Start(std::function<void()> work) {
    try {
      threads_.emplace_back(std::move(work));
      return true;
    } catch (const std::system_error& error) {
      why_not_ = std::string("the kit can start no further thread: ") + error.what() +
                 "; limits of processes (ulimit -u) and of control groups (pids.max) count threads";
      return false;
    }
  }
  // "" if all of them have been started.
  const std::string& why_not() const { return why_not_; }
  size_t count() const { return threads_.size(); }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
  std::string why_not_;
};

}  // namespace deputy::conformance
