// What is not given back.
#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "liars.hpp"

namespace liars {
namespace {

struct BytesOfRun final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    void* volatile kept = std::malloc(64);
    if (kept != nullptr) std::memset(kept, 1, 64);
    return Fault::Run(session, args);
  }
};

struct DescriptorOfContext final : Fault {
  void Begin(Session&) override { static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC)); }
};

// The helper thread of each compilation waits for work that never comes.
struct ThreadOfCompile final : Fault {
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
  };
  Status Compile(const sdk::PartitionView&, Program&) override {
    static auto* const queue = new Queue;
    std::thread([] {
      std::unique_lock<std::mutex> lock(queue->mutex);
      for (;;) queue->changed.wait(lock);
    }).detach();
    return {};
  }
};

// Asks the host for the named data of the model, and drops the status.
struct StatusDropped final : Fault {
  Status Run(Session& session, const sdk::RunArgs& args) override {
    static constexpr char kText[] = "the hint was not used";
    const deputy_host* host = session.host().table();
    static_cast<void>(host->status_new(host->self, DEPUTY_NOT_FOUND, DEPUTY_NO_NODE, kText, sizeof kText - 1));
    return Fault::Run(session, args);
  }
};

}  // namespace

FaultRows LeakFaults() {
  return {Of<BytesOfRun>("bytes-of-run"), Of<DescriptorOfContext>("descriptor-of-context"),
          Of<ThreadOfCompile>("thread-of-compile"), Of<StatusDropped>("status-dropped")};
}

}  // namespace liars
