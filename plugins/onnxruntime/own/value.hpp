// Tensors: over memory of the host or of an EP, or with memory of their own.
#pragma once

#include <cstddef>

#include "own/memory.hpp"
#include "own/types.hpp"

namespace ort {

struct Value {
  TypeInfo type = {};
  void* data = nullptr;
  size_t bytes = 0;
  bool is_kept = false;            // owned by a graph or a run: releasing it has no effect
  Allocator* allocator = nullptr;  // frees `data` with the value; NULL: nothing to free

  Value() = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() {
    if (allocator != nullptr && data != nullptr) allocator->Free(allocator, data);
  }
};

}  // namespace ort
