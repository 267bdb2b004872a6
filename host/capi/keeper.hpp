// What keeps an object of the application.
#pragma once

#include <utility>

namespace deputy::host::capi {

// Calls `release` with `keep` once, if it is not null.
struct Keeper {
  void* keep = nullptr;
  void (*release)(void* keep) = nullptr;

  Keeper(void* kept, void (*released)(void*)) : keep(kept), release(released) {}
  Keeper(Keeper&& other) noexcept : keep(other.keep), release(std::exchange(other.release, nullptr)) {}
  ~Keeper() {
    if (release != nullptr) release(keep);
  }
};

}  // namespace deputy::host::capi
