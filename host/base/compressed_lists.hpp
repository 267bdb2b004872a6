// Many lists of numbers in one array (compressed sparse rows): the readers of each value, the successors of each node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace deputy::host {

class CompressedLists {
 public:
  CompressedLists() = default;
  // Lists 0 to `count` - 1. `for_each(add)` calls add(list, number) for every number, in the order of each list. It is
  // called twice and must add the same numbers both times.
  template <class F>
  CompressedLists(size_t count, F for_each) : begin_(count + 1, 0) {
    for_each([this](size_t list, uint32_t) { ++begin_[list + 1]; });
    for (size_t list = 0; list < count; ++list) begin_[list + 1] += begin_[list];
    numbers_.resize(begin_.back());
    std::vector<size_t> next(begin_.begin(), begin_.end() - 1);
    for_each([&](size_t list, uint32_t number) { numbers_[next[list]++] = number; });
  }

  size_t size() const { return begin_.empty() ? 0 : begin_.size() - 1; }
  std::span<const uint32_t> operator[](size_t list) const {
    return {numbers_.data() + begin_[list], begin_[list + 1] - begin_[list]};
  }

  // Sorts each list and drops duplicates.
  void SortUnique() {
    size_t kept = 0;
    for (size_t list = 0; list + 1 < begin_.size(); ++list) {
      const auto first = numbers_.begin() + static_cast<std::ptrdiff_t>(begin_[list]);
      const auto last = numbers_.begin() + static_cast<std::ptrdiff_t>(begin_[list + 1]);
      std::sort(first, last);
      const auto end = std::unique(first, last);
      begin_[list] = kept;
      kept = static_cast<size_t>(std::copy(first, end, numbers_.begin() + static_cast<std::ptrdiff_t>(kept)) -
                                 numbers_.begin());
    }
    if (!begin_.empty()) begin_.back() = kept;
    numbers_.resize(kept);
  }

 private:
  std::vector<size_t> begin_;  // of each list, then the end of the last
  std::vector<uint32_t> numbers_;
};

}  // namespace deputy::host
