#include "calls.hpp"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace deputy::python {
namespace {

// Of the process, and never destroyed: threads of the library may outlive the module.
struct Calls {
  std::mutex mutex;
  std::condition_variable none_left;
  size_t running = 0;                     // calls and requests; guarded by `mutex`
  bool closing = false;                   // written with the GIL and `mutex`
  std::thread::id closer;                 // the thread that ends the interpreter; as `closing`
  std::set<DeputySession*> sessions;      // with the GIL
  std::vector<DeputySession*> left_over;  // with the GIL: those whose last reference a callback had
};

Calls& TheCalls() {
  static Calls* const calls = new Calls;
  return *calls;
}

thread_local int callbacks = 0;

void FreeLeftOver() {
  if (callbacks != 0) return;
  for (DeputySession* session : std::exchange(TheCalls().left_over, {})) {
    FreeUnlocked([session] { DeputySessionFree(session); });
  }
}

// Ends all runs and requests, and waits for the calls that are in the library.
void Close() {
  Calls& calls = TheCalls();
  {
    const std::lock_guard lock(calls.mutex);
    calls.closing = true;
    calls.closer = std::this_thread::get_id();
  }
  const std::set<DeputySession*> sessions = calls.sessions;
  for (DeputySession* session : sessions) DeputySessionCancel(session);
  const nb::gil_scoped_release unlocked;
  std::unique_lock lock(calls.mutex);
  calls.none_left.wait(lock, [&calls] { return calls.running == 0; });
  lock.unlock();
  DeputyErrorFree(DeputySetLogSink(nullptr, nullptr, nullptr));
}

}  // namespace

Call::Call() {
  Calls& calls = TheCalls();
  {
    const std::lock_guard lock(calls.mutex);
    if (!calls.closing) {
      ++calls.running;
      state_ = PyEval_SaveThread();
      return;
    }
  }
  Raise(kDeputyCancelled, "the interpreter is about to end");
}

Call::~Call() {
  PyEval_RestoreThread(state_);
  EndRequest();
}

bool BeginFree(PyThreadState*& state) noexcept {
  Calls& calls = TheCalls();
  const std::lock_guard lock(calls.mutex);
  if (calls.closing && calls.closer != std::this_thread::get_id()) return false;
  ++calls.running;
  state = PyEval_SaveThread();
  return true;
}

void EndFree(PyThreadState* state) noexcept {
  PyEval_RestoreThread(state);
  EndRequest();
}

void BeginRequest() {
  Calls& calls = TheCalls();
  const std::lock_guard lock(calls.mutex);
  ++calls.running;
}

void EndRequest() {
  Calls& calls = TheCalls();
  const std::lock_guard lock(calls.mutex);
  if (--calls.running == 0) calls.none_left.notify_all();
}

Callback::Callback() { ++callbacks; }
Callback::~Callback() { --callbacks; }

void Register(DeputySession* session) {
  FreeLeftOver();
  TheCalls().sessions.insert(session);
}

void Free(DeputySession* session) noexcept {
  TheCalls().sessions.erase(session);
  if (callbacks != 0) {
    TheCalls().left_over.push_back(session);
    return;
  }
  FreeUnlocked([session] { DeputySessionFree(session); });
  FreeLeftOver();
}

void AddCalls(nb::module_& module) {
  module.def("close", &Close, "Ends all runs and requests, and waits for them. Called at exit.");
}

}  // namespace deputy::python
