// A compiled partition and a session's state for it. An executable is immutable and shared by all sessions; each
// session makes a context from it and runs that.
#pragma once

#include <memory>

#include "deputy/sdk/status.hpp"
#include "deputy/sdk/tensor_view.hpp"

namespace deputy::sdk {

class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;
  // Reads the inputs, writes every element of the outputs. One call at a time per context; different contexts run in
  // parallel unless the delegate's kFlags say DEPUTY_DELEGATE_SERIAL.
  virtual Status Execute(const RunArgs& args) = 0;
};

class Executable {
 public:
  virtual ~Executable() = default;
  // [any-thread] Contexts are destroyed before their executable.
  virtual Result<std::unique_ptr<ExecutionContext>> CreateContext() = 0;
};

}  // namespace deputy::sdk
