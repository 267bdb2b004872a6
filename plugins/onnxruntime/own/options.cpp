#include "own/options.hpp"

#include <cstring>

#include "own/status.hpp"
#include "own/tables.hpp"

namespace ort::own {
namespace {

Status* CloneSessionOptions(const SessionOptions* options, SessionOptions** out) {
  return Guarded([&]() -> Status* {
    *out = new SessionOptions(*options);
    return nullptr;
  });
}
void ReleaseSessionOptions(SessionOptions* options) { delete options; }
Status* AddSessionConfigEntry(SessionOptions* options, const char* key, const char* value) {
  return Guarded([&]() -> Status* {
    options->entries.Add(key, value);
    return nullptr;
  });
}
Status* HasSessionConfigEntry(const SessionOptions* options, const char* key, int* out) {
  *out = options->entries.Find(key) == nullptr ? 0 : 1;
  return nullptr;
}
// Without room, or with too little, only the size is given, which counts the zero at the end.
Status* GetSessionConfigEntry(const SessionOptions* options, const char* key, char* out, size_t* size) {
  return Guarded([&]() -> Status* {
    const std::string* found = options->entries.Find(key);
    if (found == nullptr) return Fail(kFail, std::string("the session has no entry '") + key + "'");
    const size_t room = *size;
    *size = found->size() + 1;
    if (out == nullptr) return nullptr;
    if (room < *size) return Fail(std::string("the entry '") + key + "' is longer than the memory for it");
    std::memcpy(out, found->c_str(), *size);
    return nullptr;
  });
}
Status* GetSessionOptionsConfigEntries(const SessionOptions* options, KeyValuePairs** out) {
  return Guarded([&]() -> Status* {
    *out = new KeyValuePairs(options->entries);
    return nullptr;
  });
}
Status* GetMemPatternEnabled(const SessionOptions*, int* out) {
  *out = 0;
  return nullptr;
}
Status* GetSessionExecutionMode(const SessionOptions*, int32_t* out) {
  *out = 0;  // one step after another
  return nullptr;
}
Status* GetEnvConfigEntries(KeyValuePairs** out) {
  return Guarded([&]() -> Status* {
    *out = new KeyValuePairs;
    return nullptr;
  });
}

const char* GetRunConfigEntry(const RunOptions* options, const char* key) {
  const std::string* found = options->entries.Find(key);
  return found == nullptr ? nullptr : found->c_str();
}
Status* RunOptionsGetRunTag(const RunOptions*, const char** out) {
  *out = "";
  return nullptr;
}
Status* RunOptionsGetRunLogSeverityLevel(const RunOptions*, int* out) {
  *out = kWarning;
  return nullptr;
}
Status* RunOptionsGetRunLogVerbosityLevel(const RunOptions*, int* out) {
  *out = 0;
  return nullptr;
}

}  // namespace

std::string OptionPrefix(const std::string& provider) {
  std::string prefix = "ep.";
  for (const char letter : provider)
    prefix += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  return prefix + ".";
}

void SetOptionFunctions(Tables& tables) {
  tables.Set(Slot::CloneSessionOptions, CloneSessionOptions);
  tables.Set(Slot::ReleaseSessionOptions, ReleaseSessionOptions);
  tables.Set(Slot::AddSessionConfigEntry, AddSessionConfigEntry);
  tables.Set(Slot::HasSessionConfigEntry, HasSessionConfigEntry);
  tables.Set(Slot::GetSessionConfigEntry, GetSessionConfigEntry);
  tables.Set(Slot::GetSessionOptionsConfigEntries, GetSessionOptionsConfigEntries);
  tables.Set(Slot::GetMemPatternEnabled, GetMemPatternEnabled);
  tables.Set(Slot::GetSessionExecutionMode, GetSessionExecutionMode);
  tables.Set(Slot::GetRunConfigEntry, GetRunConfigEntry);
  tables.Set(Slot::RunOptionsGetRunTag, RunOptionsGetRunTag);
  tables.Set(Slot::RunOptionsGetRunLogSeverityLevel, RunOptionsGetRunLogSeverityLevel);
  tables.Set(Slot::RunOptionsGetRunLogVerbosityLevel, RunOptionsGetRunLogVerbosityLevel);
  tables.Set(EpSlot::GetEnvConfigEntries, GetEnvConfigEntries);
}

}  // namespace ort::own
