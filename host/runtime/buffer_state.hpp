// State of a Buffer, and what a session has bound.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/process_fork.hpp"
#include "deputy/buffer.hpp"
#include "memory/device_memory.hpp"

namespace deputy {

// Those that read a buffer, or the one that writes it. [any-thread]
class BufferUsers {
 public:
  // Whether one more that reads, or writes, must not use the buffer.
  bool Bar(bool writes) const { return Bar(count_, writes); }
  bool Add(bool writes);
  void Remove(bool writes);
  // Until they do not bar a reader, or a writer.
  void Await(bool writes) const;

 private:
  static bool Bar(int count, bool writes) { return count < 0 || (writes && count != 0); }
  std::atomic<int> count_{0};  // readers; -1: one that writes
};

struct Buffer::State {
  State() = default;
  ~State() { host::KeepInForkedChild(device); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  DType dtype = DType::kUndefined;
  Shape shape;
  size_t bytes = 0;
  Tensor host;                                 // its memory; empty where a device has it
  std::shared_ptr<host::DeviceBuffer> device;  // null: host memory
  host::Descriptor file;                       // of host memory that others may have; none otherwise
  host::MemoryFilePart shared;                 // the elements in the file
  std::pair<uint64_t, uint64_t> inode;         // device and number of the file
  BufferUsers runs;
  BufferUsers copies;  // Read and Write

  // On shared memory, with the elements behind the offset.
  static Result<Buffer> Make(host::Descriptor file, uint64_t offset, DType dtype, const Shape& shape);
  // Whether a write to one changes the other.
  bool Overlaps(const State& other) const;
  Status CopyIn(const void* from) const;
  Status CopyOut(void* to) const;
};

// The right to read or to write a buffer, until the end of the object.
class BufferUse {
 public:
  // A run waits for a Read or Write that is under way, and not for another run; these wait for nothing.
  enum class Of { kRun, kCopy };
  BufferUse(const std::shared_ptr<Buffer::State>& buffer, bool writes, Of of = Of::kRun);
  ~BufferUse();
  BufferUse(BufferUse&& other) noexcept = default;
  BufferUse& operator=(BufferUse&&) = delete;

  // False: others use it.
  bool ok() const { return buffer_ != nullptr; }

 private:
  std::shared_ptr<Buffer::State> buffer_;
  bool writes_;
  Of of_;
};

// Of one input or output of a session.
struct BoundBuffer {
  std::shared_ptr<Buffer::State> buffer;  // null: none is bound
  Tensor host;             // what the run has of it in host memory: for a device's, memory of the session
  bool on_device = false;  // the delegate uses the buffer itself
  std::weak_ptr<const host::DeviceMemory> refused_by;  // to import one that is shared
};

}  // namespace deputy
