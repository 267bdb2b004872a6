#include "support/test_clock.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace deputy {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

constinit std::atomic<int64_t> stopped_ns{0};  // the time of the system at which it stands; 0: it goes
constinit std::atomic<int64_t> turned_ns{0};   // added to it

int64_t SystemNs() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace

TestClock::TestClock() { stopped_ns = SystemNs(); }
TestClock::~TestClock() { stopped_ns = 0; }
void TestClock::Turn(std::chrono::nanoseconds by) { turned_ns += by.count(); }

}  // namespace deputy

// Takes the place of the C library's.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using namespace deputy;
  if (clock != CLOCK_MONOTONIC) return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  const int64_t stopped = stopped_ns, ns = (stopped != 0 ? stopped : SystemNs()) + turned_ns;
  *now = {ns / kSecond, ns % kSecond};
  return 0;
}
