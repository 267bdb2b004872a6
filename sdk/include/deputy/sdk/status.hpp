// Errors as values: Status, and Result for functions that return a value. The layer turns them into the host's own
// statuses at the boundary; exceptions that reach the boundary become INTERNAL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "deputy/abi/host.h"

namespace deputy::sdk {

enum class Code : int32_t {
  kOk = DEPUTY_OK,
  kCancelled = DEPUTY_CANCELLED,
  kUnknown = DEPUTY_UNKNOWN,
  kInvalidArgument = DEPUTY_INVALID_ARGUMENT,
  kDeadlineExceeded = DEPUTY_DEADLINE_EXCEEDED,
  kNotFound = DEPUTY_NOT_FOUND,
  kOutOfMemory = DEPUTY_OUT_OF_MEMORY,
  kFailedPrecondition = DEPUTY_FAILED_PRECONDITION,
  kAborted = DEPUTY_ABORTED,
  kNotSupported = DEPUTY_NOT_SUPPORTED,  // from Compile or Prepare: the nodes go to the next delegate
  kInternal = DEPUTY_INTERNAL,
  kUnavailable = DEPUTY_UNAVAILABLE,
  kDeviceLost = DEPUTY_DEVICE_LOST,
  kIncompatible = DEPUTY_INCOMPATIBLE
};

// The names that MindSpore Lite delegates return.
inline constexpr Code kSuccess = Code::kOk;
inline constexpr Code kLiteError = Code::kInternal;
inline constexpr Code kLiteNullptr = Code::kInvalidArgument;
inline constexpr Code kLiteNotSupport = Code::kNotSupported;
inline constexpr Code kLiteMemoryFailed = Code::kOutOfMemory;

class [[nodiscard]] Status {
 public:
  Status() = default;
  // One sentence, lower case, without a full stop; `node` is the node at fault if there is one.
  Status(Code code, std::string message = {}, deputy_node_id node = DEPUTY_NO_NODE)  // NOLINT: `return kSuccess;`
      : code_(code), message_(std::move(message)), node_(node) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  std::optional<deputy_node_id> node() const {
    return node_ == DEPUTY_NO_NODE ? std::nullopt : std::optional<deputy_node_id>(node_);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  deputy_node_id node_ = DEPUTY_NO_NODE;
};

// A value, or the status that explains its absence. Test ok() before value().
template <class T>
class [[nodiscard]] Result {
 public:
  template <class U, class = std::enable_if_t<std::is_convertible_v<U&&, T> && !std::is_convertible_v<U&&, Status> &&
                                              !std::is_same_v<std::decay_t<U>, Result>>>
  Result(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT: `return value;`
  Result(Status status) : status_(std::move(status)) {   // NOLINT: `return status;`
    if (status_.ok()) status_ = Status(Code::kInternal, "a Result was made from an OK status without a value");
  }
  Result(Code code, std::string message) : Result(Status(code, std::move(message))) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace deputy::sdk

#define DEPUTY_SDK_CONCAT_(a, b) a##b
#define DEPUTY_SDK_CONCAT(a, b) DEPUTY_SDK_CONCAT_(a, b)

#define DEPUTY_SDK_RETURN_IF_ERROR(expression)               \
  do {                                                       \
    ::deputy::sdk::Status deputy_sdk_status_ = (expression); \
    if (!deputy_sdk_status_.ok()) return deputy_sdk_status_; \
  } while (false)

// DEPUTY_SDK_ASSIGN_OR_RETURN(auto buffer, device.Allocate(size));
#define DEPUTY_SDK_ASSIGN_OR_RETURN(target, expression) \
  DEPUTY_SDK_ASSIGN_OR_RETURN_(DEPUTY_SDK_CONCAT(deputy_sdk_result_, __LINE__), target, expression)
#define DEPUTY_SDK_ASSIGN_OR_RETURN_(result, target, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) return result.status();                      \
  target = std::move(result).value()
