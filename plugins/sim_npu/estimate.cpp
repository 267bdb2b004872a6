// The cost of a partition on the device, computed by the same lowering that compiles it.
#include <algorithm>
#include <string>

#include "program.hpp"

namespace sim_npu {

using deputy::sdk::Host;
using deputy::sdk::PartitionEstimate;
using deputy::sdk::PartitionView;

size_t Program::BytesOf(size_t steps) const {
  uint64_t constants = 0;
  for (size_t i = 0; i < steps; ++i) constants += steps_[i].layer->constant_bytes();
  std::vector<Lifetime> tensors;
  for (const Lifetime& tensor : tensors_) {
    if (tensor.first > steps) continue;
    // A tensor read by later steps is an output now: it lives until the end, where it is copied out.
    tensors.push_back({tensor.elements, tensor.first, std::min(tensor.last, steps + 1), 0});
  }
  return static_cast<size_t>(constants) + PlanArena(tensors) * kElementBytes;
}

PartitionEstimate Program::Estimate(const PartitionView& partition, const Host& host, std::shared_ptr<Device> device) {
  Program program(host, std::move(device));
  if (const deputy::sdk::Status lowered = program.Lower(partition, program.constants_); !lowered.ok())
    return PartitionEstimate::Infeasible(lowered.message());
  const size_t budget = program.device_->memory->budget(), count = program.steps_.size();
  PartitionEstimate estimate;
  size_t fits = count;
  if (program.BytesOf(count) > budget) {
    constexpr size_t kKibibyte = 1024;
    estimate.reason = "needs " + std::to_string(program.BytesOf(count) / kKibibyte) + " KiB of device memory of " +
                      std::to_string(budget / kKibibyte);
    size_t too_many = count;
    for (fits = 0; too_many - fits > 1;) {
      const size_t middle = (fits + too_many) / 2;
      (program.BytesOf(middle) > budget ? too_many : fits) = middle;
    }
  }
  estimate.feasible = fits > 0;
  for (size_t i = fits; i < count; ++i) {
    estimate.give_back.push_back(partition.nodes()[i].id());
    program.cycles_ -= program.steps_[i].cycles;
  }
  const uint64_t hz = program.device_->clock.hz();
  estimate.latency_ns = NanosecondsOf(program.cycles_, hz);
  estimate.energy_nj = NanojoulesOf(program.cycles_, hz);
  estimate.memory_bytes = program.BytesOf(fits);
  return estimate;
}

}  // namespace sim_npu
