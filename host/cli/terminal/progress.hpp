// The line of progress on stderr, for work that takes longer than a second. It appears on a terminal only, and not with
// --quiet.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "deputy/progress.hpp"

namespace deputy::cli {

// Names the present work. The line appears a second after the first call, shows how long the work has taken, and is
// replaced by later calls; the stages that the library reports are added to it. [any-thread]
void ShowProgress(const std::string& text);
// The work has ended: removes the line. [any-thread]
void ClearProgress();

// While one exists, other output may be printed: the line is removed, and drawn again later. Not within another one.
class ProgressPause {
 public:
  ProgressPause();
  ~ProgressPause() = default;
  ProgressPause(const ProgressPause&) = delete;
  ProgressPause& operator=(const ProgressPause&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

// "npu0: compiling partition 1 of 2, 14 nodes"
std::string ProgressText(const Progress& progress);
// For Context::SetProgress: shows it, counts it, and with --verbose prints it. [any-thread]
void ReportProgress(const Progress& progress);
// How often the stage was reported. [any-thread]
uint64_t ProgressCount(ProgressStage stage);

}  // namespace deputy::cli
