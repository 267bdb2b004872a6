// The plugin that a worker process serves, and its objects: instances, executables and contexts, which the host names
// by tokens.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "deputy/abi/delegate.h"
#include "deputy/abi/ext/blob.h"
#include "deputy/abi/ext/capabilities.h"
#include "deputy/abi/ext/concurrency.h"
#include "deputy/abi/ext/device_control.h"
#include "deputy/abi/ext/devices.h"
#include "deputy/abi/ext/draft/async.h"
#include "deputy/abi/ext/draft/scheduling.h"
#include "deputy/abi/ext/estimate.h"
#include "deputy/abi/ext/operators.h"
#include "deputy/abi/ext/options.h"
#include "deputy/abi/ext/profiling.h"
#include "deputy/abi/ext/propose.h"
#include "deputy/abi/ext/resize.h"
#include "isolation/messages.hpp"
#include "isolation/shared_memory.hpp"
#include "plugin/checks/handles.hpp"
#include "plugin/discovery/library.hpp"
#include "plugin/discovery/rejection.hpp"
#include "plugin/proxy/submitted_runs.hpp"
#include "worker/event_buffer.hpp"
#include "worker/kept_bytes.hpp"
#include "worker/worker_host.hpp"

namespace deputy::host {

// A delegate and its extensions, NULL where it lacks them.
struct ServedDelegate {
  const deputy_delegate* table = nullptr;
  const deputy_ext_async* async = nullptr;
  const deputy_ext_blob* blob = nullptr;
  const deputy_ext_capabilities* capabilities = nullptr;
  const deputy_ext_concurrency* concurrency = nullptr;
  const deputy_ext_device_control* device_control = nullptr;
  const deputy_ext_devices* devices = nullptr;
  const deputy_ext_estimate* estimate = nullptr;
  const deputy_ext_memory* memory = nullptr;
  const deputy_ext_operators* operators = nullptr;
  const deputy_ext_options* options = nullptr;
  const deputy_ext_profiling* profiling = nullptr;
  const deputy_ext_propose* propose = nullptr;
  const deputy_ext_resize* resize = nullptr;
  const deputy_ext_scheduling* scheduling = nullptr;
};

// Claims that the host holds: tokens for the plugin's handles, with what the plugin was given when it made them.
// [any-thread]
class ServedClaims {
 public:
  // The token of a handle, which is the present one if the host holds this handle already.
  std::pair<uint64_t, bool> Add(void* handle, std::shared_ptr<Keep> keep);
  // The handle of a token, and what it keeps; NULL for 0 and unknown ones.
  std::pair<void*, std::shared_ptr<Keep>> Find(uint64_t token);
  void Remove(uint64_t token);

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::pair<void*, std::shared_ptr<Keep>>> claims_;
  std::map<void*, uint64_t> tokens_;
};

struct ServedInstance {
  const ServedDelegate* delegate = nullptr;
  deputy_instance* raw = nullptr;
  WorkerHost* host = nullptr;
  ServedClaims claims;
};

// The bytes of a blob until the plugin releases them.
struct ServedBlob {
  std::unique_ptr<Mapping> bytes;
  const deputy_host* host = nullptr;
  std::atomic<uint32_t> released{0};

  ~ServedBlob();
  static void Release(void* owner);
};

struct ServedExecutable {
  std::shared_ptr<ServedInstance> instance;
  deputy_executable* raw = nullptr;
  std::vector<std::shared_ptr<Keep>> keeps;
  std::unique_ptr<ServedBlob> blob;
};

struct ServedContext {
  std::mutex mutex;  // of these against a cancel
  std::shared_ptr<ServedExecutable> executable;
  deputy_context* raw = nullptr;
  deputy_async_run* in_flight = nullptr;
  uint64_t in_flight_number = 0;
  uint64_t cancelled_number = 0;  // of the last run that was to be cancelled
  EventBuffer events;
  std::unique_ptr<Received<ObjectCall<RunForm>>> last_run;
};

// Objects by token; 0 is none. [any-thread]
template <class T>
class Tokens {
 public:
  uint64_t Add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  std::shared_ptr<T> Find(uint64_t token) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(token);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> Take(uint64_t token) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(token);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  std::mutex mutex_;
  uint64_t last_ = 0;
  std::map<uint64_t, std::shared_ptr<T>> objects_;
};

// The host's memory for inputs, by the numbers in places. [any-thread]
class InputRegions {
 public:
  // In the place of the one with this number.
  void Set(const RegionForm& form, std::unique_ptr<Mapping> bytes);
  void Free(const RegionForm& form);
  // The bytes at an offset; null where there are not as many.
  uint8_t* At(uint32_t number, uint64_t offset, uint64_t size);

 private:
  struct Region {
    uint64_t id = 0;
    std::unique_ptr<Mapping> bytes;
  };
  std::mutex mutex_;
  std::vector<Region> regions_;
};

class ServedPlugin {
 public:
  // Loads the library, in the sandbox or with the rights of the user, and calls its entry function. Lives until the
  // process ends.
  static Checked<ServedPlugin*> Load(const std::filesystem::path& file, bool sandbox);

  const deputy_plugin& table() const { return *table_; }
  Hello Greeting() const;
  // After init. A failure is a rejection, as text.
  std::string Describe(PluginForm& form);
  const ServedDelegate& delegate(uint32_t index) const { return delegates_.at(index); }

  WorkerHosts& hosts() { return *hosts_; }
  ByteStore& store() { return *store_; }

  Tokens<ServedInstance> instances;
  Tokens<ServedExecutable> executables;
  Tokens<ServedContext> contexts;
  InputRegions regions;
  SubmittedRuns submitted_runs{"the plugin"};

 private:
  ServedPlugin() = default;

  std::unique_ptr<Library> library_;
  const deputy_plugin* table_ = nullptr;
  std::vector<ServedDelegate> delegates_;
  std::unique_ptr<WorkerHosts> hosts_;
  std::shared_ptr<ByteStore> store_ = std::make_shared<ByteStore>();
};

}  // namespace deputy::host
