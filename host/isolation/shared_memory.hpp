// Memory that two processes share: regions for the tensors of a run, which grow on demand, and bytes that never change,
// for constants and blobs. All of it is sealed against resizing, so that neither side can take pages from the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/file.hpp"
#include "base/status.hpp"
#include "isolation/worker_memory.hpp"

namespace deputy::host {

// A mapping, ended with the object.
class Mapping {
 public:
  // Of bytes of a file: `offset` need not be a multiple of a page. Null when the file is shorter, or there is no
  // memory.
  static std::unique_ptr<Mapping> Of(int descriptor, uint64_t offset, uint64_t size, bool writable);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  uint8_t* data() const { return base_ + skipped_; }
  uint64_t size() const { return size_; }

 private:
  Mapping(uint8_t* base, uint64_t skipped, uint64_t size) : base_(base), skipped_(skipped), size_(size) {}

  uint8_t* base_;
  uint64_t skipped_, size_;
};

// Writable memory of at least a wanted size.
class SharedRegion {
 public:
  SharedRegion() = default;
  ~SharedRegion() { Count(nullptr, 0); }
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  // Makes a larger one where the present one is too small; its content is then zero. `memory`, which outlives this,
  // counts its bytes; null: they are not counted.
  Status Ensure(uint64_t size, WorkerMemory* memory = nullptr);
  // The descriptor when the other side has not been given it yet, else -1.
  int TakeNew();

  uint8_t* data() const { return mapping_ == nullptr ? nullptr : mapping_->data(); }
  uint64_t size() const { return mapping_ == nullptr ? 0 : mapping_->size(); }

 private:
  // Ends the count of the present bytes, and notes that of others.
  void Count(WorkerMemory* memory, uint64_t bytes);

  Descriptor descriptor_;
  std::unique_ptr<Mapping> mapping_;
  bool given_ = true;
  WorkerMemory* memory_ = nullptr;
  uint64_t counted_ = 0;
};

}  // namespace deputy::host
