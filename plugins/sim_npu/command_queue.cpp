#include "command_queue.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

namespace sim_npu {

using deputy::sdk::Code;
using deputy::sdk::ExecutionContext;
using deputy::sdk::Status;
using deputy::sdk::SubmittedRun;

CommandQueue::~CommandQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    quits_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void CommandQueue::Add(ExecutionContext& context, SubmittedRun& run) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Start()) {
      waiting_.push_back({&context, &run});
      changed_.notify_one();
      return;
    }
  }
  Execute({&context, &run});
}

bool CommandQueue::Start() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void CommandQueue::EndCancelled() {
  std::vector<Command> cancelled;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto first = std::stable_partition(waiting_.begin(), waiting_.end(),
                                             [](const Command& one) { return !one.run->args().cancelled(); });
    cancelled.assign(first, waiting_.end());
    waiting_.erase(first, waiting_.end());
  }
  for (const Command& one : cancelled) one.run->End(Status(Code::kCancelled, "the run was cancelled"));
}

void CommandQueue::Execute(const Command& command) {
  Status status;
  try {
    status = command.context->Execute(command.run->args());
  } catch (const std::exception& error) {
    status = Status(Code::kInternal, error.what());
  } catch (...) {
    status = Status(Code::kInternal, "an exception of unknown type");
  }
  command.run->End(std::move(status));
}

void CommandQueue::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return quits_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Command command = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Execute(command);
    lock.lock();
  }
}

}  // namespace sim_npu
