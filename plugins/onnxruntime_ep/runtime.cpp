#include "runtime.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ort_ep {
namespace {

using deputy::Result;
using deputy::Status;
using deputy::StatusCode;

ort::ErrorCode CodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return ort::kOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kConfig: return ort::kInvalidArgument;
    case StatusCode::kNotSupported: return ort::kNotImplemented;
    case StatusCode::kModel: return ort::kInvalidGraph;
    // Not "the provider failed" (11), at which Python's ONNX Runtime makes a new session without the provider and
    // prints a line: Deputy has its own fallback, and what it cannot save is an error of the run.
    default: return ort::kFail;
  }
}

// Of "1.23.2": 23. GetApi of a version that is not there writes to stderr, so that versions are not tried.
uint32_t MinorOf(const char* version) {
  const char* dot = version == nullptr ? nullptr : std::strchr(version, '.');
  if (dot == nullptr || std::strtoul(version, nullptr, 10) != 1) return 0;
  return static_cast<uint32_t>(std::strtoul(dot + 1, nullptr, 10));
}

}  // namespace

Result<Runtime> Runtime::Open(const ort::ApiBase* base, const ort::Logger* logger) {
  Runtime runtime;
  const char* version = base->GetVersionString();
  runtime.host_version_ = version == nullptr ? "of an unknown version" : version;
  runtime.host_minor_ = MinorOf(version);
  runtime.logger_ = logger;
  if (runtime.host_minor_ >= kOldestApi) runtime.api_ = base->GetApi(std::min(runtime.host_minor_, kNewestApi));
  if (runtime.api_ == nullptr)
    return Status(StatusCode::kIncompatible, "Deputy needs ONNX Runtime 1." + std::to_string(kOldestApi) +
                                                 " or newer, and this one is " + runtime.host_version_ +
                                                 "; in older ones a provider in a library cannot read graphs")
        .Advise("update onnxruntime");
  runtime.ep_api_ = runtime.Do<const ort::EpApi*>(ort::Slot::GetEpApi);
  if (runtime.ep_api_ == nullptr)
    return Status(StatusCode::kIncompatible,
                  "ONNX Runtime " + runtime.host_version_ + " was built without providers in libraries");
  return runtime;
}

ort::Status* Runtime::ToOrt(const Status& status) const {
  if (status.ok()) return nullptr;
  return Do<ort::Status*>(ort::Slot::CreateStatus, CodeOf(status.code()), status.ToString().c_str());
}

Status Runtime::Taken(ort::Status* status) const {
  if (status == nullptr) return {};
  const char* message = Do<const char*>(ort::Slot::GetErrorMessage, static_cast<const ort::Status*>(status));
  Status taken(StatusCode::kUnknown, message == nullptr ? "no message" : message);
  Do<void>(ort::Slot::ReleaseStatus, status);
  return std::move(taken).At("ONNX Runtime");
}

void Runtime::Log(ort::LoggingLevel level, const std::string& message) const {
  if (logger_ == nullptr) return;
  const std::string text = "Deputy: " + message;
  (void)Try(ort::Slot::Logger_LogMessage, logger_, level, text.c_str(), "libdeputy_ort_ep.so", int{0}, "");
}

ort::Status* RefusedBy(const ort::ApiBase* base, const Status& status) {
  // Version 1 is the beginning of the table of every later one.
  const auto* table = reinterpret_cast<const ort::Function*>(base->GetApi(1));
  if (table == nullptr) return nullptr;
  return reinterpret_cast<ort::Status* (*)(ort::ErrorCode, const char*)>(
      table[static_cast<size_t>(ort::Slot::CreateStatus)])(CodeOf(status.code()), status.ToString().c_str());
}

}  // namespace ort_ep
