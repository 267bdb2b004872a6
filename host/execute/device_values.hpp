// The values of a plan that delegates keep in memory of their devices: which copy of a value is current, and the copies
// between host and device. A value that only one delegate touches stays on its device; every other copy is made once,
// where a reader needs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "execute/bound_step.hpp"
#include "execute/execution.hpp"
#include "memory/device_memory.hpp"

namespace deputy::host {

// Where steps overlap, those of one delegate run on one thread, and failures are answered on the thread of the run when
// the steps that wrote their inputs have ended: each mark below is written by one thread at a time.
class Execution::DeviceValues {
 public:
  // Null: no context wants memory of a device.
  static std::unique_ptr<DeviceValues> Make(Execution& execution);

  // Keeps an input of the graph, or an output that a step writes, in this buffer from the next run on; null: in memory
  // of the execution's own. False: the buffer is lost, of another memory than that of the delegates that touch the
  // value, or too small.
  bool Bind(ValueId value, bool is_input, const std::shared_ptr<DeviceBuffer>& buffer);
  // Where a delegate wants a value; none: all want it in host memory.
  std::optional<DevicePlace> PlaceOf(ValueId value, bool is_input) const;

  // Before a run: no copy is current but those of constants and bound inputs. Values of a memory that has ended are in
  // host memory from now on, but for those in bound buffers, which are lost.
  void Begin();
  // Bound inputs to the host, where a reader needs them there; and after the steps, bound outputs to their buffers
  // where others than the delegate have written them.
  Status ReadyInputs();
  Status ReadyOutputs();

  // What the delegate of the step gets.
  std::span<const deputy_tensor* const> inputs(const BoundStep& step) const { return steps_[step.index].inputs; }
  std::span<deputy_tensor* const> outputs(const BoundStep& step) const { return steps_[step.index].outputs; }

  // Whether the delegate of the step gets memory that it has imported.
  bool HasImports(const BoundStep& step) const {
    const DeviceStep& bound = steps_[step.index];
    const auto is_imported = [](const DeviceCopy* copy) {
      return copy->bound != nullptr && copy->bound->host() != nullptr;
    };
    return std::any_of(bound.reads.begin(), bound.reads.end(), is_imported) ||
           std::any_of(bound.writes.begin(), bound.writes.end(), is_imported);
  }

  // Before the delegate runs the step: its inputs to where it wants them. After its success: its outputs to the host,
  // where a reader needs them there.
  Status Upload(BoundStep& step);
  Status Finish(BoundStep& step);
  // What the step reads, or has written, to the host as well: for alternatives, verification and observers. After a
  // failure of inputs the run must begin again.
  Status InputsToHost(const BoundStep& step);
  Status OutputsToHost(const BoundStep& step);
  // The outputs of the step in host memory were written by others than its delegate.
  void WroteOnHost(const BoundStep& step);

  // The step failed with kDeviceLost: its delegate's buffers are not valid any more.
  void Lose(const BoundStep& step, const Status& why);
  // A failure cannot be answered, since the inputs of the step are lost. True: the run begins again, without the
  // device.
  bool TakeReplay();
  // The delegate of the step lost its device in this run, which goes on without it.
  bool Avoids(const BoundStep& step) const {
    Domain* const domain = steps_[step.index].domain;
    return domain != nullptr && IsLost(*domain);
  }
  // The failure that the alternative of this step answers in a run that has begun again; OK for every other step.
  Status TakeLoss(const BoundStep& step);

  void ForgetCounts() {
    for (DeviceStep& step : steps_) step.copies = {};
  }
  // Of the step, since the last call.
  CopyCounts TakeCopies(size_t step) { return std::exchange(steps_[step].copies, {}); }

 private:
  // The memory of a delegate, and what has become of it in the run.
  struct Domain {
    std::shared_ptr<DeviceMemory> memory;
    std::atomic<uint64_t> seen{0};  // losses of the memory when its copies were made
    std::atomic<bool> lost{false};  // in this run
    bool answered = false;          // the run has begun again without it
    Mutex mutex;
    Status why DEPUTY_GUARDED_BY(mutex);
    size_t step DEPUTY_GUARDED_BY(mutex) = SIZE_MAX;  // that failed; SIZE_MAX: its failure is answered
  };
  struct Use {
    size_t step, position;
    bool is_input;
  };
  // A value in a memory.
  struct DeviceCopy {
    ValueId value = kNone;
    Domain* domain = nullptr;
    size_t byte_size = 0, alignment = 0;
    std::vector<Use> uses;
    size_t place = SIZE_MAX;  // in places_; SIZE_MAX: it has a buffer of its own
    std::shared_ptr<DeviceBuffer> buffer;
    std::shared_ptr<DeviceBuffer> bound;  // in its place
    bool is_placed = false;               // false: it stays in host memory
    deputy_tensor shown{};
    bool current = false;
    bool is_constant = false;
    bool for_host = false;  // a reader needs in host memory what is written there

    bool is_read_only() const {
      return std::all_of(uses.begin(), uses.end(), [](const Use& use) { return use.is_input; });
    }
    // What one step alone touches its delegate copies itself.
    bool is_shared() const {
      return std::any_of(uses.begin(), uses.end(), [this](const Use& use) { return use.step != uses.front().step; });
    }
    // Uses are in the order of the steps.
    size_t first_step() const { return uses.front().step; }
    size_t last_step() const { return uses.back().step; }
  };
  // The buffer of values that are not needed at once.
  struct SharedPlace {
    const Domain* domain;
    size_t byte_size, alignment;
    std::vector<const DeviceCopy*> copies;
    std::weak_ptr<DeviceBuffer> buffer;
  };
  struct DeviceStep {
    std::vector<const deputy_tensor*> inputs;
    std::vector<deputy_tensor*> outputs;
    std::vector<DeviceCopy*> reads, writes;
    Domain* domain = nullptr;
    CopyCounts copies;

    void Count(const deputy_tensor& copied) {
      ++copies.count;
      copies.bytes += copied.byte_size;
    }
  };

  explicit DeviceValues(Execution& execution);
  void Want(const BoundStep& step, const std::shared_ptr<DeviceMemory>& memory, size_t index);
  Domain& DomainOf(const std::shared_ptr<DeviceMemory>& memory);
  // Assigns places to values, where steps run one after another.
  void AssignPlaces();
  // Shows its steps the copy on the device, or that of the host.
  void Place(DeviceCopy& copy, bool on_device);
  bool Allocate(DeviceCopy& copy);
  void FindHostReaders();
  void ForgetCopies();
  void Restore(Domain& domain);
  // Another place for a copy in a domain that was lost. False: there is none.
  bool Replace(DeviceCopy& copy);
  Status ToHost(ValueId value, DeviceStep& step);
  // Also by another execution.
  static bool IsLost(Domain& domain);
  static Status WhyOf(Domain& domain);
  static void Set(Domain& domain, size_t step, const Status& why);

  Execution& execution_;
  std::deque<Domain> domains_;
  std::deque<DeviceCopy> copies_;  // the descriptors of steps point into it
  std::vector<SharedPlace> places_;
  std::vector<DeviceStep> steps_;     // per step of the plan
  std::vector<DeviceCopy*> written_;  // per value: the copy that its step writes; null: it writes to the host
  std::vector<uint8_t> on_host_;      // per value: what the host has is current
  bool replays_ = false;
};

}  // namespace deputy::host
