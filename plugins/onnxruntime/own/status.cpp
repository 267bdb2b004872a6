#include "own/status.hpp"

#include <memory>
#include <new>

#include "own/tables.hpp"

namespace ort::own {
namespace {

// Returned where there is no memory for a status; not released.
Status& NoMemory() {
  static Status status{kFail, "out of memory"};
  return status;
}

Status* CreateStatus(ErrorCode code, const char* message) {
  return Guarded([&] { return Fail(code, message == nullptr ? "" : message); });
}
ErrorCode GetErrorCode(const Status* status) { return status->code; }
const char* GetErrorMessage(const Status* status) { return status->message.c_str(); }
void ReleaseStatus(Status* status) {
  if (status != &NoMemory()) delete status;
}

}  // namespace

Status* Fail(ErrorCode code, std::string message) noexcept {
  Status* made = new (std::nothrow) Status{code, std::move(message)};
  return made == nullptr ? &NoMemory() : made;
}

sdk::Status Take(Status* status, sdk::Code code, std::string_view what) {
  if (status == nullptr) return {};
  const std::unique_ptr<Status, void (*)(Status*)> taken(status, ReleaseStatus);
  std::string text = std::string(what) + " failed";
  if (!status->message.empty()) text += ": " + status->message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '.')) text.pop_back();
  return sdk::Status(code, std::move(text));
}

void SetStatusFunctions(Tables& tables) {
  tables.Set(Slot::CreateStatus, CreateStatus);
  tables.Set(Slot::GetErrorCode, GetErrorCode);
  tables.Set(Slot::GetErrorMessage, GetErrorMessage);
  tables.Set(Slot::ReleaseStatus, ReleaseStatus);
}

}  // namespace ort::own
