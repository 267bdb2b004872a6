#include "plugin/status_handle.hpp"

#include <new>

#include "plugin/handle_tracker.hpp"
#include "plugin/text.hpp"

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
    default: return false;
  }
}

Status ToStatus(const deputy_status& status) {
  if (!IsFailureCode(status.code))
    return Error(StatusCode::kPlugin, "returned a status with the impossible code {}: {}", status.code, status.message);
  return Status(static_cast<StatusCode>(status.code), status.message.empty() ? "no reason given" : status.message);
}

}  // namespace deputy::host
