// Failures of delegates at run time, wrong results included, and the delegates that ran their partitions instead; and
// the configuration in force.
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

// Which configuration is in force, and how reloads of it ended (Context::Reload).
struct ReloadReport {
  uint64_t generation = 0;  // 1: the first that was opened, one more with each reload that succeeded; 0: none yet
  std::chrono::system_clock::time_point since;  // it is in force
  std::vector<std::string> files;               // that it was read from, lowest layer first
  uint64_t succeeded = 0, failed = 0;           // reloads
  // Of the last reload, if it failed: its errors, one a line. The configuration before it is in force.
  std::string error;
  std::chrono::system_clock::time_point failed_at;  // of the last one that failed
};

// Failures of a context's delegates, since they were opened.
struct HealthReport {
  // A delegate is not available, partitions are demoted, or the last run of a partition failed: until the delegate has
  // run it well.
  bool degraded = false;
  std::vector<DelegateHealthReport> delegates;  // in order, without the CPU
  std::vector<Incident> incidents;              // the latest 64, in the order in which they happened
  ReloadReport configuration;
};

}  // namespace deputy
