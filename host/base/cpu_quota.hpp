// The share of the processors that control groups leave to this process: containers limit time where affinity shows all
// processors of the machine.
#pragma once

#include <optional>
#include <string>

namespace deputy::host {

// In processors; none: there is no quota. The smallest one of the process' group and those above it, of version 2 or of
// the controller `cpu` of version 1 (Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst).
// `root` is where /proc and the mounts of the groups are.
std::optional<double> CpuQuota(const std::string& root = "");

}  // namespace deputy::host
