#include <algorithm>
#include <map>

#include "executable.hpp"

namespace onednn {
namespace {

// Free ranges of an arena that grows; allocation takes the first of the smallest ranges that are large enough.
class FreeList {
 public:
  size_t Take(size_t bytes) {
    auto best = ranges_.end();
    for (auto range = ranges_.begin(); range != ranges_.end(); ++range)
      if (range->second >= bytes && (best == ranges_.end() || range->second < best->second)) best = range;
    if (best == ranges_.end()) {
      // A free range at the end may grow.
      size_t begin = end_;
      if (!ranges_.empty() && ranges_.rbegin()->first + ranges_.rbegin()->second == end_) {
        begin = ranges_.rbegin()->first;
        ranges_.erase(begin);
      }
      end_ = begin + bytes;
      return begin;
    }
    const auto [begin, size] = *best;
    ranges_.erase(best);
    if (size > bytes) ranges_[begin + bytes] = size - bytes;
    return begin;
  }

  void Give(size_t begin, size_t bytes) {
    auto at = ranges_.emplace(begin, bytes).first;
    const auto next = std::next(at);
    if (next != ranges_.end() && at->first + at->second == next->first) {
      at->second += next->second;
      ranges_.erase(next);
    }
    if (at == ranges_.begin()) return;
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      ranges_.erase(at);
    }
  }

  size_t end() const { return end_; }

 private:
  std::map<size_t, size_t> ranges_;  // begin, bytes
  size_t end_ = 0;
};

size_t Padded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

size_t PlanMemory(const std::vector<Step>& steps, std::vector<Buffer>& buffers) {
  constexpr size_t kNever = static_cast<size_t>(-1);
  std::vector<size_t> last(buffers.size(), kNever);
  std::vector<std::vector<size_t>> begins(steps.size()), ends(steps.size());
  for (size_t i = 0; i < steps.size(); ++i)
    for (const auto& argument : steps[i].arguments) {
      const size_t buffer = argument.second.buffer;
      if (buffers[buffer].storage != Buffer::Storage::kTemporary) continue;
      if (last[buffer] == kNever) begins[i].push_back(buffer);
      last[buffer] = i;
    }
  for (size_t buffer = 0; buffer < buffers.size(); ++buffer)
    if (last[buffer] != kNever) ends[last[buffer]].push_back(buffer);
  FreeList arena;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const size_t buffer : begins[i]) buffers[buffer].offset = arena.Take(Padded(buffers[buffer].bytes));
    for (const size_t buffer : ends[i]) arena.Give(buffers[buffer].offset, Padded(buffers[buffer].bytes));
  }
  return arena.end();
}

}  // namespace onednn
