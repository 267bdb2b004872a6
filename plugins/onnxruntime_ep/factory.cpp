// The library's two functions: Deputy's devices, and a provider for each session that asks for some of them.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deputy/installation.hpp"
#include "provider.hpp"
#include "runtime.hpp"
#include "settings.hpp"

namespace ort_ep {
namespace {

using deputy::Result;
using deputy::Status;
using deputy::StatusCode;
using ort::EpSlot;
using ort::Slot;

using Pairs = std::unique_ptr<ort::KeyValuePairs, std::function<void(ort::KeyValuePairs*)>>;

Pairs MakePairs(const Runtime& runtime, const TextPairs& entries) {
  ort::KeyValuePairs* made = nullptr;
  runtime.Do<void>(Slot::CreateKeyValuePairs, &made);
  for (const auto& [key, value] : entries) runtime.Do<void>(Slot::AddKeyValuePair, made, key.c_str(), value.c_str());
  return {made, [runtime](ort::KeyValuePairs* pairs) { runtime.Do<void>(Slot::ReleaseKeyValuePairs, pairs); }};
}

TextPairs TextsOf(const Runtime& runtime, const ort::KeyValuePairs* pairs) {
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  TextPairs texts;
  if (pairs == nullptr) return texts;
  runtime.Do<void>(Slot::GetKeyValuePairs, pairs, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i)
    if (keys[i] != nullptr) texts.emplace_back(keys[i], values[i] == nullptr ? "" : values[i]);
  return texts;
}

class Factory final : public ort::EpFactory {
 public:
  explicit Factory(const Runtime& runtime)
      : ort::EpFactory{}, runtime_(runtime), version_(deputy::DescribeInstallation().version) {
    version = kStatedVersion;
    GetName = [](const EpFactory*) { return kProviderName; };
    GetVendor = [](const EpFactory*) { return "Deputy"; };
    GetVendorId = [](const EpFactory*) { return uint32_t{0}; };
    GetVersion = [](const EpFactory* factory) { return static_cast<const Factory*>(factory)->version_.c_str(); };
    GetSupportedDevices = [](EpFactory* factory, const ort::HardwareDevice* const* devices, size_t count,
                             ort::EpDevice** ep_devices, size_t most, size_t* ep_device_count) {
      auto* self = static_cast<Factory*>(factory);
      *ep_device_count = 0;
      return self->runtime_.Guard([&] { return self->ListDevices(devices, count, ep_devices, most, ep_device_count); });
    };
    CreateEp = [](EpFactory* factory, const ort::HardwareDevice* const*, const ort::KeyValuePairs* const* metadata,
                  size_t count, const ort::SessionOptions* options, const ort::Logger* logger, ort::Ep** ep) {
      auto* self = static_cast<Factory*>(factory);
      *ep = nullptr;
      return self->runtime_.Guard([&] { return self->MakeProvider(metadata, count, options, logger, ep); });
    };
    ReleaseEp = [](EpFactory*, ort::Ep* ep) { delete static_cast<Provider*>(ep); };
    ValidateCompiledModelCompatibilityInfo = [](EpFactory*, const ort::HardwareDevice* const*, size_t, const char*,
                                                int32_t* compatibility) -> ort::Status* {
      *compatibility = 0;  // not applicable: Deputy writes no models with compiled parts
      return nullptr;
    };
    // Tensors are in ONNX Runtime's CPU memory, with its allocators, and runs need no streams.
    CreateAllocator = [](EpFactory* factory, const ort::MemoryInfo*, const ort::KeyValuePairs*,
                         ort::Allocator** allocator) {
      *allocator = nullptr;
      return static_cast<Factory*>(factory)->Refuse("allocators");
    };
    ReleaseAllocator = [](EpFactory*, ort::Allocator*) {};
    CreateDataTransfer = [](EpFactory*, ort::DataTransfer** transfer) -> ort::Status* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const EpFactory*) { return false; };
    CreateSyncStreamForDevice = [](EpFactory* factory, const ort::MemoryDevice*, const ort::KeyValuePairs*,
                                   ort::SyncStream** stream) {
      *stream = nullptr;
      return static_cast<Factory*>(factory)->Refuse("streams");
    };
  }

 private:
  ort::Status* Refuse(const char* what) const {
    return runtime_.ToOrt({StatusCode::kNotSupported, std::string("Deputy has no ") + what + " of its own"});
  }

