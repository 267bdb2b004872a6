// What a test leaves behind for the process that started it, in memory that both see: what it was just doing, and which
// of the kit's guarded regions was touched when it died of that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deputy::conformance {

struct Progress {
  char function[64];  // of the plugin, that is running; "" between calls
  char subject[256];  // the case
  char fault[256];    // "wrote 4 bytes behind output 0"
  int64_t next_case;  // where to go on after a case that ended the process
};

// That of this process. Memory for one is made by the process that starts a test, which both then see.
Progress* SharedProgress();
Progress* MakeProgress();
void DropProgress(Progress* progress);
void UseProgress(Progress* progress);

// Regions of memory that a plugin may not touch in one way or another. `what` says in words what an access to the byte
// at `begin` + n means. The labels must outlive the region.
enum class Forbidden { kAll, kWrites };
void WatchRegion(const void* begin, size_t size, Forbidden forbidden, const char* what);
void UnwatchRegion(const void* begin);

// Catches SIGSEGV and SIGBUS on a stack of its own, says in SharedProgress() which region was hit, and lets the signal
// kill the process.
void InstallTrap();

}  // namespace deputy::conformance
