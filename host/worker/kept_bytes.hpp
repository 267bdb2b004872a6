// What a plugin in a worker process may read for longer than a call: constants, primitives, attributes and files of a
// model. One copy or mapping of each serves all executables and claims that need it, and ends with the last of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "isolation/messages.hpp"
#include "isolation/shared_memory.hpp"

namespace deputy::host {

// WireBytes that never change, or an open file.
struct KeptBytes {
  const uint8_t* data = nullptr;
  std::shared_ptr<const void> owner;
  int descriptor = -1;
};

// By the host's pointer and size. Two of one key are the same: a model of which bytes are held lives as
// long. [any-thread]
class ByteStore : public std::enable_shared_from_this<ByteStore> {
 public:
  using Key = std::pair<uint64_t, uint64_t>;

  // Null when there is none.
  std::shared_ptr<const KeptBytes> Find(Key key);
  // The present one if there is one.
  std::shared_ptr<const KeptBytes> Add(Key key, KeptBytes bytes);
  // A copy, aligned to 64.
  std::shared_ptr<const KeptBytes> AddCopy(Key key, const WireBytes& bytes);
  size_t size();

 private:
  void Forget(Key key);

  std::mutex mutex_;
  std::map<Key, std::weak_ptr<const KeptBytes>> kept_;
};

// What one call with a graph was given, held by the call and by what it made. [any-thread]
class Keep {
 public:
  void Hold(std::shared_ptr<const void> held) {
    const std::lock_guard lock(mutex_);
    held_.insert(std::move(held));
  }

 private:
  std::mutex mutex_;
  std::set<std::shared_ptr<const void>> held_;
};

}  // namespace deputy::host
