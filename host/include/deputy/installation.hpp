// The installation that a program uses, for diagnosis: its parts, and what was chosen for this machine.
#pragma once

#include <string>
#include <vector>

namespace deputy {

// The installed library and its parts.
struct InstallationReport {
  std::string version;     // of the library
  std::string plugin_abi;  // "0.1": of plugins that it can load
  std::string folder;      // `$deputy` in a configuration: plugins/, importers/ and the helper program
  std::string worker;      // the helper program that runs plugins first; the file may be missing
  // What the kernel offers to take rights from that program with, before it loads a plugin: "Landlock 7, seccomp",
  // "none".
  std::string sandbox;
  std::string kernels;   // instruction set of the CPU's kernels, a level of x86-64: "v4", "v3", "baseline"
  unsigned cpus = 1;     // that this process may use, by its affinity and by quotas of control groups
  std::string distrust;  // how users other than root and this one could change or replace the library; empty: not
  // Variables of the environment that are nearly one of Deputy's, or have a value without a meaning: a sentence each.
  std::vector<std::string> environment_warnings;
};

// [any-thread]
InstallationReport DescribeInstallation();

}  // namespace deputy

#ifndef DEPUTY_BUILDS_LIBRARY
#include "deputy/detail/installation.hpp"  // IWYU pragma: export
#endif
