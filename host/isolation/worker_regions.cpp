// The regions of the host's memory that a worker has for its inputs.
#include "isolation/call.hpp"
#include "isolation/worker_link.hpp"

namespace deputy::host {

uint64_t WorkerLink::PlaceOf(const void* data, uint64_t size, const CallDeadline& run) {
  if (options_.arenas == nullptr) return 0;
  const std::optional<SharedArenas::Found> found = options_.arenas->Find(data, size);
  if (!found) return 0;
  const auto place = [&](uint32_t number) { return PlaceAt(number, found->offset); };
  uint32_t number = 0;
  {
    const std::lock_guard lock(regions_mutex_);
    if (const auto known = regions_.find(found->region.id); known != regions_.end()) return place(known->second);
    if (free_numbers_.empty()) {
      if (last_number_ + 1 == kMostRegions) return 0;
      free_numbers_.push_back(++last_number_);
    }
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  const bool shared = Share(found->region, number, run);
  uint32_t known = number;
  {
    const std::lock_guard lock(regions_mutex_);
    if (shared) known = regions_.try_emplace(found->region.id, number).first->second;
    if (shared && known == number) return place(number);
    free_numbers_.push_back(number);
  }
  if (!shared) return 0;
  // Another call has sent it meanwhile.
  SendFreed({found->region.id, number, 0});
  return place(known);
}

bool WorkerLink::Share(const SharedArenas::Region& region, uint32_t number, const CallDeadline& run) {
  const CallScope nothing;
  CallDeadline limit(options_, &run);
  RemoteCall call(*this, Function::kShareRegion, nothing, limit);
  call.Attach(region.descriptor->get());
  return !call.Make(RegionForm{region.id, number, region.size}).failed;
}

// The worker may hear of a region with the same number first, and takes both for different ones by their ids.
void WorkerLink::Freed(uint64_t region) {
  RegionForm form{region, 0, 0};
  {
    const std::lock_guard lock(regions_mutex_);
    const auto known = regions_.find(region);
    if (known == regions_.end()) return;
    form.region = known->second;
    regions_.erase(known);
    free_numbers_.push_back(form.region);
  }
  SendFreed(form);
}

// Unread, the worker would keep the memory.
void WorkerLink::SendFreed(const RegionForm& region) {
  if (SendControl(Function::kFreeRegion, Encode(region), TimeLimit::Within(options_.call_timeout)) ==
      Transfer::kOverdue)
    Condemn("does not read what it is sent");
}

}  // namespace deputy::host
