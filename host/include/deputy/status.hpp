// Errors as values: a code for programs, a message for people, the place of the error and advice. Shared by the public
// API and every host folder. Header only; nothing here throws except for lack of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace deputy {

// Stable codes. Values are those of `deputy_code` in the plugin ABI where both have one.
enum class StatusCode : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,  // a caller's value is wrong (shape, dtype, name, option)
  kDeadlineExceeded = 4,
  kNotFound = 5,           // a file, plugin, tensor or node that does not exist
  kResourceExhausted = 8,  // out of memory, or a budget or limit was hit
  kFailedPrecondition = 9,
  kAborted = 10,
  kNotSupported = 12,  // valid, but not supported here
  kInternal = 13,      // a violated invariant inside Deputy; please report it
  kUnavailable = 14,
  kDeviceLost = 15,
  kIncompatible = 16,  // a blob or plugin made for another version
  kConfig = 17,        // the YAML or an option is wrong
  kModel = 18,         // the model file is damaged, foreign or not valid
  kPlugin = 19,        // a plugin is unusable or broke its contract
};

const char* StatusCodeName(StatusCode code);

// [any-thread] One pointer: an OK status costs nothing. Copies share nothing. Where there is no memory for a problem,
// the status becomes kResourceExhausted, "out of memory".
class [[nodiscard]] Status {
 public:
  Status() = default;
  [[gnu::cold, gnu::noinline]] Status(StatusCode code, std::string message) {
    if (code != StatusCode::kOk) Keep({code, std::move(message), {}, {}});
  }
  Status(const Status& other) {
    if (!other.ok()) KeepCopyOf(*other.problem_);
  }
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return problem_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : problem_->code; }
  // The message alone: the failure in one sentence, lower case.
  const std::string& message() const { return Text(&Problem::message); }
  // Place of the error: "model.onnx: node 'conv1'", "default.yaml:3:5", "libfoo.so: probe". May be empty.
  const std::string& where() const { return Text(&Problem::where); }
  // The remedy. May be empty.
  const std::string& advice() const { return Text(&Problem::advice); }

  // Puts `place` in front of the present place (outermost first).
  Status&& At(const std::string& place) && {
    if (is_own()) PutBefore(place);
    return std::move(*this);
  }
  Status&& Advise(std::string advice) && {
    if (is_own()) KeepFirst(std::move(advice));
    return std::move(*this);
  }
  // Changes the code of an error; an OK status stays OK.
  Status&& WithCode(StatusCode code) && {
    if (is_own()) problem_->code = code;
    return std::move(*this);
  }

  // "where: message; advice"
  [[gnu::cold, gnu::noinline]] std::string ToString() const {
    if (ok()) return "ok";
    std::string text = where().empty() ? message() : where() + ": " + message();
    if (!advice().empty()) text += "; " + advice();
    return text;
  }

 private:
  struct Problem {
    StatusCode code;
    std::string message, where, advice;
    // The one for lack of memory, which is not freed. Program and library each have theirs, and meet the other's.
    bool is_static = false;
  };
  struct Release {
    // Not inlined, so that the destructor of an OK status, which is everywhere, is one comparison.
    [[gnu::cold, gnu::noinline]] void operator()(Problem* problem) const {
      if (!problem->is_static) delete problem;
    }
  };

  template <class T>
  friend class Result;
  [[gnu::cold, gnu::noinline]] static Status OfMissingValue() {
    return Status(StatusCode::kInternal, "a Result was made from an OK status without a value");
  }
  static Problem* OutOfMemory() {
    static Problem problem{
        StatusCode::kResourceExhausted, "out of memory", {}, {}, true};  // short: no memory of its own
    return &problem;
  }
  // What happens to errors only is not inlined: it is compiled for size, out of the way of the code of an OK status.
  [[gnu::cold, gnu::noinline]] void Keep(Problem&& problem) {
    problem.is_static = false;  // it may be a copy
    Problem* kept = new (std::nothrow) Problem(std::move(problem));
    problem_.reset(kept != nullptr ? kept : OutOfMemory());
  }
  [[gnu::cold, gnu::noinline]] void KeepCopyOf(const Problem& problem) { Keep(Problem(problem)); }
  [[gnu::cold, gnu::noinline]] void PutBefore(const std::string& place) {
    problem_->where = where().empty() ? place : place + ": " + where();
  }
  [[gnu::cold, gnu::noinline]] void KeepFirst(std::string&& advice) {
    if (problem_->advice.empty()) problem_->advice = std::move(advice);
  }
  bool is_own() const { return !ok() && !problem_->is_static; }

  const std::string& Text(std::string Problem::*part) const {
    static const std::string nothing;
    return ok() ? nothing : (*problem_).*part;
  }

  std::unique_ptr<Problem, Release> problem_;
};

inline const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kCancelled: return "cancelled";
    case StatusCode::kUnknown: return "unknown";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kDeadlineExceeded: return "deadline exceeded";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kResourceExhausted: return "resource exhausted";
    case StatusCode::kFailedPrecondition: return "failed precondition";
    case StatusCode::kAborted: return "aborted";
    case StatusCode::kNotSupported: return "not supported";
    case StatusCode::kInternal: return "internal";
    case StatusCode::kUnavailable: return "unavailable";
    case StatusCode::kDeviceLost: return "device lost";
    case StatusCode::kIncompatible: return "incompatible";
    case StatusCode::kConfig: return "configuration";
    case StatusCode::kModel: return "model";
    case StatusCode::kPlugin: return "plugin";
  }
  return "unknown";
}

// A value or the reason why there is none. Test ok() before value().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) [[unlikely]]
      status_ = Status::OfMissingValue();
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace deputy

#define DEPUTY_CONCAT_(a, b) a##b
#define DEPUTY_CONCAT(a, b) DEPUTY_CONCAT_(a, b)

#define DEPUTY_RETURN_IF_ERROR(expr)          \
  do {                                        \
    ::deputy::Status deputy_status_ = (expr); \
    if (!deputy_status_.ok()) [[unlikely]]    \
      return deputy_status_;                  \
  } while (false)

// DEPUTY_ASSIGN_OR_RETURN(auto graph, ImportModel(path));
#define DEPUTY_ASSIGN_OR_RETURN(target, expr) \
  DEPUTY_ASSIGN_OR_RETURN_(DEPUTY_CONCAT(deputy_result_, __LINE__), target, expr)
#define DEPUTY_ASSIGN_OR_RETURN_(result, target, expr) \
  auto result = (expr);                                \
  if (!result.ok()) [[unlikely]]                       \
    return std::move(result).status();                 \
  target = std::move(result).value()
