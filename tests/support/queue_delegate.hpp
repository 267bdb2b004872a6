// A delegate of the application with a queue: Relu, whose runs a test ends.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "deputy/sdk/sdk.hpp"

namespace deputy {

// What was submitted and has not ended. [any-thread]
class Queue {
 public:
  // Before the delegate is used.
  std::function<sdk::Status(const sdk::RunArgs&)> on_submit = [](const sdk::RunArgs&) { return sdk::Status(); };
  std::function<sdk::QueueChoice(sdk::Span<const deputy_ready_run* const>)> choose = [](auto) {
    return sdk::QueueChoice();
  };
  std::function<void()> on_cancel = [] {};
  sdk::QueueLimits limits;
  std::atomic<bool> holds{false};  // runs until End is called; else they end within Submit

  void Add(sdk::SubmittedRun& run) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      begun_.push_back(run.args().input(0).values<float>()[0]);
      in_flight_.push_back(&run);
      most_ = std::max(most_, in_flight_.size());
      if (holds) return;
    }
    End();
  }
  // Ends the first of them. False: there is none.
  bool End(sdk::Status status = {}) {
    sdk::SubmittedRun* run = nullptr;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (in_flight_.empty()) return false;
      run = in_flight_.front();
      in_flight_.erase(in_flight_.begin());
    }
    if (status.ok()) {
      const sdk::Span<float> in = run->args().input(0).values<float>(), out = run->args().output(0).values<float>();
      for (size_t i = 0; i < in.size(); ++i) out[i] = in[i] > 0 ? in[i] : 0;
    }
    run->End(std::move(status));
    return true;
  }
  size_t in_flight() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return in_flight_.size();
  }
  bool any_cancelled() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(in_flight_.begin(), in_flight_.end(), [](const auto* run) { return run->args().cancelled(); });
  }
  size_t most_in_flight() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return most_;
  }
  // The first element of each run's input, in the order in which they were submitted, since the last call.
  std::vector<float> TakeBegun() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(begun_, {});
  }

 private:
  mutable std::mutex mutex_;  // of all below
  std::vector<sdk::SubmittedRun*> in_flight_;
  std::vector<float> begun_;
  size_t most_ = 0;
};

class QueueDelegate final : public sdk::PartitionDelegate {
 public:
  static constexpr uint32_t kExtensions = sdk::kAsync | sdk::kQueues;
  explicit QueueDelegate(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}

  sdk::Verdict Supports(const sdk::NodeView& node) override {
    return node.Is("Relu") ? sdk::Verdict::Yes() : sdk::Verdict::No(sdk::Reason::kOperatorUnknown);
  }
  sdk::Result<std::unique_ptr<sdk::Executable>> Compile(const sdk::PartitionView&) override {
    return std::unique_ptr<sdk::Executable>(std::make_unique<Compiled>(queue_));
  }
  sdk::QueueLimits queue_limits() const override { return queue_->limits; }
  sdk::QueueChoice Choose(sdk::Span<const deputy_ready_run* const> ready) override { return queue_->choose(ready); }

 private:
  struct Run final : sdk::ExecutionContext {
    explicit Run(std::shared_ptr<Queue> given) : queue(std::move(given)) {}
    sdk::Status Execute(const sdk::RunArgs&) override {
      return sdk::Status(sdk::Code::kInternal, "the host does not call it");
    }
    sdk::Status Submit(sdk::SubmittedRun& run) override {
      DEPUTY_SDK_RETURN_IF_ERROR(queue->on_submit(run.args()));
      queue->Add(run);
      return {};
    }
    void Cancel() override { queue->on_cancel(); }
    const std::shared_ptr<Queue> queue;
  };
  struct Compiled final : sdk::Executable {
    explicit Compiled(std::shared_ptr<Queue> given) : queue(std::move(given)) {}
    sdk::Result<std::unique_ptr<sdk::ExecutionContext>> CreateContext() override {
      return std::unique_ptr<sdk::ExecutionContext>(std::make_unique<Run>(queue));
    }
    const std::shared_ptr<Queue> queue;
  };

  const std::shared_ptr<Queue> queue_;
};

}  // namespace deputy
