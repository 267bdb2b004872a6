// Executables as bytes: the writer of Serialize, the bytes given to Restore, and a reader that stays within the bytes.
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

// Receives the bytes of Serialize. Only inside the host's call.
class BlobWriter {
 public:
  explicit BlobWriter(const deputy_blob_sink* sink) : sink_(sink) {}
  BlobWriter(const BlobWriter&) = delete;
  BlobWriter& operator=(const BlobWriter&) = delete;

  // After the first failure nothing more is written; the layer returns it to the host, regardless of the result of
  // Serialize.
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

  // For the layer: the host's failure, which the layer returns to it.
  bool failed() const { return failure_ != nullptr; }
  deputy_status* TakeFailure() { return std::exchange(failure_, nullptr); }

 private:
  const deputy_blob_sink* sink_;
  deputy_status* failure_ = nullptr;
};

// Owns bytes that Serialize wrote, and releases them to the host when the last owner is destroyed. Keep it if the
// executable reads its weights in place; otherwise it may be destroyed at the end of Restore.
class Blob {
 public:
  Blob() = default;
  // Field by field: the struct of an older host may be shorter than this SDK's.
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

// Reads the bytes of a BlobWriter. They may be damaged: the first read that does not fit makes ok() false permanently,
// and it and all later reads give zero or empty values.
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
  // The next bytes in place; NULL if there are fewer.
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
