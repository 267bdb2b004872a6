#include "base/memory_reserve.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

namespace deputy::host {
namespace {

// The library of ONNX and what it is linked to take 3 MB for their descriptions of types when they are opened.
constexpr size_t kBytes = size_t{8} << 20;

std::mutex mutex;
size_t holders = 0;
std::atomic<void*> reserve = nullptr;
std::atomic<std::new_handler> application = nullptr;

void FreeReserve() {
  if (void* const block = reserve.exchange(nullptr)) return std::free(block);
  const std::new_handler handler = application;
  if (handler == nullptr) throw std::bad_alloc();
  handler();
}

}  // namespace

MemoryReserve::MemoryReserve() {
  const std::lock_guard lock(mutex);
  if (reserve == nullptr) reserve = std::malloc(kBytes);
  if (reserve == nullptr) status_ = Error(StatusCode::kResourceExhausted, "there is no memory for opening a library");
  if (holders++ == 0) application = std::set_new_handler(FreeReserve);
}

MemoryReserve::~MemoryReserve() {
  const std::lock_guard lock(mutex);
  if (--holders != 0) return;
  if (std::get_new_handler() == FreeReserve) std::set_new_handler(application);
  std::free(reserve.exchange(nullptr));
}

}  // namespace deputy::host
