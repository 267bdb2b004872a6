#include "worker/kept_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace deputy::host {

std::shared_ptr<const KeptBytes> ByteStore::Find(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  return found == kept_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<const KeptBytes> ByteStore::Add(Key key, KeptBytes bytes) {
  std::shared_ptr<const KeptBytes> made(new KeptBytes(std::move(bytes)),
                                        [store = shared_from_this(), key](const KeptBytes* kept) {
                                          delete kept;
                                          store->Forget(key);
                                        });
  // Its deleter takes the lock, so it ends after it.
  std::shared_ptr<const KeptBytes> present;
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const KeptBytes>& slot = kept_[key];
  present = slot.lock();
  if (present == nullptr) slot = made;
  return present == nullptr ? made : present;
}

std::shared_ptr<const KeptBytes> ByteStore::AddCopy(Key key, const WireBytes& bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* copy = static_cast<uint8_t*>(::operator new(std::max<size_t>(bytes.size, 1), kAlignment));
  if (bytes.size != 0) std::memcpy(copy, bytes.data, bytes.size);
  const std::shared_ptr<const void> owner(
      copy, [](const uint8_t* data) { ::operator delete (const_cast<uint8_t*>(data), std::align_val_t{64}); });
  return Add(key, {copy, owner, -1});
}

size_t ByteStore::size() {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

void ByteStore::Forget(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found != kept_.end() && found->second.expired()) kept_.erase(found);
}

}  // namespace deputy::host
