// Calls of the library without the GIL, and the end of the interpreter, which waits for them.
#pragma once

#include <nanobind/nanobind.h>

#include "deputy.h"

namespace deputy::python {

namespace nb = nanobind;

// Without the GIL while it lives. At exit the interpreter waits for those that live, and a new one throws, so that no
// thread comes back from the library into an interpreter that is gone.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  PyThreadState* state_;
};

// Runs `function`, which returns a DeputyError*, without the GIL, and throws its error.
template <class F>
DeputyError* Unlocked(const F& function) {
  const Call call;
  return function();
}

// Begins a free of a handle without the GIL, where it is possible; see FreeUnlocked. With the GIL.
bool BeginFree(PyThreadState*& state) noexcept;
void EndFree(PyThreadState* state) noexcept;

// Runs `free` without the GIL, for destructors. When the interpreter ends, only the thread that ends it still frees:
// any other one would come back into an interpreter that is gone, and leaves the handle to the end of the process.
template <class F>
void FreeUnlocked(const F& free) noexcept {
  PyThreadState* state = nullptr;
  if (!BeginFree(state)) return;
  free();
  EndFree(state);
}

// A request, whose callback the end of the interpreter waits for as well. [any-thread]
void BeginRequest();
void EndRequest();

// While it lives, this thread is in a callback of a session, which must not free the session.
class Callback {
 public:
  Callback();
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
};

// Sessions that the end of the interpreter cancels. With the GIL.
void Register(DeputySession* session);
// Frees a session, which waits for its callbacks; in a callback, later and by another thread. With the GIL.
void Free(DeputySession* session) noexcept;

void AddCalls(nb::module_& module);

}  // namespace deputy::python
