#include "own/library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include "own/status.hpp"
#include "own/tables.hpp"
#include "provider.hpp"

namespace ort::own {
namespace {

// What stays of a library after its last use.
struct Opened {
  void* handle = nullptr;
  std::unique_ptr<Logger> logger = std::make_unique<Logger>();
  std::weak_ptr<Library> library = {};
};

struct AllOpened {
  std::mutex mutex;
  std::map<std::string, Opened> by_path;
};

// Never destroyed: EPs write to their loggers until the process ends.
AllOpened& Libraries() {
  static AllOpened* const all = new AllOpened;
  return *all;
}

}  // namespace

sdk::Result<std::shared_ptr<Library>> Library::Open(const std::string& path, const std::string& registered_name) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(path, error);
  const std::string key = error ? path : canonical.string();  // a name alone is found by the system's linker
  const std::lock_guard<std::mutex> lock(Libraries().mutex);
  Opened& opened = Libraries().by_path[key];
  if (std::shared_ptr<Library> library = opened.library.lock()) return library;
  if (opened.handle == nullptr) opened.handle = dlopen(key.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened.handle == nullptr) {
    const char* reason = dlerror();
    return CannotOpenProvider(key, reason == nullptr ? "no reason is given" : reason);
  }
  const auto create = reinterpret_cast<CreateEpFactories>(dlsym(opened.handle, "CreateEpFactories"));
  const auto release = reinterpret_cast<ReleaseEpFactory>(dlsym(opened.handle, "ReleaseEpFactory"));
  if (create == nullptr || release == nullptr)
    return sdk::Status(sdk::Code::kIncompatible,
                       key +
                           " is no library of an execution provider: it does not export CreateEpFactories and "
                           "ReleaseEpFactory");
  auto library = std::make_shared<Library>(release, opened.logger.get());
  DEPUTY_SDK_RETURN_IF_ERROR(library->MakeFactories(create, registered_name));
  opened.library = library;
  return library;
}

sdk::Status Library::MakeFactories(CreateEpFactories create, const std::string& registered_name) {
  constexpr size_t kMost = 4;  // as ONNX Runtime
  EpFactory* factories[kMost] = {};
  size_t count = 0;
  DEPUTY_SDK_RETURN_IF_ERROR(Ask(sdk::Code::kIncompatible, "CreateEpFactories", [&] {
    return create(registered_name.c_str(), &Tables::Get().base(), logger_, factories, kMost, &count);
  }));
  for (size_t i = 0; i < count && i < kMost; ++i)
    if (factories[i] != nullptr) factories_.push_back(factories[i]);
  if (factories_.empty()) return sdk::Status(sdk::Code::kIncompatible, "CreateEpFactories made no factory");
  return {};
}

Library::~Library() {
  for (EpFactory* factory : factories_) {
    const sdk::Status ignored =
        Ask(sdk::Code::kInternal, "ReleaseEpFactory", [&] { return release_(factory); });  // nothing is left to do
  }
}

}  // namespace ort::own
