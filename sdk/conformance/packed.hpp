// Pieces of bytes, each with its length: the format of data between processes of the kit.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace deputy::conformance {

class Packed {
 public:
  Packed() = default;
  explicit Packed(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}

  void Put(const std::vector<uint8_t>& piece) { Put(piece.data(), piece.size()); }
  void Put(const std::string& piece) { Put(piece.data(), piece.size()); }
  void Put(uint64_t number) { Put(&number, sizeof number); }

  // The next piece; empty when there is none.
  std::vector<uint8_t> Take() {
    uint64_t size = 0;
    if (bytes_.size() - at_ < sizeof size) return {};
    std::memcpy(&size, bytes_.data() + at_, sizeof size);
    at_ += sizeof size;
    if (size > bytes_.size() - at_) return {};
    const auto begin = bytes_.begin() + static_cast<ptrdiff_t>(at_);
    at_ += static_cast<size_t>(size);
    return {begin, begin + static_cast<ptrdiff_t>(size)};
  }
  std::string TakeText() {
    const std::vector<uint8_t> piece = Take();
    return {piece.begin(), piece.end()};
  }
  uint64_t TakeNumber() {
    const std::vector<uint8_t> piece = Take();
    uint64_t number = 0;
    if (piece.size() == sizeof number) std::memcpy(&number, piece.data(), sizeof number);
    return number;
  }

  bool at_end() const { return at_ == bytes_.size(); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  void Put(const void* data, size_t size) {
    const auto length = static_cast<uint64_t>(size);
    const auto* head = reinterpret_cast<const uint8_t*>(&length);
    const auto* body = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), head, head + sizeof length);
    if (size != 0) bytes_.insert(bytes_.end(), body, body + size);
  }

  std::vector<uint8_t> bytes_;
  size_t at_ = 0;
};

}  // namespace deputy::conformance
