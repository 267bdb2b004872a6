#include "runtime/request_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/cancellation.hpp"
#include "base/thread.hpp"

namespace deputy::host {

Result<std::unique_ptr<RequestQueue>> RequestQueue::Start(std::vector<std::unique_ptr<RequestRunner>> runners,
                                                          size_t most, ResultOrder order,
                                                          std::atomic<SessionUse>& in_use, uint64_t last_number) {
  std::unique_ptr<RequestQueue> made(new RequestQueue(std::move(runners), most, order, in_use, last_number));
  made->threads_.reserve(made->runners_.size() + 1);
  for (const std::unique_ptr<RequestRunner>& runner : made->runners_) {
    DEPUTY_ASSIGN_OR_RETURN(std::thread thread,
                            StartThread([self = made.get(), &runner = *runner] { self->RunRequests(runner); }));
    made->threads_.push_back(std::move(thread));
  }
  DEPUTY_ASSIGN_OR_RETURN(std::thread thread, StartThread([self = made.get()] { self->Complete(); }));
  made->threads_.push_back(std::move(thread));
  return made;
}

RequestQueue::~RequestQueue() {
  {
    const std::lock_guard lock(mutex_);
    for (Slot& slot : slots_) CancelSlot(slot);
    quits_ = true;
  }
  queued_.notify_all();
  ended_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Result<uint64_t> RequestQueue::Submit(QueuedRequest& request) {
  const std::lock_guard lock(mutex_);
  Slot* const slot = First(Stage::kFree);
  if (slot == nullptr || quits_)
    return Error(StatusCode::kUnavailable, "{} requests are in flight, the most of this session", slots_.size())
        .Advise("submit again when a result has come, or raise the number with SetInFlight");
  SessionUse free = SessionUse::kFree;
  if (is_idle() && !in_use_.compare_exchange_strong(free, SessionUse::kRequests, std::memory_order_acquire))
    return Error(StatusCode::kFailedPrecondition, "another thread uses the session");
  slot->request = std::move(request);
  PredictResult& result = slot->request.result;
  result.request = ++last_number_;
  result.submitted_ns = NowNs();
  result.begun_ns = result.ended_ns = 0;
  result.status = Status();
  slot->has_begun = false;
  slot->turn = {last_number_, slot->request.priority};
  slot->cancelled = false;
  slot->stage = Stage::kQueued;
  queued_.notify_one();
  if (slot->request.timeout_ns != 0) ended_.notify_one();  // it waits for the next deadline
  return last_number_;
}

void RequestQueue::Cancel(uint64_t number) {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_)
    if (slot.stage != Stage::kFree && slot.number() == number) CancelSlot(slot);
}

void RequestQueue::CancelAll() {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) CancelSlot(slot);
}

uint64_t RequestQueue::last_number() const {
  const std::lock_guard lock(mutex_);
  return last_number_;
}

bool RequestQueue::is_idle() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.stage == Stage::kFree; });
}

void RequestQueue::CancelSlot(Slot& slot) {
  slot.cancelled = true;
  if (slot.stage == Stage::kRunning) slot.runner->Cancel();
  if (slot.stage != Stage::kQueued) return;
  slot.request.result.status = Status(StatusCode::kCancelled, "the request was cancelled before it began");
  slot.stage = Stage::kEnded;
  ended_.notify_one();
}

RequestQueue::Slot* RequestQueue::First(Stage stage) {
  Slot* first = nullptr;
  for (Slot& slot : slots_)
    if (slot.stage == stage && (first == nullptr || slot.number() < first->number())) first = &slot;
  return first;
}

RequestQueue::Slot* RequestQueue::Next() {
  if (order_ == ResultOrder::kAsSubmitted) return First(Stage::kQueued);
  Slot* next = nullptr;
  for (Slot& slot : slots_)
    if (slot.stage == Stage::kQueued && (next == nullptr || slot.turn.Precedes(next->turn))) next = &slot;
  return next;
}

RequestQueue::Slot* RequestQueue::Completed() {
  Slot *oldest = nullptr, *ended = nullptr;
  for (Slot& slot : slots_) {
    if (slot.stage == Stage::kFree) continue;
    // No result of it is in the order of the others.
    if (slot.stage == Stage::kEnded && !slot.has_begun) return &slot;
    if (oldest == nullptr || slot.number() < oldest->number()) oldest = &slot;
    if (slot.stage == Stage::kEnded &&
        (ended == nullptr || slot.request.result.ended_ns < ended->request.result.ended_ns))
      ended = &slot;
  }
  if (order_ == ResultOrder::kAsTheyEnd) return ended;
  return oldest != nullptr && oldest->stage == Stage::kEnded ? oldest : nullptr;
}

uint64_t RequestQueue::EndOverdue() {
  const uint64_t now_ns = NowNs();
  uint64_t next_ns = UINT64_MAX;
  for (Slot& slot : slots_) {
    if (slot.stage != Stage::kQueued || slot.request.timeout_ns == 0) continue;
    const uint64_t deadline_ns = slot.request.result.submitted_ns + slot.request.timeout_ns;
    if (now_ns <= deadline_ns) {
      next_ns = std::min(next_ns, deadline_ns);
      continue;
    }
    slot.request.result.status =
        Status(StatusCode::kDeadlineExceeded, "the time limit of the request was over before it began");
    slot.stage = Stage::kEnded;
  }
  return next_ns;
}

void RequestQueue::RunRequests(RequestRunner& runner) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Slot* slot = nullptr;
    queued_.wait(lock, [&] { return (slot = Next()) != nullptr || quits_; });
    if (slot == nullptr) return;
    EndOverdue();
    if (slot->stage == Stage::kQueued) {
      slot->stage = Stage::kRunning;
      slot->has_begun = true;
      slot->runner = &runner;
      slot->request.result.begun_ns = NowNs();
      for (Slot& earlier : slots_)
        if (earlier.stage == Stage::kQueued) earlier.turn.LetPass(slot->turn);
      lock.unlock();
      runner.Run(slot->request, slot->cancelled);
      lock.lock();
      slot->request.result.ended_ns = NowNs();
      slot->stage = Stage::kEnded;
    }
    ended_.notify_one();
  }
}

void RequestQueue::Complete() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const uint64_t next_ns = EndOverdue();
    if (Slot* const slot = Completed(); slot != nullptr) {
      // The slot is free before the callback, which may submit the next request.
      QueuedRequest request = std::move(slot->request);
      slot->stage = Stage::kFree;
      if (is_idle()) in_use_.store(SessionUse::kFree, std::memory_order_release);
      if (request.result.ended_ns == 0) request.result.ended_ns = NowNs();
      lock.unlock();
      request.done(std::move(request.result));
      request = {};  // owners of what the callback left may call the session
      lock.lock();
      continue;
    }
    if (quits_ && is_idle()) return;
    WaitUntil(ended_, lock, next_ns);
  }
}

}  // namespace deputy::host
