#include "isolation/time_limit.hpp"

#include <algorithm>

namespace deputy::host {
namespace {

// Between two looks.
constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

std::chrono::nanoseconds TimeLimit::left() const {
  if (!exists()) return std::chrono::nanoseconds::max();
  return std::max<std::chrono::nanoseconds>(end_ - Clock::now(), std::chrono::nanoseconds(0));
}

TimeLimit TimeLimit::AtMost(std::chrono::nanoseconds most) const {
  TimeLimit limit = *this;
  limit.end_ = std::min(end_, Clock::now() + most);
  return limit;
}

std::chrono::nanoseconds TimeLimit::nap() const {
  return looks() ? std::min<std::chrono::nanoseconds>(left(), kBetweenLooks) : left();
}

}  // namespace deputy::host
