// The bytes of messages between the host and a worker process: words of 64 bits. WireWriter and WireReader have the
// same functions, so that one list of fields serves both (abi_wire.hpp, messages.hpp). A WireReader trusts nothing: one
// function, Fits(), compares every count with the bytes that are there before memory is taken for it, and arrays of
// plain numbers and texts stay where they were received.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "deputy/abi/base.h"

namespace deputy::host {

// Both sides compare it: worker and library are of one build.
inline constexpr uint32_t kWireVersion = 5;
// Longer texts are not read: their sizes are a plugin's own.
inline constexpr uint64_t kMaxWireText = 64u << 20;

// How an array with a count of its own is there. A plugin's array that is NULL though it is counted is told as that, so
// that a count never comes without its bytes.
enum class Listing : uint64_t { kAbsent, kListed, kUnlisted };

// A whole struct, with zeros behind the end of one that an older peer filled.
template <class T>
T Whole(const T& given) {
  T whole{};
  std::memcpy(&whole, &given, std::min<size_t>(given.struct_size, sizeof(T)));
  return whole;
}

class WireWriter {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void Number(T& value) {
    static_assert((std::is_arithmetic_v<T> || std::is_enum_v<T>)&&sizeof(T) <= sizeof(uint64_t));
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    words_.push_back(word);
  }
  // Of a struct that may grow: how much of it is filled. Call it first.
  template <class T>
  void Head(T& growing) {
    Number(growing.struct_size);
  }
  // An opaque pointer, which the other side only gives back.
  template <class T>
  void Handle(T*& pointer) {
    words_.push_back(reinterpret_cast<uintptr_t>(pointer));
  }
  void Str(deputy_str& text) {
    const bool readable = text.data != nullptr && text.size <= kMaxWireText;
    words_.push_back(text.size);
    words_.push_back(readable ? 1 : 0);
    if (readable) Bytes(text.data, text.size, 1);
  }
  // `count` numbers at `data`, with their count.
  template <class T, class N>
  void Counted(const T*& data, N& count) {
    if (Present(data, count)) Bytes(data, count * sizeof(T));
  }
  // `count` structs at `data`, each written by `each`.
  template <class T, class N, class Each>
  void CountedStructs(const T*& data, N& count, Each each) {
    if (!Present(data, count)) return;
    for (N i = 0; i < count; ++i) each(const_cast<T&>(data[i]));
  }
  // `count` pointers to structs that may grow, each of which may be NULL.
  template <class T, class N, class Each>
  void CountedPointers(const T* const*& data, N& count, Each each) {
    if (!Present(data, count)) return;
    for (N i = 0; i < count; ++i) {
      const T* item = data[i];
      Pointer(item, each);
    }
  }
  // `count` numbers at `data`, or NULL with any count: one of several arrays that share a count, which was written
  // before. Only the host sends these.
  template <class T, class N>
  void Array(const T*& data, N& count) {
    words_.push_back(data != nullptr ? 1 : 0);
    if (data != nullptr) Bytes(data, count * sizeof(T));
  }
  template <class T, class N, class Each>
  void Structs(const T*& data, N& count, Each each) {
    words_.push_back(data != nullptr ? 1 : 0);
    for (N i = 0; data != nullptr && i < count; ++i) each(const_cast<T&>(data[i]));
  }
  // A struct that may grow and may be absent.
  template <class T, class Each>
  void Pointer(const T*& item, Each each) {
    words_.push_back(item != nullptr ? 1 : 0);
    if (item == nullptr) return;
    T whole = Whole(*item);
    each(whole);
  }
  template <class Item, class Each>
  void List(std::vector<Item>& items, Each each) {
    words_.push_back(items.size());
    for (Item& item : items) each(item);
  }
  void Require(bool) {}

  const std::vector<uint64_t>& words() const { return words_; }

 private:
  template <class T, class N>
  bool Present(const T* data, N count) {
    const Listing listing = data != nullptr ? Listing::kListed : count != 0 ? Listing::kUnlisted : Listing::kAbsent;
    words_.push_back(static_cast<uint64_t>(listing));
    if (data != nullptr) words_.push_back(count);
    return data != nullptr;
  }
  // With zeros behind them up to the end of a word, `zeros` at least.
  void Bytes(const void* data, size_t size, size_t zeros = 0) {
    const size_t at = words_.size();
    words_.resize(at + (size + zeros + 7) / 8);
    if (size != 0) std::memcpy(words_.data() + at, data, size);
  }

  std::vector<uint64_t> words_;
};

// Keeps what it decodes; the words must live as long. After a failure everything is zero, and done() is false.
class WireReader {
 public:
  static constexpr bool kReads = true;

  explicit WireReader(std::span<const uint64_t> words) : words_(words) {}
  WireReader(const WireReader&) = delete;
  WireReader& operator=(const WireReader&) = delete;

