// The memory by which the two sides of a channel reach each other without a system call while both are awake: a bell
// for each direction, and a slot for the message of a run and one for its answer. Each side may write all of it: a
// reader takes a word once, and checks what it has taken.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isolation/messages.hpp"

namespace deputy::host {

// A counter on which one thread waits for another, of any process. The waiting thread may sleep for longer than
// needed if the other side's process changes the words against their meaning, but not for longer than its limit.
class Bell {
 public:
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  // What was written before is seen by a thread that sees the new count.
  void Ring();
  // Sleeps until the count is another one than `seen`, and not for longer than `most`; for as long as it takes if that
  // is negative.
  void Sleep(uint32_t seen, std::chrono::nanoseconds most);

 private:
  std::atomic<uint32_t> count_;
  std::atomic<uint32_t> sleeps_;  // a thread is in Sleep
};

// Where the message of a call is.
enum class CallPlace : uint32_t { kSocket, kSlot, kNowhere };  // kNowhere: the channel is closed

// The most words of a message in a slot; longer ones are sent on the socket.
inline constexpr uint32_t kSlotWords = 480;

struct ChannelPage {
  alignas(64) Bell calls;           // of the host
  std::atomic<uint32_t> cancelled;  // a call in progress should end
  std::atomic<uint32_t> spin_ns;    // how long a side polls before it sleeps
  std::atomic<uint32_t> channel;    // the number of the channel, as the high half of the number of a call
  std::atomic<uint32_t> number;     // of the call in the slot
  std::atomic<CallPlace> place;
  std::atomic<Function> function;
  std::atomic<uint32_t> call_words;
  alignas(64) Bell answers;        // of the worker, and of the host's watcher when the worker has ended
  std::atomic<uint32_t> answered;  // the number of the call whose answer is in the slot
  std::atomic<uint32_t> answer_words;
  std::atomic<uint32_t> submitted;   // the number of the last call whose run the delegate has begun, and ends by itself
  std::atomic<uint32_t> sent_first;  // messages of that call are on the socket
  alignas(64) uint64_t call[kSlotWords];
  uint64_t answer[kSlotWords];
};
static_assert(std::atomic<CallPlace>::is_always_lock_free && std::atomic<Function>::is_always_lock_free);

// The number of a call: that of its channel, and that of the call among those of the channel.
constexpr uint64_t CallNumber(uint32_t channel, uint32_t number) { return uint64_t{channel} << 32 | number; }

// Whether the host waits for the answer at the bell; at the socket otherwise.
inline bool IsRun(Function function) {
  return function == Function::kExecute || function == Function::kExecuteAgain || function == Function::kCompute;
}

// Copies the words of a message into a slot. False: there are too many.
bool PutWords(uint64_t* slot, std::atomic<uint32_t>& count, const std::vector<uint64_t>& words);
// Copies them out of it. False: the other side has written an invalid count.
bool TakeWords(const uint64_t* slot, const std::atomic<uint32_t>& count, std::vector<uint64_t>& words);

}  // namespace deputy::host
