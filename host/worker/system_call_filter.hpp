// The system calls of a worker process.
#pragma once

#include <string>

namespace deputy::host {

// Of sandbox.hpp, by a seccomp filter. Calls that are taken away fail with EPERM, so that a library that tries one, to
// see what is there, goes on without; those that the C library replaces by older ones, and those newer than this list,
// with ENOSYS. An error text, or empty.
std::string RestrictSystemCalls();

}  // namespace deputy::host