  template <class T>
  void Number(T& value) {
    const uint64_t word = Word();
    value = {};
    Require(sizeof(T) == sizeof(uint64_t) || word >> (8 * (sizeof(T) % 8)) == 0);
    if constexpr (std::is_same_v<T, bool>) {
      Require(word <= 1);
      value = ok_ && word == 1;
    } else {
      if (ok_) std::memcpy(&value, &word, sizeof value);
    }
  }
  template <class T>
  void Head(T& growing) {
    growing = {};
    uint32_t size = 0;
    Number(size);
    growing.struct_size = std::min<uint32_t>(size, sizeof(T));
  }
  template <class T>
  void Handle(T*& pointer) {
    pointer = reinterpret_cast<T*>(static_cast<uintptr_t>(Word()));
  }
  void Str(deputy_str& text) {
    text = {};
    text.size = Word();
    if (!Flag()) return;
    Require(text.size <= kMaxWireText);
    // Texts of the ABI have a NUL behind their end, which comes along.
    if (ok_) text.data = Take<char>(text.size + 1);
    Require(text.data != nullptr && text.data[text.size] == '\0');
    if (!ok_) text = {};
  }
  template <class T, class N>
  void Counted(const T*& data, N& count) {
    data = Listed(count, sizeof(T)) ? Take<T>(count) : nullptr;
  }
  // Each struct and each pointer takes a word at least.
  template <class T, class N, class Each>
  void CountedStructs(const T*& data, N& count, Each each) {
    data = nullptr;
    if (Listed(count, sizeof(uint64_t))) ReadStructs(data, count, each);
  }
  template <class T, class N, class Each>
  void CountedPointers(const T* const*& data, N& count, Each each) {
    data = nullptr;
    if (!Listed(count, sizeof(uint64_t))) return;
    auto items = std::make_shared<std::vector<const T*>>();
    for (N i = 0; ok_ && i < count; ++i) Pointer(items->emplace_back(), each);
    if (items->empty()) items->emplace_back();
    data = items->data();
    kept_.push_back(std::move(items));
  }
  template <class T, class N>
  void Array(const T*& data, N& count) {
    data = Flag() ? Take<T>(count) : nullptr;
  }
  template <class T, class N, class Each>
  void Structs(const T*& data, N& count, Each each) {
    data = nullptr;
    if (Flag() && Fits(count, sizeof(uint64_t))) ReadStructs(data, count, each);
  }
  template <class T, class Each>
  void Pointer(const T*& item, Each each) {
    item = nullptr;
    if (!Flag()) return;
    auto whole = std::make_shared<T>();
    each(*whole);
    if (ok_) item = whole.get();
    kept_.push_back(std::move(whole));
  }
  template <class Item, class Each>
  void List(std::vector<Item>& items, Each each) {
    const uint64_t count = Word();
    if (!Fits(count, sizeof(uint64_t))) return;
    for (uint64_t i = 0; ok_ && i < count; ++i) each(items.emplace_back());
  }
  void Require(bool condition) { ok_ = ok_ && condition; }
  // All words are read, and none was wrong.
  bool done() const { return ok_ && words_.empty(); }

 private:
  uint64_t Word() {
    Require(!words_.empty());
    if (!ok_) return 0;
    const uint64_t word = words_.front();
    words_ = words_.subspan(1);
    return word;
  }
  bool Flag() {
    const uint64_t word = Word();
    Require(word <= 1);
    return ok_ && word == 1;
  }
  // Whether so many items, of so many bytes each at least, can be among the bytes that are left. Each count is asked
  // about here, before memory is taken for it.
  bool Fits(uint64_t count, size_t bytes_each) {
    Require(count <= words_.size() * sizeof(uint64_t) / bytes_each);
    return ok_;
  }
  // The count of an array that is there; 1 for one that its sender counts and does not list.
  template <class N>
  bool Listed(N& count, size_t bytes_each) {
    count = 0;
    const uint64_t listing = Word();
    Require(listing <= static_cast<uint64_t>(Listing::kUnlisted));
    if (ok_ && listing == static_cast<uint64_t>(Listing::kUnlisted)) count = 1;
    if (!ok_ || listing != static_cast<uint64_t>(Listing::kListed)) return false;
    const uint64_t said = Word();
    Require(said <= std::numeric_limits<N>::max());
    if (!Fits(said, bytes_each)) return false;
    count = static_cast<N>(said);
    return true;
  }
  template <class T, class N, class Each>
  void ReadStructs(const T*& data, N count, Each each) {
    auto items = std::make_shared<std::vector<T>>();
    for (N i = 0; ok_ && i < count; ++i) each(items->emplace_back());
    if (items->empty()) items->emplace_back();  // present, though without elements
    data = items->data();
    kept_.push_back(std::move(items));
  }
  template <class T>
  const T* Take(uint64_t count) {
    if (!Fits(count, sizeof(T))) return nullptr;
    static constexpr uint64_t kNothing = 0;
    const size_t words = (count * sizeof(T) + 7) / 8;
    const uint64_t* at = words_.empty() ? &kNothing : words_.data();
    words_ = words_.subspan(words);
    return reinterpret_cast<const T*>(at);
  }
  std::span<const uint64_t> words_;
  std::deque<std::shared_ptr<void>> kept_;
  bool ok_ = true;
};

}  // namespace deputy::host
