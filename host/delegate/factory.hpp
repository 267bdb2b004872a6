// Opens delegates of plugins: in this process (the plugin registry), in a worker process (planned). host/runtime
// chooses the factory, for entries of the configuration and for those made in code; `deputy plugins` and the probe
// describe delegates and open none.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "delegate/partition_helpers.hpp"

namespace deputy::host {

struct OpenRequest {
  std::string delegate;                                          // id
  std::string name;                                              // of the YAML entry
  std::string device;                                            // id; empty for a delegate that lists no devices
  std::span<const std::pair<std::string, std::string>> options;  // name and text, as CheckOptions returns them
  ThreadPool* pool = nullptr;                                    // outlives the opened delegate; null: no threads
  // Without the device: executables can be serialized, not run. kNotSupported where the delegate cannot compile so.
  bool compile_only = false;
  const PartitionHelpers* helpers = nullptr;  // outlives the opened delegate; null: none
  bool check = false;                         // check everything against the contract; costs time and memory
  int32_t priority = 0;                       // of its calls against those of others on the device; a hint
  DType precision = DType::kUndefined;        // in which its nodes compute; undefined: its own choice
  // After which a load-time call is reported that has not returned, and the process ended if that is wanted; zero: no
  // call is watched.
  std::chrono::milliseconds call_timeout{};
  bool abort_on_hang = false;
  // How far a compilation is, from 0 to 1000, and its step; may be empty. [any-thread]
  std::function<void(uint32_t permille, const std::string& step)> progress = {};
  // Of the device, as an earlier process may have read it; where there is one, the delegate is asked once more.
  std::string driver = {};
  bool is_accelerator = false;  // the device is not the CPU: runs may overlap with other work
};

class DelegateFactory {
 public:
  virtual ~DelegateFactory() = default;
  // The delegate has been described, and the options have passed CheckOptions. It may outlive the factory. [load-time]
  virtual Result<std::unique_ptr<Delegate>> Open(const OpenRequest& request) = 0;
};

}  // namespace deputy::host
