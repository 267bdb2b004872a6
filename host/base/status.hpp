// How the host makes statuses: type-safe formatting over the public Status.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "deputy/status.hpp"

namespace deputy::host {

// Error(StatusCode::kModel, "tensor '{}' has {} bytes, not {}", name, have, want)
// Code that only leads here is compiled for size, out of the way of code that goes on.
template <class... Args>
[[gnu::cold, gnu::noinline]] Status Error(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace deputy::host
