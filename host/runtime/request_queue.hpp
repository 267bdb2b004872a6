// Requests of one session that are in flight: runners compute them, each on its own thread, and one further thread
// delivers their results to the callbacks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/turn.hpp"
#include "deputy/model.hpp"
#include "runtime/execution_hold.hpp"

namespace deputy::host {

struct QueuedRequest {
  PredictResult result;
  PredictCallback done;
  uint64_t timeout_ns = 0;  // from result.submitted_ns; 0: none
  int32_t priority = 0;     // the largest begins first where results come as they end
};

// Computes one request at a time.
class RequestRunner {
 public:
  virtual ~RequestRunner() = default;
  // Sets outputs and status. `cancelled` is set before a call of Cancel, which may come before the run has begun.
  virtual void Run(QueuedRequest& request, const std::atomic<bool>& cancelled) = 0;
  // Ends the current run, if there is one. [any-thread]
  virtual void Cancel() = 0;
};

// Allocates only when it is made. [any-thread]
class RequestQueue {
 public:
  // `most`: requests that are accepted and whose results are not yet delivered. `in_use`, which outlives this, is
  // kRequests while there are any. Numbers of requests follow `last_number`.
  static Result<std::unique_ptr<RequestQueue>> Start(std::vector<std::unique_ptr<RequestRunner>> runners, size_t most,
                                                     ResultOrder order, std::atomic<SessionUse>& in_use,
                                                     uint64_t last_number = 0);
  // Cancels all requests, and returns after their callbacks have. Not from a callback.
  ~RequestQueue();
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // The number of the request. kUnavailable where `most` are in flight, kFailedPrecondition where
  // `in_use` is that of others: `request` is unchanged.
  Result<uint64_t> Submit(QueuedRequest& request);
  void Cancel(uint64_t number);
  void CancelAll();
  uint64_t last_number() const;
  // Whether this thread is in a callback.
  bool calls_back() const { return threads_.back().get_id() == std::this_thread::get_id(); }

 private:
  enum class Stage : uint8_t { kFree, kQueued, kRunning, kEnded };
  struct Slot {
    Stage stage = Stage::kFree;
    bool has_begun = false;
    Turn turn;
    std::atomic<bool> cancelled{false};
    QueuedRequest request;
    RequestRunner* runner = nullptr;  // while it runs

    uint64_t number() const { return request.result.request; }
  };

  RequestQueue(std::vector<std::unique_ptr<RequestRunner>> runners, size_t most, ResultOrder order,
               std::atomic<SessionUse>& in_use, uint64_t last_number)
      : runners_(std::move(runners)), order_(order), in_use_(in_use), slots_(most), last_number_(last_number) {}
  void RunRequests(RequestRunner& runner);
  void Complete();
  // The request of the stage with the smallest number; null: there is none.
  Slot* First(Stage stage);
  // The request that begins next; null: there is none.
  Slot* Next();
  // One whose result can be delivered now; null: there is none.
  Slot* Completed();
  // Ends those that have not begun in time; the first deadline of the others, UINT64_MAX: none.
  uint64_t EndOverdue();
  void CancelSlot(Slot& slot);
  bool is_idle() const;

  const std::vector<std::unique_ptr<RequestRunner>> runners_;
  const ResultOrder order_;
  std::atomic<SessionUse>& in_use_;
  mutable std::mutex mutex_;  // of all below but the threads
  std::condition_variable queued_, ended_;
  std::vector<Slot> slots_;
  uint64_t last_number_;
  bool quits_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace deputy::host
