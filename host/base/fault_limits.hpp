// The limits under which the process of a plugin failed: times, memory, and what the system let it have. A fault under
// a limit says nothing about a process that may have more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace deputy::host {

class FaultLimits {
 public:
  // Of keys of the configuration, in milliseconds and bytes. A run whose limit the host chooses has kAutomatic too.
  static constexpr std::string_view kTimeout = "timeout", kAutomatic = "automatic", kCallTimeout = "call_timeout",
                                    kCallTimeoutTotal = "call_timeout_total", kProbeTimeout = "probe_timeout",
                                    kMemory = "memory_limit";
  // The caller's own limit of a run, which is no limit of any other process.
  static constexpr std::string_view kDeadline = "deadline";

  // Those that a process inherits from this one: memory, stack, processes, open files, time of the processor.
  // `sandbox`: it is in one, which lets it have less.
  static FaultLimits OfSystem(bool sandbox);

  // The smaller one counts.
  void Add(std::string_view name, uint64_t most);
  void Add(const FaultLimits& others);

  // Whether a fault under these limits tells something about a process with those: it has each, and none larger.
  bool CountsWith(const FaultLimits& those) const;
  bool Has(std::string_view name) const { return most_.find(name) != most_.end(); }
  bool operator==(const FaultLimits& other) const = default;

  // "call_timeout:30000 memory_limit:256000000"
  std::string ToText() const;
  static FaultLimits Parse(std::string_view text);
  // Those of the configuration, for people: "timeout of 5 ms or less"; empty without any.
  std::string Describe() const;

 private:
  std::map<std::string, uint64_t, std::less<>> most_;
};

}  // namespace deputy::host
