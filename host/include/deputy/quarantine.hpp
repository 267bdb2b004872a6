// Plugin files that are not run again after a fault.
#pragma once

#include <chrono>
#include <string>

#include "deputy/export.hpp"

namespace deputy {

// A file is quarantined when it crashed, hung, ended the process or garbled its answer in the helper process that runs
// plugins first, and when its worker process failed three times within five minutes. It stays so until the file, the
// version of Deputy, the kernel or an accelerator's driver changes.
struct QuarantinedPlugin {
  std::string key;     // 64 hexadecimal digits: the name of its entry in the cache
  std::string file;    // the path where it was found; another file of the same bytes is quarantined as well
  std::string plugin;  // its id
  std::string rule;    // "probe-crashed", "failed-in-use": as in PluginReport
  std::string reason;  // for people
  std::chrono::system_clock::time_point since;
  bool in_force = true;  // false: of another version or system; without effect
};

}  // namespace deputy
