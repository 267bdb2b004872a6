#include "runtime.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "forwarding.hpp"

namespace ort {
namespace {

thread_local LogScope* log_scope = nullptr;

sdk::Code CodeOf(ErrorCode code) {
  switch (code) {
    case kInvalidArgument: return sdk::Code::kInvalidArgument;
    case kNotImplemented: return sdk::Code::kNotSupported;
    default: return sdk::Code::kInternal;
  }
}

template <class Signature>
Signature At(const Api* table, Slot slot) {
  return reinterpret_cast<Signature>(reinterpret_cast<const Function*>(table)[static_cast<size_t>(slot)]);
}

}  // namespace

Functions::Functions(const Api* table) {
#define DEPUTY_ORT_FUNCTION(name, result, ...) this->name = At<result (*)(__VA_ARGS__)>(table, Slot::name);
#include "functions.inc"
#undef DEPUTY_ORT_FUNCTION
}

sdk::Result<Runtime*> Runtime::Open(const std::string& path) {
  static std::mutex mutex;
  static Runtime* runtime = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (runtime != nullptr) {
    if (runtime->path_ == path) return runtime;
    return sdk::Status(sdk::Code::kFailedPrecondition,
                       "this process has opened '" + runtime->path_ + "', and cannot open '" + path + "' beside it");
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return CannotOpen("ONNX Runtime", path, dlerror(),
                      "'pip install onnxruntime', and option 'runtime' with the path of its capi/libonnxruntime.so");
  }
  const auto base_of = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (base_of == nullptr)
    return sdk::Status(sdk::Code::kIncompatible, "'" + path + "' does not export OrtGetApiBase: is it ONNX Runtime?");
  const ApiBase* base = base_of();
  const Api* table = base->GetApi(kVersion);
  const std::string version = base->GetVersionString();
  if (table == nullptr)
    return sdk::Status(sdk::Code::kIncompatible, "'" + path + "' is ONNX Runtime " + version + "; 1." +
                                                     std::to_string(kVersion) + " or newer is needed");
  std::unique_ptr<Runtime> opened(new Runtime(base, table, path));
  const Functions& functions = opened->functions_;
  DEPUTY_SDK_RETURN_IF_ERROR(opened->Take(
      functions.CreateEnvWithCustomLogger(&Runtime::Log, nullptr, kWarning, "deputy", &opened->env_), "environment"));
  DEPUTY_SDK_RETURN_IF_ERROR(
      opened->Take(functions.CreateCpuMemoryInfo(kArenaAllocator, kDefaultMem, &opened->memory_), "memory"));
  runtime = opened.release();
  return runtime;
}

Runtime::Runtime(const ApiBase* base, const Api* table, std::string path)
    : base_(base), table_(table), functions_(table), path_(std::move(path)), version_(base->GetVersionString()) {}

sdk::Status Runtime::Take(Status* status, std::string_view what) const {
  if (status == nullptr) return {};
  sdk::Status taken(CodeOf(functions_.GetErrorCode(status)),
                    std::string(what) + ": " + functions_.GetErrorMessage(status));
  functions_.ReleaseStatus(status);
  return taken;
}

sdk::Result<std::vector<const EpDevice*>> Runtime::DevicesOf(const std::string& library, const std::string& name,
                                                             const std::string& registered) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto listed = [this] {
    const EpDevice* const* all = nullptr;
    size_t count = 0;
    const sdk::Status status = Take(functions_.GetEpDevices(env_, &all, &count), "devices");
    return status.ok() ? std::vector<const EpDevice*>(all, all + count) : std::vector<const EpDevice*>();
  };
  std::vector<const EpDevice*> devices;
  if (!library.empty()) {
    if (std::find(registered_.begin(), registered_.end(), library) == registered_.end()) {
      DEPUTY_SDK_ASSIGN_OR_RETURN(const std::string forwarder, forwarding::Prepare(*this, library, registered));
      DEPUTY_SDK_RETURN_IF_ERROR(
          Take(functions_.RegisterExecutionProviderLibrary(env_, registered.c_str(), forwarder.c_str()),
               "cannot register '" + library + "'"));
      registered_.push_back(library);
    }
    devices = listed();
    // Those of the library: an EP that is built in may have the same name.
    const std::vector<std::string> names = forwarding::ProvidersOf(library);
    devices.erase(std::remove_if(devices.begin(), devices.end(),
                                 [&](const EpDevice* device) {
                                   return std::find(names.begin(), names.end(), functions_.EpDevice_EpName(device)) ==
                                          names.end();
                                 }),
                  devices.end());
  } else {
    devices = listed();
  }
  std::string known;
  for (const EpDevice* device : devices) {
    const std::string other = functions_.EpDevice_EpName(device);
    if (known.find("'" + other + "'") == std::string::npos) known += (known.empty() ? "'" : ", '") + other + "'";
  }
  const std::string wanted = name.empty() && !devices.empty() ? functions_.EpDevice_EpName(devices.front()) : name;
  devices.erase(std::remove_if(devices.begin(), devices.end(),
                               [&](const EpDevice* device) { return functions_.EpDevice_EpName(device) != wanted; }),
                devices.end());
  if (devices.empty())
    return sdk::Status(sdk::Code::kUnavailable,
                       (library.empty() ? "ONNX Runtime " + version_ : "'" + library + "'") + " offers no device here" +
                           (name.empty() ? "" : " for '" + name + "'") + (known.empty() ? "" : ", but for " + known));
  return devices;
}

void Runtime::Log(void*, LoggingLevel level, const char*, const char*, const char*, const char* message) {
  if (log_scope != nullptr && message != nullptr) log_scope->Add(level, message);
}

LogScope::LogScope(const sdk::Host& host) : host_(host), outer_(log_scope) { log_scope = this; }
LogScope::~LogScope() { log_scope = outer_; }

void LogScope::Add(LoggingLevel level, std::string_view message) {
  last_ = message;
  if (level >= kWarning && !is_quiet_)
    host_.Info("onnxruntime: " + std::string(message));
  else
    host_.Debug("onnxruntime: " + std::string(message));
}

}  // namespace ort
