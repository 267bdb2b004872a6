#include "library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <mutex>

namespace tflite_external {
namespace {

using namespace deputy::sdk;

using Create = deputy::tflite_abi::Delegate* (*)(char**, char**, size_t, void (*)(const char*));

// The library's errors have no context to go to: one delegate is made at a time.
std::mutex& CreationMutex() {
  static std::mutex mutex;
  return mutex;
}
std::string& CreationErrors() {
  static std::string errors;
  return errors;
}

void KeepError(const char* message) noexcept {
  try {
    if (message != nullptr) CreationErrors() += message;
  } catch (...) {
  }
}

std::string PathOf(const std::string& library) {
  if (library.find('/') != std::string::npos) return library;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&KeepError), &info) == 0 || info.dli_fname == nullptr) return library;
  const std::string own = info.dli_fname;
  const size_t end = own.rfind('/');
  if (end == std::string::npos) return library;
  const std::string beside = own.substr(0, end + 1) + library;
  return access(beside.c_str(), R_OK) == 0 ? beside : library;
}

}  // namespace

Result<std::unique_ptr<ForeignDelegate>> ForeignDelegate::Open(
    const std::string& library, const std::vector<std::pair<std::string, std::string>>& options) {
  if (library.empty())
    return Status(Code::kInvalidArgument, "the option 'library' is empty: it names the library with the delegate");
  void* handle = dlopen(PathOf(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status(Code::kNotFound, std::string("the library of the option 'library' cannot be loaded: ") +
                                       (reason == nullptr ? library : reason));
  }
  const auto create = reinterpret_cast<Create>(dlsym(handle, "tflite_plugin_create_delegate"));
  const auto destroy = reinterpret_cast<Destroy>(dlsym(handle, "tflite_plugin_destroy_delegate"));
  if (create == nullptr || destroy == nullptr)
    return Status(Code::kIncompatible, library +
                                           " is no external delegate: it lacks tflite_plugin_create_delegate or "
                                           "tflite_plugin_destroy_delegate");
  std::vector<std::string> texts;
  for (const auto& [key, value] : options) {
    texts.push_back(key);
    texts.push_back(value);
  }
  std::vector<char*> keys, values;
  for (size_t i = 0; i < texts.size(); i += 2) {
    keys.push_back(texts[i].data());
    values.push_back(texts[i + 1].data());
  }
  const std::lock_guard<std::mutex> lock(CreationMutex());
  CreationErrors().clear();
  deputy::tflite_abi::Delegate* delegate = create(keys.data(), values.data(), keys.size(), &KeepError);
  if (delegate == nullptr)
    return Status(Code::kUnavailable,
                  library + " makes no delegate" + (CreationErrors().empty() ? "" : ": " + CreationErrors()));
  std::unique_ptr<ForeignDelegate> made(new ForeignDelegate(delegate, destroy));
  if (delegate->Prepare == nullptr)
    return Status(Code::kIncompatible, library + " makes an opaque delegate, which is not supported");
  return made;
}

ForeignDelegate::~ForeignDelegate() { destroy_(delegate_); }

Result<std::vector<std::pair<std::string, std::string>>> ReadOptions(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> options;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    const size_t equals = one.find('=');
    if (!one.empty() && (equals == std::string::npos || equals == 0))
      return Status(Code::kInvalidArgument, "the option 'options' has '" + one + "', expected key=value");
    if (!one.empty()) options.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    begin = end + 1;
  }
  return options;
}

}  // namespace tflite_external
