// Plugin files that are not run again after a fault.
#pragma once

#include <chrono>
#include <string>

namespace deputy {

// A file is quarantined when it crashed, hung, ended the process or garbled its answer in the helper process that runs
// plugins first, and when its worker process failed with three models within five minutes; a part of a model with which
// that ended twice is kept away from it. Both hold where limits (time, memory) are not larger than those of the faults,
// until the file, the version of Deputy, the kernel or an accelerator's driver changes.
struct QuarantinedPlugin {
  std::string key;     // 64 hexadecimal digits: the name of its entry in the cache
  std::string file;    // the path where it was found; another file of the same bytes is quarantined as well
  std::string plugin;  // its id
  std::string rule;    // "probe-crashed", "failed-in-use": as in PluginReport
  std::string reason;  // for people
  std::chrono::system_clock::time_point since;
  bool in_force = true;  // false: of another version, system, or content of the files; without effect
  // What is kept away from the file, as "partition npu0/0 of 3 nodes" or "all parts", and the name of its model; empty
  // where the file is not run at all.
  std::string part, model;
};

}  // namespace deputy
