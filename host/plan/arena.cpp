#include "plan/arena.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/aligned.hpp"
#include "base/compressed_lists.hpp"

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
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) {
      size_t offset = end_;
      // Extends the hole at the very end, if there is one.
      if (!holes_.empty() && std::prev(holes_.end())->first + std::prev(holes_.end())->second == end_)
        offset = Remove(std::prev(holes_.end()));
      end_ = offset + bytes;
      return offset;
    }
    const auto [size, offset] = *best;
    Remove(holes_.find(offset));
    if (size > bytes) Add(offset + bytes, size - bytes);
    return offset;
  }

  void Give(size_t offset, size_t bytes) {
    if (too_large_) return;
    const auto next = holes_.lower_bound(offset);
    const auto before = next == holes_.begin() ? holes_.end() : std::prev(next);
    if (next != holes_.end() && offset + bytes == next->first) {
      bytes += next->second;
      Remove(next);
    }
    if (before != holes_.end() && before->first + before->second == offset) {
      bytes += before->second;
      offset = Remove(before);
    }
    Add(offset, bytes);
  }

  size_t end() const { return too_large_ ? SIZE_MAX : end_; }

 private:
  void Add(size_t offset, size_t bytes) {
    holes_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  // Returns its offset.
  size_t Remove(std::map<size_t, size_t>::iterator hole) {
    const size_t offset = hole->first;
    by_size_.erase({hole->second, offset});
    holes_.erase(hole);
    return offset;
  }

  std::map<size_t, size_t> holes_;               // offset to size; never adjacent
  std::set<std::pair<size_t, size_t>> by_size_;  // the same: size and offset
  size_t end_ = 0;
  bool too_large_ = false;
};

size_t PaddedBytes(const Slot& slot) { return std::max(kAlignment, AlignUp(slot.bytes)); }

}  // namespace

size_t AssignOffsets(std::span<Slot> slots, std::span<const uint32_t> first, std::span<const uint32_t> last,
                     size_t step_count) {
  const auto at_each = [&](std::span<const uint32_t> step_of) {
    return CompressedLists(step_count, [&](const auto& add) {
      for (uint32_t id = 0; id < slots.size(); ++id)
        if (slots[id].storage == StorageClass::kArena) add(step_of[id], id);
    });
  };
  const CompressedLists begins = at_each(first), ends = at_each(last);
  Holes holes;
  for (size_t step = 0; step < step_count; ++step) {
    // Outputs are placed before inputs are released: a step never overwrites the values that it reads, so that a
    // fallback can start with the same inputs if this step fails.
    for (const uint32_t id : begins[step]) slots[id].offset = holes.Take(PaddedBytes(slots[id]));
    for (const uint32_t id : ends[step]) holes.Give(slots[id].offset, PaddedBytes(slots[id]));
  }
  return holes.end();
}

size_t AssignOffsets(std::span<Slot> slots, FunctionRef<bool(uint32_t, uint32_t)> apart) {
  std::vector<uint32_t> waiting, placed;  // the latter by offset
  for (uint32_t id = 0; id < slots.size(); ++id)
    if (slots[id].storage == StorageClass::kArena) waiting.push_back(id);
  std::stable_sort(waiting.begin(), waiting.end(),
                   [&](uint32_t a, uint32_t b) { return slots[a].bytes > slots[b].bytes; });
  size_t total = 0;
  for (const uint32_t id : waiting) {
    const size_t bytes = PaddedBytes(slots[id]);
    // The smallest gap that fits between those that live at the same time, or their end.
    size_t end = 0, smallest = SIZE_MAX;
    for (const uint32_t other : placed) {
      if (apart(id, other)) continue;
      const size_t offset = slots[other].offset;
      if (offset >= end && offset - end >= bytes && offset - end < smallest) {
        smallest = offset - end;
        slots[id].offset = end;
      }
      end = std::max(end, offset + PaddedBytes(slots[other]));
    }
    if (smallest == SIZE_MAX) slots[id].offset = end;
    if (bytes > SIZE_MAX - slots[id].offset) return SIZE_MAX;
    total = std::max(total, slots[id].offset + bytes);
    const auto by_offset = [&](uint32_t a, uint32_t b) { return slots[a].offset < slots[b].offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), id, by_offset), id);
  }
  return total;
}

}  // namespace deputy::host
