// AssignOffsets: one walk over the steps with a list of free holes.
#include <map>
#include <vector>

#include "base/aligned.hpp"
#include "plan/plan.hpp"

namespace deputy::host {
namespace {

// Free ranges of an arena that grows at its end.
class Holes {
 public:
  size_t Take(size_t bytes) {
    // A size beyond the address space is reported by the size of the whole arena.
    if (bytes > SIZE_MAX - end_) too_large_ = true;
    if (too_large_) return 0;
    // The smallest hole that fits; ties at the lowest offset, so that the result does not depend on history.
    auto best = holes_.end();
    for (auto it = holes_.begin(); it != holes_.end(); ++it)
      if (it->second >= bytes && (best == holes_.end() || it->second < best->second)) best = it;
    if (best == holes_.end()) {
      // Extends the hole at the very end, if there is one.
      if (!holes_.empty() && std::prev(holes_.end())->first + std::prev(holes_.end())->second == end_) {
        const size_t offset = std::prev(holes_.end())->first;
        holes_.erase(std::prev(holes_.end()));
        end_ = offset + bytes;
        return offset;
      }
      const size_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const auto [offset, size] = *best;
    holes_.erase(best);
    if (size > bytes) holes_[offset + bytes] = size - bytes;
    return offset;
  }

  void Give(size_t offset, size_t bytes) {
    if (too_large_) return;
    auto next = holes_.lower_bound(offset);
    if (next != holes_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    holes_[offset] = bytes;
  }

  size_t end() const { return too_large_ ? SIZE_MAX : end_; }

 private:
  std::map<size_t, size_t> holes_;  // offset to size; never adjacent
  size_t end_ = 0;
  bool too_large_ = false;
};

}  // namespace

size_t AssignOffsets(std::span<Slot> slots, std::span<const uint32_t> first, std::span<const uint32_t> last,
                     size_t step_count) {
  std::vector<std::vector<uint32_t>> begins(step_count), ends(step_count);
  for (uint32_t id = 0; id < slots.size(); ++id) {
    if (slots[id].storage != StorageClass::kArena) continue;
    begins[first[id]].push_back(id);
    ends[last[id]].push_back(id);
  }
  const auto padded = [&](uint32_t id) { return std::max(kAlignment, AlignUp(slots[id].bytes)); };
  Holes holes;
  for (size_t step = 0; step < step_count; ++step) {
    // Outputs are placed before inputs are released: a step never overwrites the values that it reads, so that a
    // fallback can start with the same inputs if this step fails.
    for (const uint32_t id : begins[step]) slots[id].offset = holes.Take(padded(id));
    for (const uint32_t id : ends[step]) holes.Give(slots[id].offset, padded(id));
  }
  return holes.end();
}

}  // namespace deputy::host
