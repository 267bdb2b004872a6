// A short list of extents, strides or axes. Up to eight are stored in the object itself, so that kernels which read
// shapes while they run allocate nothing for the usual ranks; longer lists are on the heap.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace deputy::host {

class SmallDims {
 public:
  SmallDims() = default;
  explicit SmallDims(size_t count, int64_t value) {
    for (size_t i = 0; i < count; ++i) push_back(value);
  }
  explicit SmallDims(std::span<const int64_t> values) {
    for (const int64_t value : values) push_back(value);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const int64_t* data() const { return size_ <= kInPlace ? in_place_.data() : heap_.data(); }
  int64_t* data() { return size_ <= kInPlace ? in_place_.data() : heap_.data(); }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t& operator[](size_t i) { return data()[i]; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + size_; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + size_; }
  int64_t back() const { return data()[size_ - 1]; }

  void push_back(int64_t value) {
    if (size_ < kInPlace) {
      in_place_[size_++] = value;
      return;
    }
    if (size_ == kInPlace) heap_.assign(in_place_.begin(), in_place_.end());
    heap_.push_back(value);
    ++size_;
  }
  // Shortens the list.
  void truncate(size_t size) {
    if (size >= size_) return;
    if (size_ > kInPlace) {
      if (size <= kInPlace) std::copy_n(heap_.begin(), size, in_place_.begin());
      heap_.resize(size);
    }
    size_ = size;
  }

 private:
  static constexpr size_t kInPlace = 8;
  std::array<int64_t, kInPlace> in_place_{};
  std::vector<int64_t> heap_;  // all elements, once there are more than fit in place
  size_t size_ = 0;
};

}  // namespace deputy::host
