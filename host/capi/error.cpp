#include "capi/error.hpp"

#include "deputy/dtype.hpp"
#include "deputy/version.hpp"

namespace deputy::host::capi {

DeputyError* OutOfMemory() {
  static DeputyError error{Status(StatusCode::kResourceExhausted, "out of memory"), "out of memory"};
  return &error;
}

DeputyError* ErrorOf(Status status) {
  if (status.ok()) return nullptr;
  try {
    std::string text = status.ToString();
    return new DeputyError{std::move(status), std::move(text)};
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

}  // namespace deputy::host::capi

using deputy::StatusCode;
using deputy::host::capi::OutOfMemory;

uint32_t DeputyApiVersion(void) { return DEPUTY_C_API_VERSION; }
const char* DeputyVersion(void) { return DEPUTY_VERSION; }

DeputyCode DeputyErrorCode(const DeputyError* error) {
  return error == nullptr ? kDeputyOk : static_cast<DeputyCode>(error->status.code());
}
const char* DeputyErrorCodeName(DeputyCode code) { return deputy::StatusCodeName(static_cast<StatusCode>(code)); }
const char* DeputyErrorMessage(const DeputyError* error) {
  return error == nullptr ? "" : error->status.message().c_str();
}
const char* DeputyErrorPlace(const DeputyError* error) { return error == nullptr ? "" : error->status.where().c_str(); }
const char* DeputyErrorAdvice(const DeputyError* error) {
  return error == nullptr ? "" : error->status.advice().c_str();
}
const char* DeputyErrorText(const DeputyError* error) { return error == nullptr ? "" : error->text.c_str(); }
void DeputyErrorFree(DeputyError* error) {
  if (error != OutOfMemory()) delete error;
}

const char* DeputyDTypeName(DeputyDType dtype) { return deputy::NameOf(static_cast<deputy::DType>(dtype)); }
