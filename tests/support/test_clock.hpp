// A monotonic clock that a test turns. A program that test_clock.cpp is linked with, and all of its libraries, read the
// time from it: until there is a TestClock, that of the system.
#pragma once

#include <chrono>

namespace deputy {

// The time stands still while it lives, and goes on from there. One at a time.
class TestClock {
 public:
  TestClock();
  ~TestClock();
  TestClock(const TestClock&) = delete;
  TestClock& operator=(const TestClock&) = delete;

  // [any-thread]
  void Turn(std::chrono::nanoseconds by);
};

}  // namespace deputy
