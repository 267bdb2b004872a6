// A pointer and a length: the part of C++20's std::span that this layer needs.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace deputy::sdk {

template <class T>
class Span {
 public:
  using value_type = std::remove_const_t<T>;

  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  Span(const std::vector<value_type>& values) : data_(values.data()), size_(values.size()) {}  // NOLINT: a view

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](size_t index) const { return data_[index]; }
  constexpr T& front() const { return data_[0]; }
  constexpr T& back() const { return data_[size_ - 1]; }
  std::vector<value_type> ToVector() const { return std::vector<value_type>(begin(), end()); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace deputy::sdk
