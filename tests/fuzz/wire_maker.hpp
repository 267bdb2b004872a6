// Two more sides of the lists of fields that writer and reader of messages share (host/isolation/wire.hpp): one makes
// the words of a valid message at random, one reads every byte that a message leads to.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/random.hpp"
#include "fuzz/target.hpp"
#include "isolation/wire.hpp"

namespace deputy::host {

class WireMaker {
 public:
  static constexpr bool kReads = true;

  explicit WireMaker(fuzz::Random& random) : random_(random) {}

  // Small in most cases, since many numbers are counts of what follows.
  template <class T>
  void Number(T& value) {
    uint64_t word = random_.OneIn(8) ? fuzz::ChangedNumber(0, random_) : random_.Below(4);
    if constexpr (std::is_same_v<T, bool>) word &= 1;
    if constexpr (sizeof(T) < sizeof(uint64_t)) word &= (uint64_t{1} << (8 * sizeof(T))) - 1;
    words_.push_back(word);
    if constexpr (std::is_same_v<T, bool>)
      value = word == 1;
    else
      std::memcpy(&value, &word, sizeof value);
  }
  template <class T>
  void Head(T& growing) {
    growing.struct_size = random_.OneIn(4) ? static_cast<uint32_t>(random_.Below(sizeof(T) + 8)) : sizeof(T);
    words_.push_back(growing.struct_size);
  }
  template <class T>
  void Handle(T*&) {
    words_.push_back(random_.Below(4));
  }
  void Str(deputy_str&) {
    const size_t size = random_.Below(random_.OneIn(8) ? 100 : 12);
    words_.push_back(size);
    if (!Flag()) return;
    const size_t at = words_.size();
    Words(size + 1);
    reinterpret_cast<uint8_t*>(words_.data() + at)[size] = 0;
  }
  template <class T, class N>
  void Counted(const T*&, N& count) {
    if (Listed(count)) Words(static_cast<size_t>(count) * sizeof(T));
  }
  template <class T, class N, class Each>
  void CountedStructs(const T*&, N& count, Each each) {
    T item{};
    if (!Listed(count)) return;
    for (N i = 0; i < count; ++i) each(item);
  }
  template <class T, class N, class Each>
  void CountedPointers(const T* const*&, N& count, Each each) {
    const T* item = nullptr;
    if (!Listed(count)) return;
    for (N i = 0; i < count; ++i) Pointer(item, each);
  }
  template <class T, class N>
  void Array(const T*&, N& count) {
    if (Fits(count) && Flag()) Words(static_cast<size_t>(count) * sizeof(T));
  }
  template <class T, class N, class Each>
  void Structs(const T*&, N& count, Each each) {
    T item{};
    if (!Fits(count) || !Flag()) return;
    for (N i = 0; i < count; ++i) each(item);
  }
  template <class T, class Each>
  void Pointer(const T*&, Each each) {
    T item{};
    if (Flag()) each(item);
  }
  template <class Item, class Each>
  void List(std::vector<Item>&, Each each) {
    const size_t count = random_.Below(4);
    words_.push_back(count);
    for (size_t i = 0; i < count; ++i) {
      Item item{};
      each(item);
    }
  }
  void Require(bool) {}

  const std::vector<uint64_t>& words() const { return words_; }

 private:
  static constexpr uint64_t kMostItems = 64;

  // What is announced and cannot be there is absent.
  template <class N>
  bool Fits(N count) {
    if (static_cast<uint64_t>(count) <= kMostItems) return true;
    words_.push_back(0);
    return false;
  }
  template <class N>
  bool Listed(N& count) {
    const auto listing = random_.OneIn(3) ? static_cast<Listing>(random_.Below(3)) : Listing::kListed;
    words_.push_back(static_cast<uint64_t>(listing));
    count = 0;
    if (listing != Listing::kListed) return false;
    count = static_cast<N>(random_.Below(4));
    words_.push_back(static_cast<uint64_t>(count));
    return true;
  }
  bool Flag() {
    words_.push_back(random_.OneIn(4) ? 0 : 1);
    return words_.back() == 1;
  }
  void Words(size_t bytes) {
    for (size_t i = 0; i < (bytes + 7) / 8; ++i) words_.push_back(random_.OneIn(2) ? random_.Next() : random_.Below(8));
  }

  fuzz::Random& random_;
  std::vector<uint64_t> words_;
};

// Each text and list of a message that was read is there as long as its count says; a sanitizer sees where it is not.
class WireVisitor {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void Number(T& value) {
    Add(&value, sizeof value);
  }
  template <class T>
  void Head(T& growing) {
    fuzz::Require(growing.struct_size <= sizeof(T), "a struct is not larger than the reader knows it");
    Number(growing.struct_size);
  }
  template <class T>
  void Handle(T*&) {}
  void Str(deputy_str& text) {
    if (text.data == nullptr) return;
    Add(text.data, text.size);
    fuzz::Require(text.data[text.size] == '\0', "a text has a NUL behind its end");
  }
  template <class T, class N>
  void Counted(const T*& data, N& count) {
    fuzz::Require(data != nullptr || count <= 1, "a count that is more than one has an array");
    Array(data, count);
  }
  template <class T, class N, class Each>
  void CountedStructs(const T*& data, N& count, Each each) {
    fuzz::Require(data != nullptr || count <= 1, "a count that is more than one has an array");
    Structs(data, count, each);
  }
  template <class T, class N, class Each>
  void CountedPointers(const T* const*& data, N& count, Each each) {
    fuzz::Require(data != nullptr || count <= 1, "a count that is more than one has an array");
    for (N i = 0; data != nullptr && i < count; ++i) {
      const T* item = data[i];
      Pointer(item, each);
    }
  }
  template <class T, class N>
  void Array(const T*& data, N& count) {
    if (data != nullptr) Add(data, static_cast<size_t>(count) * sizeof(T));
  }
  template <class T, class N, class Each>
  void Structs(const T*& data, N& count, Each each) {
    for (N i = 0; data != nullptr && i < count; ++i) each(const_cast<T&>(data[i]));
  }
  template <class T, class Each>
  void Pointer(const T*& item, Each each) {
    if (item != nullptr) each(const_cast<T&>(*item));
  }
  template <class Item, class Each>
  void List(std::vector<Item>& items, Each each) {
    for (Item& item : items) each(item);
  }
  void Require(bool) {}

  uint64_t sum() const { return sum_; }

 private:
  void Add(const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) sum_ = sum_ * 31 + static_cast<const uint8_t*>(data)[i];
  }

  uint64_t sum_ = 0;
};

}  // namespace deputy::host
