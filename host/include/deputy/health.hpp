// Failures of delegates at run time, wrong results included, and the delegates that ran their partitions instead.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deputy {

// A run of a partition in which its delegate failed, or was found to compute wrongly.
struct Incident {
  std::chrono::system_clock::time_point time;
  std::string model, delegate, partition;
  size_t nodes = 0;        // of the partition, or those of it that are wrong
  std::string failure;     // the delegate's message, or the difference with the nodes that cause it
  std::string taken_over;  // delegates that run these nodes instead ("cpu"); empty where they failed as well
};

// The failures of one delegate.
struct DelegateHealthReport {
  std::string name;
  uint64_t failures = 0;          // runs of partitions, since the delegate was opened
  size_t demoted_partitions = 0;  // run by others for as long as their model lives
  // False after three failures of the device (lost, unavailable) within five minutes, until a trial run succeeds.
  bool available = true;
  bool failing = false;                   // the last run of one of its partitions failed
  std::chrono::milliseconds retry_in{0};  // until the next trial run
};

// Failures of a context's delegates, since they were opened.
struct HealthReport {
  // A delegate is not available, partitions are demoted, or the last run of a partition failed: until the delegate has
  // run it well.
  bool degraded = false;
  std::vector<DelegateHealthReport> delegates;  // in order, without the CPU
  std::vector<Incident> incidents;              // the latest 64, in the order in which they happened
};

}  // namespace deputy
