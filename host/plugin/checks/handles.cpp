#include "plugin/checks/handles.hpp"

#include <algorithm>
#include <new>

#include "plugin/checks/text.hpp"

namespace deputy::host {
namespace {

// Short enough to need no memory of its own.
deputy_status* OutOfMemory() noexcept {
  static deputy_status status{DEPUTY_OUT_OF_MEMORY, DEPUTY_NO_NODE, "out of memory", nullptr};
  return &status;
}

}  // namespace

deputy_status* NewStatus(deputy_code code, deputy_node_id node, std::string_view message,
                         HandleTracker* tracker) noexcept {
  try {
    auto status = std::make_unique<deputy_status>(deputy_status{code, node, CleanText(message), tracker});
    if (tracker != nullptr) tracker->Made(status.get());
    return status.release();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

void FreeStatus::operator()(deputy_status* status) const noexcept {
  if (status == nullptr || status == OutOfMemory()) return;
  if (status->tracker != nullptr)
    status->tracker->Returned(status);
  else
    delete status;
}

bool IsFailureCode(deputy_code code) {
  switch (code) {
    case DEPUTY_CANCELLED:
    case DEPUTY_UNKNOWN:
    case DEPUTY_INVALID_ARGUMENT:
    case DEPUTY_DEADLINE_EXCEEDED:
    case DEPUTY_NOT_FOUND:
    case DEPUTY_OUT_OF_MEMORY:
    case DEPUTY_FAILED_PRECONDITION:
    case DEPUTY_ABORTED:
    case DEPUTY_NOT_SUPPORTED:
    case DEPUTY_INTERNAL:
    case DEPUTY_UNAVAILABLE:
    case DEPUTY_DEVICE_LOST:
    case DEPUTY_INCOMPATIBLE: return true;
    default: return code >= DEPUTY_VENDOR_FIRST;
  }
}

Status ToStatus(const deputy_status& status) {
  if (!IsFailureCode(status.code))
    return Error(StatusCode::kPlugin, "returned a status with the invalid code {}: {}", status.code, status.message);
  const std::string message = status.message.empty() ? "no reason given" : status.message;
  if (status.code >= DEPUTY_VENDOR_FIRST)
    return Error(StatusCode::kInternal, "{} (the vendor's code {})", message, status.code);
  return Status(static_cast<StatusCode>(status.code), message);
}

void HandleTracker::Lend(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.insert(graph);
}

void HandleTracker::Release(const deputy_graph* graph) {
  const std::lock_guard lock(mutex_);
  graphs_.erase(graph);
}

bool HandleTracker::IsLent(const deputy_graph* graph) const {
  const std::lock_guard lock(mutex_);
  return graphs_.count(graph) != 0;
}

void HandleTracker::Made(deputy_status* status) {
  const std::lock_guard lock(mutex_);
  out_.insert(status);
}

void HandleTracker::Returned(deputy_status* status) {
  const std::lock_guard lock(mutex_);
  if (out_.erase(status) != 0) returned_.emplace_back(status);
}

bool HandleTracker::WasReturned(const deputy_status* status) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(returned_.begin(), returned_.end(), [&](const auto& one) { return one.get() == status; });
}

size_t HandleTracker::statuses_out() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

void HandleTracker::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool HandleTracker::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace deputy::host
