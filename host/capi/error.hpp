// Errors of the C API. Exceptions stop here.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "deputy.h"
#include "deputy/status.hpp"

struct DeputyError {
  deputy::Status status;
  std::string text;  // all of it
};

namespace deputy::host::capi {

// An error that the caller of the API owns; null for success.
DeputyError* ErrorOf(Status status);
DeputyError* OutOfMemory();

// The result of `function`, a Status; exceptions, of which there are those for lack of memory, as errors.
template <class F>
DeputyError* Guard(const F& function) noexcept {
  try {
    return ErrorOf(function());
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::exception& exception) {
    return ErrorOf(Status(StatusCode::kInternal, exception.what()));
  }
}

inline DeputyError* MissingArgument(const char* what) {
  return Guard([what] { return Status(StatusCode::kInvalidArgument, std::string(what) + " is null"); });
}

inline std::string TextOf(const char* text) { return text == nullptr ? std::string() : std::string(text); }

}  // namespace deputy::host::capi