  // The whole configuration first, then each of its delegates, all on the CPU: Deputy's own devices are behind it.
  Status ListDevices(const ort::HardwareDevice* const* devices, size_t count, ort::EpDevice** ep_devices, size_t most,
                     size_t* ep_device_count) {
    const auto* const* cpu = std::find_if(devices, devices + count, [this](const ort::HardwareDevice* device) {
      return runtime_.Do<int32_t>(Slot::HardwareDevice_Type, device) == ort::kCpu;
    });
    if (cpu == devices + count) return {};
    DEPUTY_ASSIGN_OR_RETURN(const deputy::Context context, OpenContext({}));
    // Options are not given values here: ONNX Runtime warns where a session changes one.
    std::vector<TextPairs> all = {{{kScopeKey, "configuration"}, {kOptionsKey, kOptionNames}}};
    for (const deputy::DeviceInfo& entry : context.ConfiguredDelegates())
      all.push_back({{kScopeKey, "delegate"},
                     {kOptionsKey, kOptionNames},
                     {kDelegateKey, entry.name},
                     {kDelegateIdKey, entry.delegate.empty() ? entry.name : entry.delegate}});
    if (all.size() > most)
      runtime_.Log(ort::kWarning, std::to_string(all.size() - most) +
                                      " delegates have no device: ONNX Runtime has room for " + std::to_string(most));
    for (size_t i = 0; i < std::min(all.size(), most); ++i) {
      const Pairs metadata = MakePairs(runtime_, all[i]);
      DEPUTY_RETURN_IF_ERROR(runtime_.Try(EpSlot::CreateEpDevice, static_cast<ort::EpFactory*>(this), *cpu,
                                          static_cast<const ort::KeyValuePairs*>(metadata.get()),
                                          static_cast<const ort::KeyValuePairs*>(nullptr), &ep_devices[i]));
      *ep_device_count = i + 1;
    }
    return {};
  }

  Status MakeProvider(const ort::KeyValuePairs* const* metadata, size_t count, const ort::SessionOptions* options,
                      const ort::Logger* logger, ort::Ep** ep) {
    std::vector<std::string> delegates;
    bool is_whole = count == 0;
    for (size_t i = 0; i < count; ++i) {
      const TextPairs texts = TextsOf(runtime_, metadata[i]);
      const auto found =
          std::find_if(texts.begin(), texts.end(), [](const auto& one) { return one.first == kDelegateKey; });
      if (found == texts.end())
        is_whole = true;
      else if (std::find(delegates.begin(), delegates.end(), found->second) == delegates.end())
        delegates.push_back(found->second);
    }
    if (is_whole) delegates.clear();
    ort::KeyValuePairs* entries = nullptr;
    DEPUTY_RETURN_IF_ERROR(runtime_.Try(Slot::GetSessionOptionsConfigEntries, options, &entries));
    const Pairs owner(entries,
                      [this](ort::KeyValuePairs* pairs) { runtime_.Do<void>(Slot::ReleaseKeyValuePairs, pairs); });
    DEPUTY_ASSIGN_OR_RETURN(Settings settings, ReadSettings(TextsOf(runtime_, entries), std::move(delegates)));
    DEPUTY_ASSIGN_OR_RETURN(std::unique_ptr<Provider> provider, Provider::Make(runtime_, logger, std::move(settings)));
    *ep = provider.release();
    return {};
  }

  const Runtime runtime_;
  const std::string version_;
};

}  // namespace
}  // namespace ort_ep

extern "C" {

// The names and types that ONNX Runtime looks up. No exception leaves them.
[[gnu::visibility("default")]] ort::Status* CreateEpFactories(const char*, const ort::ApiBase* base,
                                                              const ort::Logger* logger, ort::EpFactory** factories,
                                                              size_t most, size_t* count) {
  if (base == nullptr || count == nullptr) return nullptr;
  *count = 0;
  try {
    deputy::Result<ort_ep::Runtime> runtime = ort_ep::Runtime::Open(base, logger);
    if (!runtime.ok()) return ort_ep::RefusedBy(base, runtime.status());
    return runtime->Guard([&]() -> deputy::Status {
      if (factories == nullptr || most == 0)
        return {deputy::StatusCode::kInvalidArgument, "there is no room for a provider"};
      factories[0] = std::make_unique<ort_ep::Factory>(*runtime).release();
      *count = 1;
      return {};
    });
  } catch (...) {
    return ort_ep::RefusedBy(base, {deputy::StatusCode::kResourceExhausted, "out of memory"});
  }
}

[[gnu::visibility("default")]] ort::Status* ReleaseEpFactory(ort::EpFactory* factory) {
  delete static_cast<ort_ep::Factory*>(factory);
  return nullptr;
}
}
