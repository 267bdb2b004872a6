// Statuses as the tables pass them, and as this plugin does.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "api/types.hpp"
#include "deputy/sdk/status.hpp"

namespace ort {

struct Status {
  ErrorCode code;
  std::string message;
};

namespace own {

namespace sdk = deputy::sdk;

// Never NULL; the caller of the table's function owns it.
Status* Fail(ErrorCode code, std::string message) noexcept;
inline Status* Fail(std::string message) noexcept { return Fail(kInvalidArgument, std::move(message)); }

// Calls a function of a table's implementation, which EPs written in any language call: exceptions become a status.
template <class Call>
Status* Guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return Fail(kFail, thrown.what());
  } catch (...) {
    return Fail(kFail, "an exception was thrown");
  }
}

// Takes a status of an EP: `what` and its message, with `code`.
sdk::Status Take(Status* status, sdk::Code code, std::string_view what);

// Calls a function of an EP that returns a status, and takes that. `what` is the subject of the message:
// "GetCapability".
template <class Call>
sdk::Status Ask(sdk::Code code, std::string_view what, Call&& call) {
  try {
    return Take(call(), code, what);
  } catch (const std::exception& thrown) {
    return sdk::Status(code, std::string(what) + " has thrown an exception: " + thrown.what());
  } catch (...) {
    return sdk::Status(code, std::string(what) + " has thrown an exception");
  }
}

}  // namespace own
}  // namespace ort
