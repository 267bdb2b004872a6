// Memory of the device under test: ext/draft/memory.h, called as a host does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deputy/abi/ext/draft/memory.h"
#include "instance.hpp"

namespace deputy::conformance {

// Buffers of one instance. Those that are not released are released at the end.
class DeviceBuffers {
 public:
  // has() is false without the extension.
  explicit DeviceBuffers(Instance& instance);
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  bool has() const { return table_ != nullptr; }
  // Whether it imports memory of memfd_create.
  bool imports() const {
    return table_->import != nullptr && (table_->imports & (1u << DEPUTY_MEMORY_HANDLE_MEMFD)) != 0;
  }
  Outcome Allocate(uint64_t bytes, uint64_t alignment, uint64_t* handle);
  // With imports().
  Outcome Import(deputy_memory_handle_kind kind, int file, uint64_t offset, uint64_t bytes, uint64_t* handle);
  void Release(uint64_t handle);
  // Whole bytes between host memory and a part of a buffer.
  Outcome Write(uint64_t handle, uint64_t offset, const std::vector<uint8_t>& bytes);
  Outcome Read(uint64_t handle, uint64_t offset, std::vector<uint8_t>* bytes);
  // Between parts of buffers.
  Outcome Move(uint64_t from, uint64_t from_offset, uint64_t to, uint64_t to_offset, uint64_t bytes);
  // The delegate's answer for the index-th of the inputs, then outputs, of a tensor that has so many bytes; nothing
  // where host memory is sufficient. A fault where the answer is none.
  std::optional<deputy_memory_wish> WishOf(Context& context, uint32_t index, uint64_t bytes);

 private:
  // Keeps the name of a new buffer.
  Outcome Made(const char* function, Outcome outcome, uint64_t handle);
  Outcome Copy(const deputy_copy_side& from, const deputy_copy_side& to, uint64_t bytes);

  Instance& instance_;
  const deputy_ext_memory* table_;
  std::vector<uint64_t> handles_;
};

}  // namespace deputy::conformance
