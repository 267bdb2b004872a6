// Memory of the host that worker processes map for reading: arenas of plans and tensors of the application, so that
// inputs of a partition which lie there are not copied. No process but this one can write it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "base/aligned.hpp"
#include "base/file.hpp"

namespace deputy::host {

// Hears of regions that are freed.
class SharedArenaUser {
 public:
  virtual ~SharedArenaUser() = default;
  // Its worker unmaps the region; does not wait. [any-thread]
  virtual void Freed(uint64_t region) = 0;
};

// [any-thread]
class SharedArenas final : public ArenaSource, public std::enable_shared_from_this<SharedArenas> {
 public:
  static std::shared_ptr<SharedArenas> Make() { return std::shared_ptr<SharedArenas>(new SharedArenas); }

  // Zeros. Memory of this process alone, with a warning, where no more of it can be shared.
  std::shared_ptr<uint8_t> Allocate(size_t bytes) override;

  struct Region {
    uint64_t id = 0;  // never used again
    uint64_t size = 0;
    std::shared_ptr<const Descriptor> descriptor;
  };
  struct Found {
    Region region;
    uint64_t offset = 0;
  };
  // The region that holds all of these bytes.
  std::optional<Found> Find(const void* data, uint64_t size) const;
  // Changes with the regions: as long as it is the same, Find has the same results.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // Until Remove() returns, `user` hears of every region that is freed.
  void Add(SharedArenaUser& user);
  void Remove(SharedArenaUser& user);

 private:
  SharedArenas() = default;
  void Free(uint8_t* data);

  mutable std::shared_mutex mutex_;
  std::map<const uint8_t*, Region> regions_;  // by their addresses
  uint64_t last_id_ = 0;
  std::atomic<uint64_t> generation_{1};
  std::mutex users_mutex_;
  std::vector<SharedArenaUser*> users_;
};

}  // namespace deputy::host
