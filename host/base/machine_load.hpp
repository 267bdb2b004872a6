// How busy other processes keep the processors of this one: measurements beside them say little.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace deputy::host {

// The processor time since the beginning of the machine, in clock ticks of the kernel.
struct ProcessorTime {
  uint64_t wall = 0;  // of one processor
  uint64_t busy = 0;  // of the processors that this process may use, by all processes, the kernel and other guests
  uint64_t own = 0;   // of this process and its descendants
  uint32_t processors = 0;
};
// None where the kernel does not say (no /proc). `proc`: the folder, for tests. [any-thread]
std::optional<ProcessorTime> ReadProcessorTime(const std::string& proc = "/proc");

// The share, from 0 to 1, of the processors that others took between the two; none where the time between is too short
// to tell.
std::optional<double> ShareOfOthers(const ProcessorTime& begin, const ProcessorTime& end);

// Of the time from its beginning on. [any-thread]
class LoadMeter {
 public:
  LoadMeter() : begin_(ReadProcessorTime()) {}
  std::optional<double> ShareOfOthers() const;

 private:
  std::optional<ProcessorTime> begin_;
};

}  // namespace deputy::host
