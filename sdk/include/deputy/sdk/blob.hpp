// Executables as bytes: what Serialize writes into, what Restore is given, and a reader that cannot leave the bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "deputy/abi/ext/blob.h"
#include "deputy/sdk/span.hpp"

namespace deputy::sdk {

// Where Serialize writes. Only inside the host's call.
class BlobWriter {
 public:
  explicit BlobWriter(const deputy_blob_sink* sink) : sink_(sink) {}
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  // After the first failure nothing is written any more; the layer passes it on, so a result may be ignored.
  void Bytes(const void* data, size_t size) {
    if (failure_ == nullptr) failure_ = sink_->write(sink_->self, data, size);
  }
  template <class T>
  void Number(T number) {
    static_assert(std::is_arithmetic_v<T>, "structs have gaps, and other compilers other ones");
    Bytes(&number, sizeof number);
  }
  void Text(std::string_view text) {
    Number(static_cast<uint64_t>(text.size()));
    Bytes(text.data(), text.size());
  }
  template <class T>
  void Numbers(Span<const T> numbers) {
    static_assert(std::is_arithmetic_v<T>, "structs have gaps, and other compilers other ones");
    Number(static_cast<uint64_t>(numbers.size()));
    Bytes(numbers.data(), numbers.size() * sizeof(T));
  }

  // For the layer: the host's failure, which it takes back.
  bool failed() const { return failure_ != nullptr; }
  deputy_status* TakeFailure() { return std::exchange(failure_, nullptr); }

 private:
  const deputy_blob_sink* sink_;
  deputy_status* failure_ = nullptr;
};

// Bytes that Serialize wrote, owned: given back to the host when the last owner goes. Keep it where the executable
// reads its weights in place, or let it go at the end of Restore.
class Blob {
 public:
  Blob() = default;
  // Field by field: the struct of an older host ends before what a newer SDK's has more.
  explicit Blob(const deputy_blob& blob) {
    blob_.data = blob.data;
    blob_.size = blob.size;
    blob_.owner = blob.owner;
    blob_.release = blob.release;
  }
  Blob(Blob&& other) noexcept : blob_(std::exchange(other.blob_, deputy_blob{})) {}
  Blob& operator=(Blob&& other) noexcept {
    std::swap(blob_, other.blob_);
    return *this;
  }
  ~Blob() {
    if (blob_.release != nullptr) blob_.release(blob_.owner);
  }

  // Aligned to 64.
  const void* data() const { return blob_.data; }
  size_t size() const { return static_cast<size_t>(blob_.size); }

 private:
  deputy_blob blob_{};
};

// Reads what BlobWriter wrote. The bytes may be damaged: whatever does not fit makes ok() false for good, and what is
// read then is zero or empty.
class BlobReader {
 public:
  explicit BlobReader(const Blob& blob) : at_(static_cast<const unsigned char*>(blob.data())), left_(blob.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_ == 0; }

  template <class T>
  T Number() {
    T number{};
    if (const void* from = Take(sizeof number)) std::memcpy(&number, from, sizeof number);
    return number;
  }
  std::string Text() {
    const auto size = Number<uint64_t>();
    const void* from = Take(size);
    return from == nullptr ? std::string() : std::string(static_cast<const char*>(from), static_cast<size_t>(size));
  }
  template <class T>
  std::vector<T> Numbers() {
    const auto count = Number<uint64_t>();
    if (count > left_ / sizeof(T)) ok_ = false;
    if (!ok_ || count == 0) return {};
    std::vector<T> numbers(static_cast<size_t>(count));
    std::memcpy(numbers.data(), Take(count * sizeof(T)), static_cast<size_t>(count) * sizeof(T));
    return numbers;
  }
  // The next bytes in place; NULL when there are not so many.
  const void* Take(uint64_t size) {
    if (size > left_) ok_ = false;
    if (!ok_) return nullptr;
    const unsigned char* from = at_;
    at_ += size;
    left_ -= static_cast<size_t>(size);
    return from;
  }

 private:
  const unsigned char* at_;
  size_t left_;
  bool ok_ = true;
};

}  // namespace deputy::sdk
