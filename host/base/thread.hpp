// The one way in which the host starts threads: where the system refuses one more, by a limit of the user, a control
// group or a filter of system calls, that is a status and no exception.
#pragma once

#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "base/status.hpp"

namespace deputy::host {

// kUnavailable, which is no fault of what the thread was to run. `work` must not throw.
template <class Work>
Result<std::thread> StartThread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    return Error(StatusCode::kUnavailable, "no further thread can be started: {}", error.what())
        .Advise("limits of processes (ulimit -u) and of control groups (pids.max) count threads");
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kResourceExhausted, "no memory for a further thread");
  }
}

}  // namespace deputy::host
