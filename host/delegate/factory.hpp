// Opens delegates of plugins: in this process (the plugin registry), in a worker process (planned). host/runtime
// chooses the factory, for entries of the configuration and for those made in code; `deputy plugins` and the probe
// describe delegates and open none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/thread_pool.hpp"
#include "delegate/delegate.hpp"
#include "delegate/partition_helpers.hpp"

namespace deputy::host {

struct OpenRequest {
  std::string delegate;  // id
  std::string name;      // of the YAML entry
  uint32_t device = 0;
  std::span<const std::pair<std::string, std::string>> options;  // name and text, as CheckOptions returns them
  ThreadPool* pool = nullptr;                                    // outlives the opened delegate; null: no threads
  // Without the device: executables can be serialized, not run. kNotSupported where the delegate cannot compile so.
  bool compile_only = false;
  const PartitionHelpers* helpers = nullptr;  // outlives the opened delegate; null: none
  bool check = false;                         // check everything against the contract; costs time and memory
};

class DelegateFactory {
 public:
  virtual ~DelegateFactory() = default;
  // The delegate has been described, and the options have passed CheckOptions. It may outlive the factory. [load-time]
  virtual Result<std::unique_ptr<Delegate>> Open(const OpenRequest& request) = 0;
};

}  // namespace deputy::host
